/* A credential that the gateway adds to requests: see net-credential.h. */
#include "policy/net-credential.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/limits.h"
#include "http/octet.h"
#include "policy/near.h"
#include "policy/net-place.h"
#include "policy/quota.h"

#define BEARER "Authorization: Bearer {}"

enum field {
	FROM,
	HOSTS,
	HEADER, /* the first of the ways */
	BASIC,
	QUERY,
	BODY,
	CERTIFICATE,
	SIGV4, /* the last of them */
	ENV,
	BUDGET,
	COST,
	MONEY,
	FIELD_COUNT
};

static const char *const names[FIELD_COUNT] = {
	[FROM] = "from",     [HOSTS] = "hosts", [HEADER] = "header", [BASIC] = "basic",
	[QUERY] = "query",   [BODY] = "body",   [SIGV4] = "sigv4",   [ENV] = "env",
	[BUDGET] = "budget", [COST] = "cost",   [MONEY] = "money",   [CERTIFICATE] = "certificate",
};

static const struct {
	const char *prefix;
	enum rf_net_from from;
} sources[] = {
	{ "env:", RF_NET_FROM_ENV },
	{ "file:", RF_NET_FROM_FILE },
	{ "cmd:", RF_NET_FROM_COMMAND },
	{ "stdin:", RF_NET_FROM_STDIN },
};

static const struct rf_limit_info budgets = {
	.key = "budget",
	.unit = RF_UNIT_RATE,
	.may_be_none = true,
	.min = UINT64_C(1) << RF_LIMIT_BURST_BITS | 1,
	.max = UINT64_C(10000000) * 86400 << RF_LIMIT_BURST_BITS | 10000000,
};

static int find_field(struct rf_span name)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (rf_span_is(name, rf_span_of(names[i])))
			return i;
	return -1;
}

void rf_net_credential_done(struct rf_net_credential_draft *draft)
{
	rf_list_done(&draft->fields);
	rf_list_done(&draft->hosts);
}

bool rf_net_credential_is_list(const char *field)
{
	return strcmp(field, names[HOSTS]) == 0;
}

int rf_net_credential_check_name(const char *name, struct rf_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	size_t len = strlen(name);

	if (len > 0 && len <= 32 && strspn(name, letters) == len && name[0] != '-')
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of a credential", name);
	return rf_fail_hint(err, "use 1 to 32 letters, digits, _ and -, and no - first");
}

/* --- The fields, one by one --- */

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static bool is_variable(const char *text)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	size_t len = strlen(text);

	return len > 0 && len < 128 && strchr(first, text[0]) &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
		       len;
}

/* Gives the text that is kept. */
static int check_from(const char *text, const struct rf_files_base *base, char **ret_text,
		      struct rf_err *err)
{
	char path[RF_FILES_PATH];
	const char *rest = NULL;
	size_t i = 0;

	for (; i < RF_LEN(sources) && !rest; i++)
		if (strncmp(text, sources[i].prefix, strlen(sources[i].prefix)) == 0)
			rest = text + strlen(sources[i].prefix);
	if (!rest) {
		rf_fail_say(err, -EINVAL, "\"%.4s...\" does not say where the value comes from",
			    text);
		return rf_fail_hint(err,
				    "write env:NAME, file:PATH, cmd:COMMAND or stdin:; the value "
				    "itself never stands in a policy");
	}
	switch (sources[i - 1].from) {
	case RF_NET_FROM_ENV:
		if (!is_variable(rest)) {
			rf_fail_say(err, -EINVAL, "\"%.4s...\" is not the name of a variable",
				    rest);
			return rf_fail_hint(err,
					    "write env:NAME; the value itself never stands in a "
					    "policy");
		}
		break;
	case RF_NET_FROM_FILE:
		if (rf_files_resolve(rest, base, path, err) < 0)
			return err->code;
		if (asprintf(ret_text, "file:%s", path) < 0)
			return rf_fail(err, -ENOMEM, "keep a path");
		if (is_printable(path))
			return 0;
		free(*ret_text);
		return rf_fail_say(err, -EINVAL, "a path with control characters");
	case RF_NET_FROM_COMMAND:
		if (!*rest || !is_printable(rest))
			return rf_fail_say(err, -EINVAL, "\"%.40s\" is not a command", rest);
		break;
	case RF_NET_FROM_STDIN:
		if (*rest)
			return rf_fail_say(err, -EINVAL,
					   "\"stdin:\" takes nothing behind the colon");
		break;
	}
	*ret_text = strdup(text);
	return *ret_text ? 0 : rf_fail(err, -ENOMEM, "keep a source");
}

