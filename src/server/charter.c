/*
 * How a server is to serve: see charter.h.
 *
 * One table of keys, each with who takes its value; the same function takes an option's.  The reader follows the shape that the names have: what has a
 * point in it is a key of a section.
 */
#include "server/charter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/url.h"
#include "policy/limit.h"
#include "policy/markup.h"
#include "policy/near.h"
#include "policy/quota.h"

/* ------------------------------------------------------------- values */

static int copy(const char *value, char **to, struct rf_err *err)
{
	char *text = strdup(value);

	if (!text)
		return rf_fail(err, -ENOMEM, "the configuration");
	free(*to);
	*to = text;
	return 0;
}

static int add(char **list, size_t most, const char *value, struct rf_err *err)
{
	size_t i = 0;

	while (list[i])
		i++;
	if (i == most)
		return rf_fail_say(err, -E2BIG, "more than %zu of them", most);
	return copy(value, &list[i], err);
}

static int set_listen(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return add(charter->listen, RF_CHARTER_PORTS, value, err);
}

/* In the one form that names and origins of requests are compared in. */
static int set_host(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	struct rf_host host;

	if (rf_host_parse(rf_span_of(value), &host)) {
		rf_fail_say(err, -EINVAL, "`%.60s` is no name of a host", value);
		return rf_fail_hint(err, "for example: boxes.example, without a port");
	}
	return add(charter->hosts, RF_CHARTER_NAMES, host.text, err);
}

static int set_origin(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	struct rf_url url;

	if (rf_url_parse(rf_span_of(value), &url) || url.path.len || url.has_query) {
		rf_fail_say(err, -EINVAL, "`%.60s` is no origin", value);
		return rf_fail_hint(err, "for example: https://ui.example");
	}
	return add(charter->origins, RF_CHARTER_NAMES, value, err);
}

/* A path is a whole one: a server has no folder that it stands in.  On the command line the launcher sees to it. */
static int set_path(const char *value, char **to, struct rf_err *err)
{
	if (value[0] != '/') {
		rf_fail_say(err, -EINVAL, "`%.60s` is no whole path", value);
		return rf_fail_hint(err, "begin with /");
	}
	return copy(value, to, err);
}

static int set_certificate(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &charter->certificate, err);
}

static int set_key(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &charter->key, err);
}

static int set_clients(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &charter->clients, err);
}

/* "30s", "5m". */
static int read_seconds(const char *value, uint32_t least, uint32_t most, uint32_t *ret_s,
			struct rf_err *err)
{
	uint64_t ms;

	if (rf_limit_read(&rf_quota_table[RF_QUOTA_OPEN], value, &ms, err) < 0)
		return err->code;
	if (ms == RF_LIMIT_NONE || ms % 1000 || ms / 1000 < least || ms / 1000 > most)
		return rf_fail_say(err, -EINVAL, "`%.40s` is not from %u to %u seconds", value,
				   least, most);
	*ret_s = (uint32_t)(ms / 1000);
	return 0;
}

/* Also a bare number of seconds, as the option has it. */
static int set_grace(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	char text[32];
	bool is_bare = value[0] && value[strspn(value, "0123456789")] == '\0';

	snprintf(text, sizeof(text), "%.20s%s", value, is_bare ? "s" : "");
	return read_seconds(text, 1, 86400, &charter->grace_s, err);
}

static int read_memory(const char *value, uint64_t *ret_bytes, struct rf_err *err)
{
	if (rf_limit_parse(RF_LIMIT_MEMORY, value, ret_bytes, err) < 0)
		return err->code;
	return *ret_bytes == RF_LIMIT_NONE ? rf_fail_say(err, -EINVAL, "`none` is no memory") : 0;
}

static int set_reserve(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return read_memory(value, &charter->reserve_bytes, err);
}

static int set_margin(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return read_memory(value, &charter->margin_bytes, err);
}

static int set_disk(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	if (rf_limit_parse(RF_LIMIT_DISK, value, &charter->disk_bytes, err) < 0)
		return err->code;
	return charter->disk_bytes == RF_LIMIT_NONE
		       ? rf_fail_say(err, -EINVAL, "`none` is no space")
		       : 0;
}

static int set_keeps(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	charter->keeps_sandboxes = strcmp(value, "true") == 0;
	if (charter->keeps_sandboxes || strcmp(value, "false") == 0)
		return 0;
	return rf_fail_say(err, -EINVAL, "`%.40s` is neither true nor false", value);
}

static int set_anchor(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	if (strcmp(value, "syslog") != 0 && value[0] != '/') {
		rf_fail_say(err, -EINVAL, "`%.60s` is no place for heads", value);
		return rf_fail_hint(err, "syslog, or a file by its whole path");
	}
	return add(charter->anchors, RF_CHARTER_ANCHORS, value, err);
}

