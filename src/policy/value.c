/* The values of a policy's keys: see value.h. */
#include "policy/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "policy/chain.h"
#include "policy/net-credential.h"
#include "policy/net-place.h"
#include "policy/pattern.h"

static int fail_list_of(int code, int max, struct rf_err *err)
{
	if (code == -E2BIG)
		return rf_fail_say(err, code, "more than %d elements", max);
	return rf_fail(err, code, "keep the value");
}

static int fail_list(int code, struct rf_err *err)
{
	return fail_list_of(code, RF_MAX_LIST, err);
}

static int replace_text(struct rf_key_value *value, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(value->text);
	value->text = copy;
	return 0;
}

/* "auto, process": the choices of this version, each by its proper name. */
static void list_choices(enum rf_key key, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (const struct rf_key_choice *c = rf_key_table[key].choices; c->name && len < size; c++)
		if (c->value != RF_KEY_LATER &&
		    rf_key_choice_name(key, (uint64_t)c->value) == c->name)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						c->name);
}

static int set_choice(struct rf_key_value *value, enum rf_key key, const char *text,
		      struct rf_err *err)
{
	char names[128];

	list_choices(key, names, sizeof(names));
	for (const struct rf_key_choice *c = rf_key_table[key].choices; c->name; c++) {
		if (strcmp(c->name, text) != 0)
			continue;
		if (c->value == RF_KEY_LATER) {
			rf_fail_say(err, -EINVAL, "\"%s\" is not supported by this version", text);
			return rf_fail_hint(err, "this version knows: %s", names);
		}
		value->number = (uint64_t)c->value;
		return 0;
	}
	rf_fail_say(err, -EINVAL, "\"%.40s\" is not one of the choices", text);
	return rf_fail_hint(err, "write one of: %s", names);
}

/* Letters, digits and inner hyphens, as a host name's label may have (RFC 1123). */
static int set_host(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	static const char ldh[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	size_t len = strlen(text);

	if (len == 0 || len > 63 || strspn(text, ldh) != len || text[0] == '-' ||
	    text[len - 1] == '-') {
		rf_fail_say(err, -EINVAL, "\"%.40s\" is not a host name", text);
		return rf_fail_hint(err, "use 1 to 63 letters, digits and inner hyphens");
	}
	return replace_text(value, text) < 0 ? fail_list(-ENOMEM, err) : 0;
}

/* A name that can stand in a record, a file's name and a metric without being quoted. */
static int set_agent(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-:@+";
	size_t len = strlen(text);

	if (len == 0 || len > 64 || strspn(text, letters) != len || strchr("._-:@+", text[0])) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of an agent", text);
		return rf_fail_hint(err, "use 1 to 64 letters, digits and . _ - : @ +, a letter or "
					 "digit first");
	}
	return replace_text(value, text) < 0 ? fail_list(-ENOMEM, err) : 0;
}

static int set_path(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	char path[RF_FILES_PATH];

	if (rf_files_normal(text, path, err) < 0)
		return err->code;
	return replace_text(value, path) < 0 ? fail_list(-ENOMEM, err) : 0;
}