/* "Name: value with {}".  What decides where a message ends or goes is not for a credential. */
static int check_header(const char *text, struct rf_err *err)
{
	static const char *const taken[] = { "host",       "content-length", "transfer-encoding",
					     "connection", "upgrade",        "te",
					     "trailer",    "expect",         "content-encoding" };
	size_t len = strcspn(text, ":");
	struct rf_span name = { text, len };
	const char *hole = strstr(text + len, "{}");
	bool is_name = len > 0 && len < 64;

	for (size_t i = 0; i < len; i++)
		is_name &= rf_octet_is(text[i], RF_OCTET_TOKEN);
	for (size_t i = 0; i < RF_LEN(taken); i++)
		is_name &= !rf_span_is_like(name, rf_span_of(taken[i]));
	if (is_name && text[len] == ':' && text[len + 1] == ' ' && hole &&
	    !strstr(hole + 2, "{}") && is_printable(text))
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not a header for a credential", text);
	return rf_fail_hint(err, "write it with {} where the value goes: \"" BEARER "\"");
}

/* A user, with {} for the password; or "{}:" where the value is the user. */
static int check_basic(const char *text, char **ret_text, struct rf_err *err)
{
	const char *hole = strstr(text, "{}");

	if (*text && is_printable(text) && !hole && !strchr(text, ':')) {
		if (asprintf(ret_text, "%s:{}", text) >= 0)
			return 0;
		return rf_fail(err, -ENOMEM, "keep a user");
	}
	if (hole && is_printable(text) && !strstr(hole + 2, "{}") && strchr(text, ':')) {
		*ret_text = strdup(text);
		return *ret_text ? 0 : rf_fail(err, -ENOMEM, "keep a user");
	}
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not a user", text);
	return rf_fail_hint(err, "write the user's name, or \"{}:\" where the value is the user");
}

static int check_query(const char *text, struct rf_err *err)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!rf_octet_is(text[i], RF_OCTET_PLAIN))
			len = 0;
	if (len > 0 && len < 64)
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not the name of a parameter", text);
	return rf_fail_hint(err, "write the name alone, such as api_key");
}

static int check_sigv4(const char *text, struct rf_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t region = strspn(text, letters), service;

	if (region > 0 && text[region] == '/') {
		service = strspn(text + region + 1, letters);
		if (service > 0 && !text[region + 1 + service] && region + service < 64)
			return 0;
	}
	rf_fail_say(err, -EINVAL, "\"%.60s\" is not a region and a service", text);
	return rf_fail_hint(err, "write both, such as us-east-1/s3");
}

static int check_budget(const char *text, char **ret_text, struct rf_err *err)
{
	uint64_t value;

	if (rf_limit_read(&budgets, text, &value, err) < 0)
		return err->code;
	if (strstr(text, "burst")) {
		rf_fail_say(err, -EINVAL, "\"%.40s\": a budget has no burst", text);
		return rf_fail_hint(err, "write 1000/day");
	}
	*ret_text = strdup(text); /* as it was written: of a budget, 60/min is not 1/s */
	return *ret_text ? 0 : rf_fail(err, -ENOMEM, "keep a budget");
}

static const struct rf_limit_info costs = {
	.key = "cost", .unit = RF_UNIT_MONEY, .min = 1, .max = RF_QUOTA_MONEY_MOST
};