static int set_keep(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	size_t digits = strspn(value, "0123456789");

	if (digits == 0 || digits > 12 || (value[digits] && !strchr("KMGT", value[digits])) ||
	    (value[digits] && value[digits + 1])) {
		rf_fail_say(err, -EINVAL, "`%.40s` is no size", value);
		return rf_fail_hint(err, "for example: 10G");
	}
	return copy(value, &charter->keep, err);
}

static int set_keep_days(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	size_t digits = strspn(value, "0123456789");

	if (digits == 0 || digits > 6 || value[digits] || value[0] == '0')
		return rf_fail_say(err, -EINVAL, "`%.40s` is no number of days", value);
	return copy(value, &charter->keep_days, err);
}

static int set_hook(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &charter->hook, err);
}

/* Where messages go: nothing but where, since who reads a log reads this, too. */
static int set_url(const char *value, char **to, struct rf_err *err)
{
	struct rf_url url;

	if (strlen(value) > 1024 || rf_url_parse(rf_span_of(value), &url) || url.has_query) {
		rf_fail_say(err, -EINVAL, "`%.60s` is no address of a service", value);
		return rf_fail_hint(err, "for example: https://hooks.example/ringfort");
	}
	return copy(value, to, err);
}

static struct rf_charter_webhook *last(struct rf_charter *charter)
{
	return &charter->webhooks[charter->webhook_count - 1];
}

static int set_webhook_url(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_url(value, &last(charter)->url, err);
}

static int set_webhook_secret(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	if ((strncmp(value, "file:/", 6) != 0 && strncmp(value, "env:", 4) != 0) || !value[4]) {
		rf_fail_say(err, -EINVAL, "a secret is never written here");
		return rf_fail_hint(err, "file:/PATH or env:NAME says where it is");
	}
	return copy(value, &last(charter)->secret, err);
}

static int set_webhook_topic(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	static const char *const names[] = { "alarms", "breakers", "approvals" };

	for (size_t i = 0; i < RF_LEN(names); i++)
		if (strcmp(value, names[i]) == 0) {
			last(charter)->topics |= 1u << i;
			return 0;
		}
	rf_fail_say(err, -EINVAL, "`%.40s` is nothing that is told", value);
	return rf_fail_hint(err, "alarms, breakers, approvals");
}

static int set_webhook_ca(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &last(charter)->ca, err);
}

static int set_webhook_tries(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	if (strspn(value, "0123456789") != strlen(value) || strlen(value) > 2 || atoi(value) < 1 ||
	    atoi(value) > 20)
		return rf_fail_say(err, -EINVAL, "`%.40s` is no number from 1 to 20", value);
	last(charter)->tries = (uint32_t)atoi(value);
	return 0;
}

static int set_collector_ca(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_path(value, &charter->collector_ca, err);
}

static int set_collector(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return set_url(value, &charter->collector, err);
}

static int set_every(struct rf_charter *charter, const char *value, struct rf_err *err)
{
	return read_seconds(value, 1, 86400, &charter->every_s, err);
}

/* ------------------------------------------------------------- keys */

enum shape {
	TEXT,
	LIST, /* or one of it alone */
	MAPS, /* a list of mappings, whose keys follow */
};

/* clang-format off */
static const struct row {
	const char *name;
	enum shape shape;
	int (*set)(struct rf_charter *charter, const char *value, struct rf_err *err);
} rows[] = {
	{ "listen",            LIST, set_listen },
	{ "hosts",             LIST, set_host },
	{ "origins",           LIST, set_origin },
	{ "tls.cert",          TEXT, set_certificate },
	{ "tls.key",           TEXT, set_key },
	{ "tls.client_ca",     TEXT, set_clients },
	{ "grace",             TEXT, set_grace },
	{ "memory.reserve",    TEXT, set_reserve },
	{ "memory.margin",     TEXT, set_margin },
	{ "disk.margin",       TEXT, set_disk },
	{ "keep_sandboxes",    TEXT, set_keeps },
	{ "audit.anchors",     LIST, set_anchor },
	{ "audit.keep",        TEXT, set_keep },
	{ "audit.keep_days",   TEXT, set_keep_days },
	{ "audit.hook",        TEXT, set_hook },
	{ "webhooks",          MAPS, NULL },
	{ "webhooks.url",      TEXT, set_webhook_url },
	{ "webhooks.secret",   TEXT, set_webhook_secret },
	{ "webhooks.events",   LIST, set_webhook_topic },
	{ "webhooks.ca",       TEXT, set_webhook_ca },
	{ "webhooks.tries",    TEXT, set_webhook_tries },
	{ "otlp.ca",           TEXT, set_collector_ca },
	{ "otlp.endpoint",     TEXT, set_collector },
	{ "otlp.every",        TEXT, set_every },
};
/* clang-format on */