/* A path inside, of which there may be several; ~ is the box's home. */
static int set_inside(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	char whole[RF_FILES_PATH], path[RF_FILES_PATH];
	bool is_home = strncmp(text, "~/", 2) == 0;
	int r = snprintf(whole, sizeof(whole), "%s%s", is_home ? "/home/box" : "",
			 is_home ? text + 1 : text);

	if (r < 0 || (size_t)r >= sizeof(whole))
		return rf_fail_say(err, -ENAMETOOLONG, "a path that is too long");
	if (rf_files_normal(whole, path, err) < 0)
		return err->code;
	r = rf_list_unite(&value->list, path, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

static int set_files(struct rf_key_value *value, const char *text, const struct rf_files_base *base,
		     struct rf_err *err)
{
	char source[RF_FILES_PATH], dest[RF_FILES_PATH];
	int r;

	if (rf_files_parse(text, base, source, dest, err) < 0)
		return err->code;
	if (!rf_json_is_utf8(source, strlen(source)) || !rf_json_is_utf8(dest, strlen(dest)))
		return rf_fail_say(err, -EINVAL, "a path that is not UTF-8");
	r = rf_list_unite(&value->list, source, dest);
	return r < 0 ? fail_list(r, err) : 0;
}

static int set_pattern(struct rf_key_value *value, const char *text,
		       const struct rf_files_base *base, struct rf_err *err)
{
	char pattern[RF_FILES_PATH];
	int r;

	if (rf_pattern_normal(text, base, pattern, err) < 0)
		return err->code;
	if (!rf_json_is_utf8(pattern, strlen(pattern)))
		return rf_fail_say(err, -EINVAL, "a pattern that is not UTF-8");
	r = rf_list_unite(&value->list, pattern, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

static int check_name(const char *name, struct rf_err *err)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char digits[] = "0123456789";
	const char *p = name;

	if (*p && strchr(first, *p))
		while (*p && (strchr(first, *p) || strchr(digits, *p)))
			p++;
	if (p != name && !*p)
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of a variable", name);
	return rf_fail_hint(err, "use letters, digits and _, and no digit first");
}

static int set_name(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	int r = check_name(text, err);

	if (r < 0)
		return r;
	r = rf_list_unite(&value->list, text, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

/* A name to be looked for in the box's PATH, or an absolute path in the box. */
static int set_program(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	char path[RF_FILES_PATH] = "";
	int r;

	if (text[0] == '/') {
		if (rf_files_normal(text, path, err) < 0)
			return err->code;
		text = path;
	} else if (strchr(text, '/')) {
		rf_fail_say(err, -EINVAL, "\"%.80s\" is neither a name nor an absolute path", text);
		return rf_fail_hint(err, "write the program's name, or its whole path in the box");
	}
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f) {
			rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of a program", text);
			return rf_fail_hint(err, "name programs only, without arguments");
		}
	if (!*text || strlen(text) >= RF_FILES_PATH || strcmp(text, ".") == 0 ||
	    strcmp(text, "..") == 0 || strcmp(text, "/") == 0) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" is not the name of a program", text);
		return rf_fail_hint(err, "write the program's name, or its whole path in the box");
	}
	r = rf_list_unite(&value->list, text, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

/* One or several with commas between, as a flag may have them. */
static int set_programs(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	int r;

	do {
		size_t len = strcspn(text, ",");
		char *name = strndup(text, len);

		r = name ? set_program(value, name, err) : fail_list(-ENOMEM, err);
		free(name);
		text = text[len] == ',' ? text + len + 1 : NULL;
	} while (r >= 0 && text);
	return r;
}

static int set_pair(struct rf_key_value *value, const char *name, const char *content,
		    struct rf_err *err)
{
	int r = check_name(name, err);

	if (r < 0)
		return r;
	r = rf_list_assign(&value->list, name, content);
	return r < 0 ? fail_list(r, err) : 0;
}

/* A variable as a flag has it: "K=V". */
static int set_assignment(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	const char *sign = strchr(text, '=');
	char *name;
	int r;

	if (!sign) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" has no value", text);
		return rf_fail_hint(err, "write NAME=VALUE");
	}
	name = strndup(text, (size_t)(sign - text));
	if (!name)
		return fail_list(-ENOMEM, err);
	r = set_pair(value, name, sign + 1, err);
	free(name);
	return r;
}

/* A profile by its name, or a file by its path. */
static int set_source(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	int r;

	if (!rf_chain_is_path(text) && rf_chain_check_name(text, err) < 0)
		return err->code;
	if (value->list.count == RF_MAX_EXTENDS && !rf_list_has(&value->list, text, NULL))
		return rf_fail_say(err, -E2BIG, "more than %d elements", RF_MAX_EXTENDS);
	r = rf_list_unite(&value->list, text, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

/* A file of the host that is read when the box is made. */
static int set_filter(struct rf_key_value *value, const char *text,
		      const struct rf_files_base *base, struct rf_err *err)
{
	char path[RF_FILES_PATH];
	int r;

	if (rf_files_resolve(text, base, path, err) < 0)
		return err->code;
	if (!rf_json_is_utf8(path, strlen(path)))
		return rf_fail_say(err, -EINVAL, "a path that is not UTF-8");
	if (value->list.count == RF_MAX_FILTERS && !rf_list_has(&value->list, path, NULL))
		return rf_fail_say(err, -E2BIG, "more than %d files", RF_MAX_FILTERS);
	r = rf_list_unite(&value->list, path, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

/* An expression; whether it can be compiled, the gateway says, which has the engine. */
static int set_mask(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	size_t len = strlen(text);
	int r;

	if (len == 0) {
		rf_fail_say(err, -EINVAL, "an empty expression");
		return rf_fail_hint(err, "write a regular expression, as in \"CUST-[0-9]{8}\"");
	}
	if (len >= RF_MAX_MASK_TEXT)
		return rf_fail_say(err, -E2BIG, "an expression longer than %d bytes: \"%.40s...\"",
				   RF_MAX_MASK_TEXT - 1, text);
	if (!rf_json_is_utf8(text, len) || strchr(text, '\n')) {
		rf_fail_say(err, -EINVAL, "an expression with a line break, or that is not UTF-8");
		return rf_fail_hint(err, "it is matched within a line; write a byte as \\xNN");
	}
	value->list.max = RF_MAX_MASKS;
	r = rf_list_unite(&value->list, text, NULL);
	return r < 0 ? fail_list_of(r, RF_MAX_MASKS, err) : 0;
}

/* A whole section marks all of its keys, so that `final: [limits]` can't miss one. */
static int set_final(struct rf_policy *policy, const char *text, struct rf_err *err)
{
	int key = rf_key_find(text), section = rf_key_find_section(text);
	size_t len = strlen(text);

	if (key < 0 && section < 0)
		return rf_key_refuse(text, err);
	if (key >= 0)
		policy->finals |= RF_KEY_BIT(key);
	for (int i = 0; section >= 0 && i < RF_KEY_COUNT; i++)
		if (strncmp(rf_key_table[i].path, text, len) == 0 &&
		    rf_key_table[i].path[len] == '.')
			policy->finals |= RF_KEY_BIT(i);
	return 0;
}

static int set_rule(struct rf_key_value *value, enum rf_key key, const char *text,
		    struct rf_err *err)
{
	struct rf_net_rule_room room;
	struct rf_net_rule rule;
	int r;

	if (rf_net_rule_parse(text, key == RF_KEY_NET_DENY, &room, &rule, err) < 0)
		return err->code;
	value->list.max = RF_MAX_NET_RULES;
	r = rf_list_unite(&value->list, rule.text, NULL);
	return r < 0 ? fail_list_of(r, RF_MAX_NET_RULES, err) : 0;
}

/* A name, and the address that it leads to. */
static int set_alias(struct rf_key_value *value, const char *name, const char *text,
		     struct rf_err *err)
{
	struct rf_host host;
	enum rf_fault fault = rf_host_parse(rf_span_of(name), &host);
	char place[RF_NET_PLACE];
	uint8_t address[16];
	uint16_t port;
	int r;

	if (fault || host.kind != RF_HOST_NAME) {
		rf_fail_say(err, -EINVAL, "\"%.60s\" is not the name of a host", name);
		return rf_fail_hint(err, "write a whole name, such as api.example");
	}
	if (rf_net_place_read(text, address, &port, err) < 0)
		return err->code;
	rf_net_place_write(address, port, place);
	r = rf_list_assign(&value->list, host.text, place);
	return r < 0 ? fail_list(r, err) : 0;
}

static int set_port(struct rf_key_value *value, const char *text, struct rf_err *err)
{
	struct rf_net_publish publish;
	char place[RF_NET_PLACE];
	int r;

	if (rf_net_place_publish(text, &publish, err) < 0)
		return err->code;
	rf_net_place_write_publish(&publish, place);
	r = rf_list_unite(&value->list, place, NULL);
	return r < 0 ? fail_list(r, err) : 0;
}

static int set_grant(struct rf_key_value *value, const char *name, const char *fields,
		     struct rf_err *err)
{
	int r = rf_net_credential_check_name(name, err);

	if (r < 0)
		return r;
	value->list.max = RF_MAX_CREDENTIALS;
	r = rf_list_assign(&value->list, name, fields);
	return r < 0 ? fail_list_of(r, RF_MAX_CREDENTIALS, err) : 0;
}

/* "NAME=..." as a flag has it: a host with its address, a credential with where it comes from and goes to. */
static int set_named(struct rf_key_value *value, enum rf_key key, const char *text,
		     const struct rf_files_base *base, struct rf_err *err)
{
	const char *sign = strchr(text, '=');
	char *name, *fields = NULL;
	int r;

	if (!sign) {
		rf_fail_say(err, -EINVAL, "\"%.40s\" has no =", text);
		return rf_fail_hint(err, key == RF_KEY_NET_HOSTS
						 ? "write NAME=ADDRESS or NAME=ADDRESS:PORT"
						 : "write NAME=env:VARIABLE@HOST, or file:PATH, "
						   "cmd:COMMAND, stdin: instead of env:");
	}
	name = strndup(text, (size_t)(sign - text));
	if (!name)
		return fail_list(-ENOMEM, err);
	if (key == RF_KEY_NET_HOSTS) {
		r = set_alias(value, name, sign + 1, err);
	} else {
		r = rf_net_credential_parse(sign + 1, base, &fields, err);
		if (r < 0)
			r = rf_fail_in(err, "%.40s", name);
		else
			r = set_grant(value, name, fields, err);
	}
	free(fields);
	free(name);
	return r;
}

/*
 * What only a gateway can carry out brings one along, unless the same source says what the network leads to; so a
 * source that says `network.link` has the last word in any order.
 */
static void imply_gateway(struct rf_policy *policy, enum rf_key key)
{
	bool needs_it =
		key == RF_KEY_NET_ALLOW || key == RF_KEY_NET_PUBLISH ||
		(key == RF_KEY_NET_MODE && policy->values[key].number != (uint64_t)RF_NET_ENFORCE);

	if (!needs_it || policy->set & RF_KEY_BIT(RF_KEY_LINK))
		return;
	policy->values[RF_KEY_LINK].number = RF_LINK_GATEWAY;
	policy->set |= RF_KEY_BIT(RF_KEY_LINK);
}

int rf_value_set(struct rf_policy *policy, enum rf_key key, const char *text,
		 const struct rf_files_base *base, struct rf_err *err)
{
	struct rf_key_value *value = &policy->values[key];
	int r = 0;

	switch (rf_key_table[key].type) {
	case RF_KEY_TYPE_CHOICE:
		r = set_choice(value, key, text, err);
		break;
	case RF_KEY_TYPE_LIMIT:
	case RF_KEY_TYPE_QUOTA:
		r = rf_limit_read(rf_key_figure(key), text, &value->number, err);
		break;
	case RF_KEY_TYPE_AGENT:
		r = set_agent(value, text, err);
		break;
	case RF_KEY_TYPE_HOST:
		r = set_host(value, text, err);
		break;
	case RF_KEY_TYPE_PATH:
		r = set_path(value, text, err);
		break;
	case RF_KEY_TYPE_FILES:
		r = set_files(value, text, base, err);
		break;
	case RF_KEY_TYPE_PATTERNS:
		r = set_pattern(value, text, base, err);
		break;
	case RF_KEY_TYPE_PATHS:
		r = set_inside(value, text, err);
		break;
	case RF_KEY_TYPE_NAMES:
		r = set_name(value, text, err);
		break;
	case RF_KEY_TYPE_PROGRAMS:
		r = set_programs(value, text, err);
		break;
	case RF_KEY_TYPE_MAP:
		r = set_assignment(value, text, err);
		break;
	case RF_KEY_TYPE_KEYS:
		r = set_final(policy, text, err);
		break;
	case RF_KEY_TYPE_SOURCES:
		r = set_source(value, text, err);
		break;
	case RF_KEY_TYPE_FILTERS:
	case RF_KEY_TYPE_ROOTS:
		r = set_filter(value, text, base, err);
		break;
	case RF_KEY_TYPE_RULES:
		r = set_rule(value, key, text, err);
		break;
	case RF_KEY_TYPE_HOSTS:
	case RF_KEY_TYPE_GRANTS:
		r = set_named(value, key, text, base, err);
		break;
	case RF_KEY_TYPE_PORTS:
		r = set_port(value, text, err);
		break;
	case RF_KEY_TYPE_MASKS:
		r = set_mask(value, text, err);
		break;
	}
	if (r < 0)
		return rf_fail_in(err, "%s", rf_key_table[key].path);
	policy->set |= RF_KEY_BIT(key);
	imply_gateway(policy, key);
	return 0;
}

int rf_value_set_pair(struct rf_policy *policy, enum rf_key key, const char *name,
		      const char *content, struct rf_err *err)
{
	struct rf_key_value *value = &policy->values[key];
	int r;

	if (rf_key_table[key].type == RF_KEY_TYPE_HOSTS)
		r = set_alias(value, name, content, err);
	else if (rf_key_table[key].type == RF_KEY_TYPE_GRANTS)
		r = set_grant(value, name, content, err);
	else
		r = set_pair(value, name, content, err);
	if (r < 0)
		return rf_fail_in(err, "%s", rf_key_table[key].path);
	policy->set |= RF_KEY_BIT(key);
	return 0;
}

int rf_value_join(struct rf_policy *to, const struct rf_policy *from, enum rf_key key)
{
	const struct rf_list *list = &from->values[key].list;
	bool is_map = rf_key_is_map(key);
	int r = 0;

	if (list->max)
		to->values[key].list.max = list->max;
	if (from->values[key].text)
		r = replace_text(&to->values[key], from->values[key].text);
	for (size_t i = 0; i < list->count && r >= 0; i++)
		r = (is_map ? rf_list_assign : rf_list_unite)(
			&to->values[key].list, list->items[i].name, list->items[i].value);
	if (r < 0)
		return r;
	to->values[key].number = from->values[key].number;
	if (key == RF_KEY_FINAL)
		to->finals |= from->finals;
	to->set |= RF_KEY_BIT(key);
	return 0;
}

void rf_value_settle(struct rf_policy *policy)
{
	const struct rf_list *write = &policy->values[RF_KEY_WRITE].list;

	for (size_t i = 0; i < write->count; i++)
		rf_list_remove(&policy->values[RF_KEY_READ].list, write->items[i].name,
			       write->items[i].value);
}

/* Refuses if a pattern hides what a rule of `key` shows. */
static int check_pair(const char *deny, enum rf_key key, const char *source, struct rf_err *err)
{
	struct rf_pattern pattern;

	rf_pattern_init(&pattern, deny);
	if (!rf_pattern_covers(&pattern, source))
		return 0;
	rf_fail_say(err, -EINVAL, "%s shows %.80s, and files.deny hides %.80s",
		    rf_key_table[key].path, source, deny);
	return rf_fail_hint(err, "take one of the two out");
}

int rf_value_check_deny(const struct rf_policy *policy, enum rf_key key, struct rf_err *err)
{
	const struct rf_list *mine = &policy->values[key].list;
	const struct rf_list *deny = &policy->values[RF_KEY_DENY].list;
	const char *newest = mine->count ? mine->items[mine->count - 1].name : NULL;
	int r = 0;

	if (key == RF_KEY_READ || key == RF_KEY_WRITE)
		for (size_t i = 0; newest && i < deny->count && r == 0; i++)
			r = check_pair(deny->items[i].name, key, newest, err);
	for (int k = RF_KEY_READ; key == RF_KEY_DENY && k <= RF_KEY_WRITE; k++) {
		const struct rf_list *list = &policy->values[k].list;

		for (size_t i = 0; newest && i < list->count && r == 0; i++)
			r = check_pair(newest, (enum rf_key)k, list->items[i].name, err);
	}
	return r;
}