/* "5/day", "0.50/h".  False if it is none. */
static bool read_money(const char *text, uint64_t *ret_money, uint64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} times[] = { { "h", 3600000 }, { "day", 86400000 } };
	size_t len = strcspn(text, "/");
	struct rf_err err;
	char amount[32];

	if (len >= sizeof(amount) || !text[len])
		return false;
	snprintf(amount, sizeof(amount), "%.*s", (int)len, text);
	for (size_t i = 0; i < RF_LEN(times); i++)
		if (strcmp(text + len + 1, times[i].name) == 0) {
			*ret_ms = times[i].ms;
			return rf_limit_read(&costs, amount, ret_money, &err) >= 0;
		}
	return false;
}

static int check_money(const char *text, struct rf_err *err)
{
	uint64_t money, ms;

	if (read_money(text, &money, &ms))
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.40s\" is not an amount of money in a time", text);
	return rf_fail_hint(err, "write 5/day or 0.50/h, in whatever `cost` is counted in");
}

/* Checks a field and gives the text that is kept. */
static int check(enum field field, const char *text, const struct rf_files_base *base,
		 char **ret_text, struct rf_err *err)
{
	uint64_t cost;
	int r = 0;

	switch (field) {
	case FROM:
		return check_from(text, base, ret_text, err);
	case BASIC:
		return check_basic(text, ret_text, err);
	case BUDGET:
		return check_budget(text, ret_text, err);
	case HEADER:
		r = check_header(text, err);
		break;
	case QUERY:
		r = check_query(text, err);
		break;
	case SIGV4:
		r = check_sigv4(text, err);
		break;
	case BODY:
	case CERTIFICATE:
		if (strcmp(text, "on") != 0 && strcmp(text, "true") != 0) {
			rf_fail_say(err, -EINVAL, "\"%.40s\" is not one of the choices", text);
			r = rf_fail_hint(err, "write `%s: on`, or leave it out", names[field]);
		}
		text = "on";
		break;
	case ENV:
		if (!is_variable(text)) {
			rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of a variable", text);
			r = rf_fail_hint(err, "use letters, digits and _, and no digit first");
		}
		break;
	case COST:
		r = rf_limit_read(&costs, text, &cost, err);
		break;
	case MONEY:
		r = check_money(text, err);
		break;
	case HOSTS:
	case FIELD_COUNT:
		r = -EINVAL;
		break;
	}
	if (r < 0)
		return r;
	*ret_text = strdup(text);
	return *ret_text ? 0 : rf_fail(err, -ENOMEM, "keep a value");
}

static int add_host(struct rf_net_credential_draft *draft, const char *text, struct rf_err *err)
{
	struct rf_net_rule_room room;
	struct rf_net_rule rule;
	int r;

	if (rf_net_rule_parse(text, false, &room, &rule, err) < 0)
		return err->code;
	if (rule.who == RF_NET_ANY || rule.who == RF_NET_CIDR || rule.is_tcp) {
		rf_fail_say(err, -EINVAL, "\"%.60s\": a credential is bound to names", text);
		return rf_fail_hint(err, "write a name, or *.name for those below it, without TCP");
	}
	r = rf_list_unite(&draft->hosts, rule.text, NULL);
	return r < 0 ? rf_fail(err, r, "keep a host") : 0;
}

int rf_net_credential_add(struct rf_net_credential_draft *draft, const char *field,
			  const char *text, const struct rf_files_base *base, struct rf_err *err)
{
	int index = find_field(rf_span_of(field)), r;
	char *kept = NULL;

	if (index < 0) {
		struct rf_near best = rf_near_init(field);

		for (int i = 0; i < FIELD_COUNT; i++)
			rf_near_consider(&best, field, names[i], names[i]);
		rf_fail_say(err, -EINVAL, "%.40s: unknown key", field);
		if (best.name)
			return rf_fail_hint(err, "did you mean \"%s\"?", best.name);
		return rf_fail_hint(err,
				    "a credential has from, hosts, header, basic, query, body, "
				    "certificate, sigv4, env, budget, cost and money");
	}
	if (index == HOSTS)
		return add_host(draft, text, err) < 0 ? rf_fail_in(err, "hosts") : 0;
	if (rf_list_find(&draft->fields, field))
		return rf_fail_say(err, -EINVAL, "%s: the key is here twice", field);
	if (check((enum field)index, text, base, &kept, err) < 0)
		return rf_fail_in(err, "%s", field);
	r = rf_list_add(&draft->fields, field, kept);
	free(kept);
	return r < 0 ? rf_fail(err, r, "keep a field") : 0;
}