_Static_assert(RF_LEN(rows) <= 32, "one bit for each");

static const struct row *find(const char *name)
{
	for (size_t i = 0; i < RF_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

int rf_charter_set(struct rf_charter *charter, const char *name, const char *value,
		   struct rf_err *err)
{
	const struct row *row = find(name);

	if (!row || !row->set)
		return rf_fail_say(err, -EINVAL, "there is no setting `%.60s`", name);
	if (row->set(charter, value, err) < 0)
		return rf_fail_in(err, "%s", name);
	return 0;
}

/* ------------------------------------------------------------- the file */

struct reader {
	struct rf_markup yaml;
	struct rf_charter *charter;
	uint32_t seen; /* rows, a bit each */
};

/* True if there are keys whose names begin so. */
static bool is_section(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < RF_LEN(rows); i++)
		if (strncmp(rows[i].name, name, len) == 0 && rows[i].name[len] == '.')
			return true;
	return false;
}

static int refuse(struct reader *r, const char *name, const char *word)
{
	struct rf_near best = rf_near_init(word);
	size_t before = strlen(name) - strlen(word);
	char part[64];

	for (size_t i = 0; i < RF_LEN(rows); i++)
		if (strncmp(rows[i].name, name, before) == 0) {
			const char *rest = rows[i].name + before;

			snprintf(part, sizeof(part), "%.*s", (int)strcspn(rest, "."), rest);
			rf_near_consider(&best, word, part, rest);
		}
	rf_markup_fail(&r->yaml, "there is no key `%.60s`", name);
	if (best.name)
		rf_fail_hint(r->yaml.err, "did you mean `%.*s`?", (int)strcspn(best.name, "."),
			     best.name);
	return r->yaml.err->code;
}

static int take(struct reader *r, const struct row *row)
{
	if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
		return rf_markup_fail(&r->yaml, "%s: plain text is needed here, not %s", row->name,
				      rf_markup_kind(&r->yaml));
	if (rf_charter_set(r->charter, row->name, rf_markup_scalar(&r->yaml), r->yaml.err) < 0)
		return rf_markup_at(&r->yaml);
	return 0;
}

static int read_mapping(struct reader *r, const char *before);

static int begin_item(struct reader *r, const struct row *row)
{
	struct rf_charter *charter = r->charter;

	if (!rf_markup_is(&r->yaml, YAML_MAPPING_START_EVENT))
		return rf_markup_fail(&r->yaml, "%s: a mapping is needed here, not %s", row->name,
				      rf_markup_kind(&r->yaml));
	if (charter->webhook_count == RF_CHARTER_WEBHOOKS)
		return rf_markup_fail(&r->yaml, "%s: more than %d of them", row->name,
				      RF_CHARTER_WEBHOOKS);
	charter->webhook_count++;
	last(charter)->tries = RF_CHARTER_TRIES;
	for (size_t i = 0; i < RF_LEN(rows); i++) /* each has its own */
		if (strncmp(rows[i].name, "webhooks.", 9) == 0)
			r->seen &= ~(1u << i);
	if (read_mapping(r, "webhooks.") < 0)
		return r->yaml.err->code;
	if (!last(charter)->url || !last(charter)->secret)
		return rf_markup_fail(&r->yaml, "%s: each needs `url` and `secret`", row->name);
	if (!last(charter)->topics)
		last(charter)->topics =
			RF_CHARTER_ALARMS | RF_CHARTER_BREAKERS | RF_CHARTER_APPROVALS;
	return 0;
}

static int read_value(struct reader *r, const struct row *row)
{
	if (rf_markup_next(&r->yaml) < 0)
		return r->yaml.err->code;
	if (row->shape == TEXT || (row->shape == LIST && rf_markup_is(&r->yaml, YAML_SCALAR_EVENT)))
		return take(r, row);
	if (!rf_markup_is(&r->yaml, YAML_SEQUENCE_START_EVENT))
		return rf_markup_fail(&r->yaml, "%s: a list is needed here, not %s", row->name,
				      rf_markup_kind(&r->yaml));
	for (;;) {
		if (rf_markup_next(&r->yaml) < 0)
			return r->yaml.err->code;
		if (rf_markup_is(&r->yaml, YAML_SEQUENCE_END_EVENT))
			return 0;
		if ((row->shape == MAPS ? begin_item(r, row) : take(r, row)) < 0)
			return r->yaml.err->code;
	}
}

static int read_key(struct reader *r, const char *before)
{
	char name[96], word[64];
	const struct row *row;

	if (!rf_markup_is(&r->yaml, YAML_SCALAR_EVENT))
		return rf_markup_fail(&r->yaml, "a key is needed here, not %s",
				      rf_markup_kind(&r->yaml));
	snprintf(word, sizeof(word), "%s", rf_markup_scalar(&r->yaml));
	snprintf(name, sizeof(name), "%s%s", before, word);
	row = strchr(word, '.') ? NULL : find(name);
	if (row) {
		if (r->seen >> (row - rows) & 1)
			return rf_markup_fail(&r->yaml, "%s: it is there twice", name);
		r->seen |= 1u << (row - rows);
		return read_value(r, row);
	}
	if (before[0] || strchr(word, '.') || !is_section(name))
		return refuse(r, name, word);
	if (rf_markup_next(&r->yaml) < 0)
		return r->yaml.err->code;
	if (!rf_markup_is(&r->yaml, YAML_MAPPING_START_EVENT))
		return rf_markup_fail(&r->yaml, "%s: a mapping is needed here, not %s", name,
				      rf_markup_kind(&r->yaml));
	snprintf(name, sizeof(name), "%s.", word);
	return read_mapping(r, name);
}

static int read_mapping(struct reader *r, const char *before)
{
	for (;;) {
		if (rf_markup_next(&r->yaml) < 0)
			return r->yaml.err->code;
		if (rf_markup_is(&r->yaml, YAML_MAPPING_END_EVENT))
			return 0;
		if (read_key(r, before) < 0)
			return r->yaml.err->code;
	}
}

int rf_charter_read(struct rf_charter *charter, const char *text, size_t len, struct rf_err *err)
{
	struct reader r = { .charter = charter };
	int code;

	if (rf_markup_init(&r.yaml, text, len, RF_CHARTER_BYTES, "configuration", err) < 0)
		return err->code;
	code = rf_markup_begin(&r.yaml);
	if (code > 0)
		code = read_mapping(&r, "") < 0 ? err->code : rf_markup_end(&r.yaml);
	rf_markup_done(&r.yaml);
	return code < 0 ? code : 0;
}

/* ------------------------------------------------------------- the whole */

int rf_charter_check(const struct rf_charter *charter, struct rf_err *err)
{
	if (!charter->certificate != !charter->key) {
		rf_fail_say(err, -EINVAL, "tls: a certificate and its key go together");
		return rf_fail_hint(err, "say both `tls.cert` and `tls.key`");
	}
	if (charter->clients && !charter->certificate) {
		rf_fail_say(err, -EINVAL, "tls.client_ca: without a certificate there is no TLS");
		return rf_fail_hint(err, "say `tls.cert` and `tls.key`, too");
	}
	return 0;
}

void rf_charter_init(struct rf_charter *charter)
{
	*charter = (struct rf_charter){ .grace_s = RF_CHARTER_GRACE_S,
					.every_s = 15,
					.reserve_bytes = 16u << 20,
					.margin_bytes = 128u << 20,
					.disk_bytes = 64u << 20 };
}

static void free_all(char **list)
{
	for (; *list; list++) {
		free(*list);
		*list = NULL;
	}
}

void rf_charter_done(struct rf_charter *charter)
{
	char **const texts[] = { &charter->certificate, &charter->key,         &charter->clients,
				 &charter->keep,        &charter->hook,        &charter->keep_days,
				 &charter->collector,   &charter->collector_ca };

	free_all(charter->listen);
	free_all(charter->hosts);
	free_all(charter->origins);
	free_all(charter->anchors);
	for (size_t i = 0; i < RF_LEN(texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
	for (size_t i = 0; i < RF_CHARTER_WEBHOOKS; i++) {
		free(charter->webhooks[i].url);
		free(charter->webhooks[i].secret);
		free(charter->webhooks[i].ca);
		charter->webhooks[i] = (struct rf_charter_webhook){ 0 };
	}
}

static void put_list(struct rf_buf *out, const char *name, char *const *list)
{
	if (!*list)
		return;
	rf_buf_printf(out, "%-10s", name);
	for (; *list; list++)
		rf_buf_printf(out, " %s", *list);
	rf_buf_puts(out, "\n");
}

void rf_charter_describe(const struct rf_charter *charter, struct rf_buf *out)
{
	put_list(out, "listen", charter->listen);
	put_list(out, "hosts", charter->hosts);
	put_list(out, "origins", charter->origins);
	rf_buf_printf(
		out, "%-10s %s%s%s\n", "tls", charter->certificate ? charter->certificate : "none",
		charter->clients ? ", clients of " : "", charter->clients ? charter->clients : "");
	rf_buf_printf(out, "%-10s %us%s\n", "grace", charter->grace_s,
		      charter->keeps_sandboxes ? ", sandboxes are kept" : "");
	put_list(out, "anchors", charter->anchors);
	for (size_t i = 0; i < charter->webhook_count; i++)
		rf_buf_printf(out, "%-10s %s\n", "webhook", charter->webhooks[i].url);
	if (charter->collector)
		rf_buf_printf(out, "%-10s %s, every %us\n", "otlp", charter->collector,
			      charter->every_s);
}