/* --- The whole --- */

static const char *field_of(const struct rf_net_credential_draft *draft, enum field field)
{
	const struct rf_list_item *item = rf_list_find(&draft->fields, names[field]);

	return item ? item->value : NULL;
}

/* It is shown when a connection begins, before there is a request, and it is no text that programs have. */
static int check_certificate(const struct rf_net_credential_draft *draft, struct rf_err *err)
{
	static const enum field without[] = { ENV, BUDGET };

	for (size_t i = 0; i < RF_LEN(without); i++)
		if (field_of(draft, without[i]))
			return rf_fail_say(err, -EINVAL, "%s: a certificate has none",
					   names[without[i]]);
	if (strcmp(field_of(draft, FROM) ? field_of(draft, FROM) : "", "stdin:") == 0)
		return rf_fail_say(err, -EINVAL, "from: a certificate has more than one line");
	for (size_t i = 0; i < draft->hosts.count; i++) {
		struct rf_net_rule_room room;
		struct rf_net_rule rule;

		if (rf_net_rule_parse(draft->hosts.items[i].name, false, &room, &rule, err) < 0)
			return err->code;
		if (rule.methods || rule.path) {
			rf_fail_say(err, -EINVAL,
				    "hosts: \"%.60s\": a certificate is shown "
				    "before there is a request",
				    rule.text);
			return rf_fail_hint(err, "bind it to a name, with ports or without, and "
						 "leave methods and paths to network.allow");
		}
	}
	return 0;
}

static int check_whole(const struct rf_net_credential_draft *draft, struct rf_err *err)
{
	int ways = 0;

	for (int i = HEADER; i <= SIGV4; i++)
		ways += field_of(draft, (enum field)i) != NULL;
	if (!field_of(draft, FROM)) {
		rf_fail_say(err, -EINVAL, "from: missing, so it has no value");
		return rf_fail_hint(err, "write env:NAME, file:PATH, cmd:COMMAND or stdin:");
	}
	if (draft->hosts.count == 0) {
		rf_fail_say(err, -EINVAL, "hosts: missing, so it would be sent nowhere");
		return rf_fail_hint(err, "write hosts: [api.example.org]");
	}
	if (field_of(draft, CERTIFICATE) && check_certificate(draft, err) < 0)
		return err->code;
	if (field_of(draft, MONEY) && !field_of(draft, COST)) {
		rf_fail_say(err, -EINVAL, "money: nothing says what a request costs");
		return rf_fail_hint(err, "write cost: 0.01, what one request with it comes to");
	}
	if (ways > 1) {
		rf_fail_say(err, -EINVAL, "more than one way to send it");
		return rf_fail_hint(err, "write one of header, basic, query, body, certificate "
					 "and sigv4");
	}
	return 0;
}

int rf_net_credential_end(const struct rf_net_credential_draft *draft, char **ret_text,
			  struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	bool has_way = false;

	if (check_whole(draft, err) < 0)
		return err->code;
	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	for (int i = HEADER; i <= SIGV4; i++)
		has_way |= field_of(draft, (enum field)i) != NULL;
	for (int i = 0; i < FIELD_COUNT; i++) {
		const char *value = field_of(draft, (enum field)i), *from = field_of(draft, FROM);

		if (i == HEADER && !has_way)
			value = BEARER;
		if (i == ENV && !value && strncmp(from, "env:", 4) == 0 &&
		    !field_of(draft, CERTIFICATE))
			value = from + 4;
		if (i == BUDGET && value && strcmp(value, "none") == 0)
			value = NULL;
		for (size_t j = 0; i == HOSTS && j < draft->hosts.count; j++)
			rf_buf_printf(&out, "%s %s\n", names[HOSTS], draft->hosts.items[j].name);
		if (value)
			rf_buf_printf(&out, "%s %s\n", names[i], value);
	}
	*ret_text = out.has_failed ? NULL : strdup(out.data);
	return *ret_text ? 0 : rf_fail(err, -ENOMEM, "keep a credential");
}

/* The hosts of a flag, with commas between. */
static int add_hosts(struct rf_net_credential_draft *draft, const char *text, struct rf_err *err)
{
	struct rf_span rule;

	while (rf_net_rule_next(&text, &rule)) {
		char *copy = strndup(rule.at, rule.len);
		int r = copy ? add_host(draft, copy, err) : rf_fail(err, -ENOMEM, "keep a host");

		free(copy);
		if (r < 0)
			return r;
	}
	return 0;
}

int rf_net_credential_parse(const char *text, const struct rf_files_base *base, char **ret_text,
			    struct rf_err *err)
{
	struct rf_net_credential_draft draft = { 0 };
	/* A path and a command may have an @ in them, a variable can't, and behind it a path of a rule may. */
	bool is_word = strncmp(text, "env:", 4) == 0 || strncmp(text, "stdin:", 6) == 0;
	const char *sign = is_word ? strchr(text, '@') : strrchr(text, '@');
	char *from = sign ? strndup(text, (size_t)(sign - text)) : NULL;
	int r;

	if (!sign) {
		rf_fail_say(err, -EINVAL, "\"%.4s...\" does not say where it may be sent", text);
		return rf_fail_hint(err, "write NAME=env:VARIABLE@HOST; the value itself never "
					 "stands on a command line");
	}
	r = from ? rf_net_credential_add(&draft, "from", from, base, err)
		 : rf_fail(err, -ENOMEM, "keep a source");
	free(from);
	if (r >= 0)
		r = add_hosts(&draft, sign + 1, err);
	if (r >= 0)
		r = rf_net_credential_end(&draft, ret_text, err);
	rf_net_credential_done(&draft);
	return r;
}

bool rf_net_credential_next(const char **at, struct rf_span *ret_field, struct rf_span *ret_value)
{
	size_t line = strcspn(*at, "\n"), field = strcspn(*at, " ");

	if (line == 0 || field >= line)
		return false;
	*ret_field = (struct rf_span){ *at, field };
	*ret_value = (struct rf_span){ *at + field + 1, line - field - 1 };
	*at += line + ((*at)[line] == '\n');
	return true;
}

/* --- Compiled --- */

static char *copy_span(struct rf_arena *arena, struct rf_span span)
{
	char *copy = rf_arena_alloc(arena, span.len + 1);

	if (copy)
		memcpy(copy, span.at, span.len);
	return copy;
}

static void make_from(struct rf_net_credential *credential, const char *value)
{
	for (size_t i = 0; i < RF_LEN(sources); i++) {
		size_t len = strlen(sources[i].prefix);

		if (strncmp(value, sources[i].prefix, len) != 0)
			continue;
		credential->from = sources[i].from;
		credential->source = value + len;
	}
}

/* Divides at the first of `sign`, in place. */
static void divide(struct rf_net_credential *credential, char *value, char sign, size_t skip)
{
	char *at = strchr(value, sign);

	credential->field = value;
	if (!at)
		return;
	*at = '\0';
	credential->format = at + skip;
}

static void make_field(struct rf_net_credential *credential, enum field field, char *value)
{
	uint64_t budget;
	struct rf_err err;

	switch (field) {
	case FROM:
		make_from(credential, value);
		break;
	case HEADER:
		credential->how = RF_NET_HEADER;
		divide(credential, value, ':', 2);
		break;
	case BASIC:
		credential->how = RF_NET_BASIC;
		credential->format = value;
		break;
	case QUERY:
		credential->how = RF_NET_QUERY;
		credential->field = value;
		break;
	case BODY:
		credential->how = RF_NET_BODY;
		break;
	case CERTIFICATE:
		credential->how = RF_NET_CERTIFICATE;
		break;
	case SIGV4:
		credential->how = RF_NET_SIGV4;
		divide(credential, value, '/', 1);
		break;
	case ENV:
		credential->variable = value;
		break;
	case BUDGET:
		if (rf_limit_read(&budgets, value, &budget, &err) >= 0) {
			credential->budget = rf_limit_rate_burst(budget);
			credential->budget_ms = UINT64_C(86400000) * credential->budget /
						rf_limit_rate_per_day(budget);
		}
		break;
	case COST:
		rf_limit_read(&costs, value, &credential->cost, &err);
		break;
	case MONEY:
		read_money(value, &credential->money, &credential->money_ms);
		break;
	case HOSTS:
	case FIELD_COUNT:
		break;
	}
}

int rf_net_credential_make(struct rf_arena *arena, const char *name, const char *text,
			   struct rf_net_credential *ret_credential, struct rf_err *err)
{
	struct rf_net_credential credential = { .budget = RF_LIMIT_NONE, .money = RF_LIMIT_NONE };
	struct rf_net_rule *rules;
	struct rf_span field, value;
	const char *at = text;
	size_t hosts = 0;

	while (rf_net_credential_next(&at, &field, &value))
		hosts += find_field(field) == HOSTS;
	rules = rf_arena_alloc(arena, (hosts + 1) * sizeof(*rules));
	credential.name = rf_arena_copy(arena, name);
	credential.rules = rules;
	at = text;
	while (!arena->has_failed && rf_net_credential_next(&at, &field, &value)) {
		int index = find_field(field);
		char *copy = copy_span(arena, value);

		if (!copy || index < 0)
			break;
		if (index != HOSTS)
			make_field(&credential, (enum field)index, copy);
		else if (rf_net_rule_keep(arena, copy, false, &rules[credential.rule_count++],
					  err) < 0)
			return err->code;
	}
	if (arena->has_failed)
		return rf_fail(err, -ENOMEM, "keep a credential");
	*ret_credential = credential;
	return 0;
}

/* --- Bounded --- */

/* A field's line, or an empty span. */
static struct rf_span value_of(const char *text, enum field wanted)
{
	struct rf_span field, value;

	while (rf_net_credential_next(&text, &field, &value))
		if (find_field(field) == (int)wanted)
			return value;
	return (struct rf_span){ "", 0 };
}

static bool parse_line(struct rf_span line, struct rf_net_rule_room *room, struct rf_net_rule *rule)
{
	char text[RF_NET_RULE_TEXT];
	struct rf_err err;

	if (line.len >= sizeof(text))
		return false;
	memcpy(text, line.at, line.len);
	text[line.len] = '\0';
	return rf_net_rule_parse(text, false, room, rule, &err) >= 0;
}

/* What both sides bind it to. */
static int meet_hosts(const char *a, const char *b, struct rf_list *hosts)
{
	struct rf_span field, x, y;

	while (rf_net_credential_next(&a, &field, &x)) {
		struct rf_net_rule_room one, other, rooms[RF_NET_MEET];
		struct rf_net_rule rule, with, rules[RF_NET_MEET];
		const char *at = b;

		if (find_field(field) != HOSTS || !parse_line(x, &one, &rule))
			continue;
		while (rf_net_credential_next(&at, &field, &y)) {
			size_t count;

			if (find_field(field) != HOSTS || !parse_line(y, &other, &with))
				continue;
			count = rf_net_rule_meet(&rule, &with, rooms, rules, RF_NET_MEET);
			for (size_t i = 0; i < count; i++) {
				int r = rf_list_unite(hosts, rules[i].text, NULL);

				if (r < 0)
					return r;
			}
		}
	}
	return 0;
}

static uint64_t read_budget(struct rf_span text)
{
	uint64_t value = RF_LIMIT_NONE;
	struct rf_err err;
	char copy[64];

	snprintf(copy, sizeof(copy), "%.*s", RF_SPAN_ARG(text));
	return text.len > 0 && rf_limit_read(&budgets, copy, &value, &err) >= 0 ? value
										: RF_LIMIT_NONE;
}

/* What is within both budgets, as text: the lesser, or where neither is, the lesser number in the longer time. */
static void lesser_budget(struct rf_span a, struct rf_span b, char text[64])
{
	uint64_t x = read_budget(a), y = read_budget(b);
	struct rf_span less = rf_limit_is_within(&budgets, x, y) ? a : b, number, time;

	if (rf_limit_is_within(&budgets, x, y) || rf_limit_is_within(&budgets, y, x)) {
		snprintf(text, 64, "%.*s", RF_SPAN_ARG(less));
		return;
	}
	number = rf_limit_rate_burst(x) < rf_limit_rate_burst(y) ? a : b;
	time = number.at == a.at ? b
				 : a; /* had it the shorter time as well, it would be the lesser */
	snprintf(text, 64, "%.*s%.*s", (int)rf_span_find(number, '/'), number.at,
		 (int)(time.len - rf_span_find(time, '/')), time.at + rf_span_find(time, '/'));
}

/* The lesser amount, in the longer time. */
static void lesser_money(struct rf_span a, struct rf_span b, char text[64])
{
	uint64_t money[2] = { RF_LIMIT_NONE, RF_LIMIT_NONE }, ms[2] = { 0, 0 };
	const struct rf_span sides[2] = { a, b };
	char texts[2][64];
	bool is_second;

	for (int i = 0; i < 2; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%.*s", RF_SPAN_ARG(sides[i]));
		if (!read_money(texts[i], &money[i], &ms[i]))
			money[i] = RF_LIMIT_NONE;
	}
	is_second = money[1] < money[0];
	snprintf(text, 64, "%.*s%s", (int)strcspn(texts[is_second], "/"), texts[is_second],
		 !ms[is_second]                       ? ""
		 : ms[0] > 3600000 || ms[1] > 3600000 ? "/day"
						      : "/h");
}

/* What either side says that it costs, it costs. */
static void greater_cost(struct rf_span a, struct rf_span b, char text[64])
{
	const struct rf_span sides[2] = { a, b };
	uint64_t most = 0, cost;
	struct rf_err err;
	char copy[64];

	text[0] = '\0';
	for (int i = 0; i < 2; i++) {
		snprintf(copy, sizeof(copy), "%.*s", RF_SPAN_ARG(sides[i]));
		if (sides[i].len == 0 || rf_limit_read(&costs, copy, &cost, &err) < 0 ||
		    cost <= most)
			continue;
		most = cost;
		memcpy(text, copy, sizeof(copy));
	}
}

int rf_net_credential_meet(const char *a, const char *b, char **ret_text)
{
	RF_AUTO_BUF struct rf_buf out = { 0 };
	struct rf_list hosts = { 0 };
	char figures[FIELD_COUNT - BUDGET][64];
	int r;

	*ret_text = NULL;
	for (int i = 0; i < BUDGET; i++)
		if (i != HOSTS &&
		    !rf_span_is(value_of(a, (enum field)i), value_of(b, (enum field)i)))
			return 0;
	lesser_budget(value_of(a, BUDGET), value_of(b, BUDGET), figures[0]);
	greater_cost(value_of(a, COST), value_of(b, COST), figures[COST - BUDGET]);
	lesser_money(value_of(a, MONEY), value_of(b, MONEY), figures[MONEY - BUDGET]);
	r = meet_hosts(a, b, &hosts);
	rf_buf_init(&out, RF_MAX_POLICY_BYTES);
	for (int i = 0; i < FIELD_COUNT && r >= 0; i++) {
		struct rf_span value =
			i >= BUDGET ? rf_span_of(figures[i - BUDGET]) : value_of(a, (enum field)i);

		for (size_t j = 0; i == HOSTS && j < hosts.count; j++)
			rf_buf_printf(&out, "%s %s\n", names[HOSTS], hosts.items[j].name);
		if (i != HOSTS && value.len > 0)
			rf_buf_printf(&out, "%s %.*s\n", names[i], RF_SPAN_ARG(value));
	}
	if (r >= 0 && hosts.count > 0) {
		*ret_text = out.has_failed ? NULL : strdup(out.data);
		r = *ret_text ? 0 : -ENOMEM;
	}
	rf_list_done(&hosts);
	return r;
}
