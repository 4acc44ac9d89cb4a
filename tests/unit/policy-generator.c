/* Random policies and questions: see policy-generator.h. */
#include "policy-generator.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/key.h"

#define TEXT 1024

unsigned rf_generator_pick(struct rf_generator *g, unsigned below)
{
	g->state = g->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return below ? (unsigned)(g->state >> 33) % below : 0;
}

#define PICK(g, list) ((list)[rf_generator_pick(g, RF_LEN(list))])

/* --- Words --- */

const char *const rf_generator_paths[] = { "/w",      "/w/data", "/w/data/deep", "/w/other",
					   "/wide",   "/a",      "/a/b",         "/a/b/c",
					   "/a/bc",   "/d",      "/d/e",         "/home/u/.env",
					   "/w/.env", NULL };
const char *const rf_generator_variables[] = { "A", "B", "C", NULL };
const char *const rf_generator_programs[] = { "git", "sh", "/usr/bin/env", "perl", NULL };

/* clang-format off */
static const char *const hosts[] = { "a.test", "b.a.test", "c.b.a.test", "x.test", "test", "other" };
static const char *const names[] = { "a.test", "*.a.test", "**.a.test", "b.a.test", "*.test", "**.test", "*", "x.test",
	"**.b.a.test", "other" };
/* One of each kind at least, and what carries one within. */
static const char *const addresses[] = { "93.184.216.34", "8.8.8.8", "168.1.1.1", "127.0.0.1", "127.0.0.2", "10.0.0.1",
	"10.200.0.1", "172.16.0.1", "192.168.1.1", "169.254.1.1", "169.254.169.254", "169.254.170.2", "168.63.129.16",
	"100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1",
	"::1", "::", "2606:4700::1111", "2a00::1", "fd12::1", "fe80::1", "fd00:ec2::254", "fec0::1", "ff02::1", "4000::1",
	"64:ff9b::808:808", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:808:808::1", "2002:7f00:1::", "::7f00:1",
	"2001:0:1:2:3:4:80ff:fffe", "2a00::5efe:7f00:1", "2001:db8::1", "::ffff:0:7f00:1" };
static const unsigned char widths4[] = { 0, 1, 5, 6, 7, 8, 9, 10, 12, 15, 16, 24, 30, 31, 32, 32, 32 };
static const unsigned char widths6[] = { 0, 3, 4, 7, 8, 10, 16, 23, 24, 32, 48, 64, 96, 104, 112, 127, 128, 128 };
static const char *const methods[] = { "", "", "", "GET ", "GET,POST ", "POST ", "DELETE " };
static const char *const ports[] = { "", "", ":443", ":80-90", ":*", ":*", ":*", ":22,443", ":81,83,85-87,89,443,8000-8010" };
static const char *const tcp_ports[] = { ":443", ":*", ":22", ":80-90", ":22,85,8000-8010" };
static const char *const patterns[] = { "", "", "", "", "", "", "", "", "", "", "/", "/a", "/a/*", "/a/**", "/a/b", "/*/b", "/**/c", "/a*", "/*a", "/a/b/",
	"/**/b/**", "/*/**", "/a/*/c", "/a*b", "/*a*", "/**/b*", "/a/**/c", "/ab/**", "/*/*" };
static const char *const asked_paths[] = { "/", "/a", "/a/b", "/a/b/", "/a/b/c", "/ab", "/aab", "/c", "/x/b", "/a/x/c", "/b/c",
	"/ab/c", "/xa", "/a/b/c/d", "/a;x", "/a//b", "/a/%2e%2e/b" };
static const char *const asked_methods[] = { "GET", "GET", "POST", "DELETE", "BREW" };
static const uint16_t asked_ports[] = { 80, 443, 443, 22, 85, 8005 };
/* clang-format on */

/* --- Texts of one value --- */

static void write_prefix(struct rf_generator *g, char *text)
{
	char address[RF_ADDRESS_TEXT];
	struct rf_address addr;
	unsigned bits, offset;
	bool is_v4;

	rf_address_parse(PICK(g, addresses), &addr);
	is_v4 = rf_address_is_v4(&addr);
	offset = is_v4 ? 96 : 0;
	bits = (is_v4 ? PICK(g, widths4) : PICK(g, widths6)) + offset;
	for (unsigned i = bits; i < 128; i++)
		addr.octets[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	inet_ntop(is_v4 ? AF_INET : AF_INET6, addr.octets + offset / 8, address, sizeof(address));
	snprintf(text, TEXT, is_v4 ? "%s/%u%s" : "[%s/%u]%s", address, bits - offset,
		 PICK(g, ports));
}

static void write_rule(struct rf_generator *g, char *text)
{
	if (rf_generator_pick(g, 2))
		write_prefix(g, text);
	else
		snprintf(text, TEXT, "%s%s%s%s", PICK(g, methods), PICK(g, names), PICK(g, ports),
			 PICK(g, patterns));
}

/* In the methods' place TCP stands alone: with ports, and without a path.  No denial says it. */
static void write_allow(struct rf_generator *g, char *text)
{
	if (rf_generator_pick(g, 6) == 0)
		snprintf(text, TEXT, "TCP %s%s", PICK(g, names), PICK(g, tcp_ports));
	else
		write_rule(g, text);
}

/* A file of the host at its own place or at another one. */
static void write_file(struct rf_generator *g, char *text)
{
	const char *source = rf_generator_paths[rf_generator_pick(g, 11)];

	if (rf_generator_pick(g, 3))
		snprintf(text, TEXT, "%s", source);
	else
		snprintf(text, TEXT, "%s:%s", source, rf_generator_paths[rf_generator_pick(g, 11)]);
}

static void write_alias(struct rf_generator *g, char *text)
{
	const char *address = PICK(g, addresses);
	bool has_brackets = strchr(address, ':') && rf_generator_pick(g, 2);

	snprintf(text, TEXT, "%s=%s%s%s%s", PICK(g, hosts), has_brackets ? "[" : "", address,
		 has_brackets ? "]" : "",
		 has_brackets || (!strchr(address, ':') && rf_generator_pick(g, 2)) ? ":8005" : "");
}

static void write_credential(struct rf_generator *g, char *text)
{
	int at = snprintf(text, TEXT, "%c=env:%s@", "kl"[rf_generator_pick(g, 4) == 0],
			  rf_generator_pick(g, 8) ? "K" : "L");

	for (unsigned i = 0; i <= rf_generator_pick(g, 2); i++)
		at += snprintf(text + at, TEXT - (size_t)at, "%s%s%s%s%s", i ? "," : "",
			       PICK(g, methods), names[rf_generator_pick(g, 6)], PICK(g, ports),
			       PICK(g, patterns));
}

static void write_figure(struct rf_generator *g, enum rf_key key, char *text)
{
	/* clang-format off */
	static const char *const figures[][6] = {
		[RF_UNIT_BYTES]   = { "4M", "64M", "1G", "512M", "2G", "none" },
		[RF_UNIT_MS]      = { "1s", "60s", "2h", "500ms", "1d", "none" },
		[RF_UNIT_PERCENT] = { "1%", "50%", "100%", "400%", "10%", "none" },
		[RF_UNIT_COUNT]   = { "1", "5", "100", "1000", "20", "none" },
		[RF_UNIT_RATE]    = { "10/s", "100/min", "5/s burst 50", "1000/day", "60/min burst 2", "none" },
		[RF_UNIT_MONEY]   = { "1", "0.5", "100", "0.001", "20", "none" },
	};
	/* clang-format on */
	snprintf(text, TEXT, "%s",
		 figures[rf_key_figure(key)->unit][rf_generator_pick(g, RF_LEN(figures[0]))]);
}

static void write_choice(struct rf_generator *g, enum rf_key key, char *text)
{
	const struct rf_key_choice *choices = rf_key_table[key].choices;
	unsigned count = 0;

	while (choices[count].name)
		count++;
	snprintf(text, TEXT, "%s", choices[rf_generator_pick(g, count)].name);
}

/* --- The table --- */

/*
 * A key that is written otherwise than by its type.  `texts` or `write` say how; a row with neither is
 * left out of random policies, for the reason beside it.
 */
struct row {
	const char *key;
	unsigned in_100, most; /* how often it is set, and how many elements a list has */
	void (*write)(struct rf_generator *g, char *text);
	const char *texts[6];
};

/* clang-format off */
static const struct row rows[] = {
	{ "version",          0,  0, NULL, { NULL } },             /* there is one */
	{ "extends",          0,  0, NULL, { NULL } },             /* followed before a meet, or refused by it */
	{ "final",            0,  0, NULL, { NULL } },             /* binds a policy's sources, not what it allows */
	{ "network.link",     0,  0, NULL, { NULL } },             /* chosen first: see rf_generator_policy() */
	{ "network.loopback", 4,  1, NULL, { "on", "on", "off" } }, /* a link needs it */
	{ "syscalls",         30, 1, NULL, { "default", "strict" } }, /* `floor` needs a profile beside it */
	{ "hostname",         20, 1, NULL, { "one", "two" } },
	{ "workdir",          10, 1, NULL, { "/w", "/tmp" } },
	{ "agent",            80, 1, NULL, { "bot", "other" } },
	{ "audit",            20, 1, NULL, { "auto", "required", "required", "off" } }, /* what a watcher counts needs one */
	{ "seccomp",          10, 2, NULL, { "/p.json", "/q.json" } },
	{ "files.read",       60, 3, write_file, { NULL } },
	{ "files.write",      60, 3, write_file, { NULL } },
	{ "files.deny",       20, 2, NULL, { "**/.env", "/w/data/**", "/a/b*", "/d" } },
	{ "files.canaries",   10, 2, NULL, { "/home/box/.aws/credentials", "/home/box/.netrc" } },
	{ "env.pass",         50, 2, NULL, { "A", "B", "C" } },
	{ "env.set",          50, 2, NULL, { "A=0", "A=1", "B=0", "B=1", "C=0" } },
	{ "network.mode",     50, 1, NULL, { "enforce", "enforce", "report", "open" } },
	{ "network.allow",    90, 7, write_allow, { NULL } },
	{ "network.deny",     30, 3, write_rule, { NULL } },
	{ "network.hosts",    30, 2, write_alias, { NULL } },
	{ "network.publish",  10, 2, NULL, { "8080", "8080:80", "0.0.0.0:9090:90" } },
	{ "network.mask",     5,  2, NULL, { "a{3}", "b{4}" } },
	{ "network.roots",    10, 2, NULL, { "/a.pem", "/b.pem" } },
	{ "network.filter",   5,  1, NULL, { "on", "off" } },     /* where it is on every request is looked into */
	{ "network.writes",   5,  1, NULL, { "pass", "hold" } },  /* the same */
	{ "credentials",      60, 2, write_credential, { NULL } },
	{ "commands",         40, 2, NULL, { "git", "sh,/usr/bin/env", "perl", "git,sh" } },
};
/* clang-format on */

#define BY_TYPE 8 /* in 100: how often a choice or a figure without a row is set */

static const struct row *row_of(enum rf_key key)
{
	for (size_t i = 0; i < RF_LEN(rows); i++)
		if (strcmp(rows[i].key, rf_key_table[key].path) == 0)
			return &rows[i];
	return NULL;
}

const char *rf_generator_missing(void)
{
	for (int k = 0; k < RF_KEY_COUNT; k++)
		if (!row_of((enum rf_key)k) && !rf_key_figure((enum rf_key)k) &&
		    rf_key_table[k].type != RF_KEY_TYPE_CHOICE)
			return rf_key_table[k].path;
	return NULL;
}

/* False if a value is none, as a figure may be out of its range. */
static bool set_one(struct rf_generator *g, struct rf_policy *policy, enum rf_key key)
{
	const struct row *row = row_of(key);
	struct rf_err err = RF_ERR_INIT;
	char text[TEXT];
	unsigned count = 0;

	if (row && row->write) {
		row->write(g, text);
	} else if (row) {
		while (count < RF_LEN(row->texts) && row->texts[count])
			count++;
		snprintf(text, sizeof(text), "%s", row->texts[rf_generator_pick(g, count)]);
	} else if (rf_key_figure(key)) {
		write_figure(g, key, text);
	} else {
		write_choice(g, key, text);
	}
	if (rf_policy_set(policy, rf_key_table[key].path, text, "/", "/", &err) == 0)
		return true;
	/* A figure may be out of its range; a path may be both shown and denied. */
	RF_REQUIRE(rf_key_figure(key) || key == RF_KEY_READ || key == RF_KEY_WRITE ||
			   key == RF_KEY_DENY || !row,
		   "%s: %s: %s", rf_key_table[key].path, text, err.msg);
	return false;
}

struct rf_policy *rf_generator_policy(struct rf_generator *g)
{
	static const char *const links[] = { "none",    "host",    "gateway", "gateway",
					     "gateway", "gateway", "gateway", "gateway" };
	struct rf_policy *policy = rf_policy_new_empty();
	const char *link = PICK(g, links);
	struct rf_err err = RF_ERR_INIT;

	if (!policy)
		return NULL;
	for (int k = 0; k < RF_KEY_COUNT; k++) {
		const struct row *row = row_of((enum rf_key)k);
		bool is_kept_by_gateway = k >= RF_KEY_NET_MODE && k <= RF_KEY_GRANTS;

		/* Keys that only a gateway keeps are an error beside another link. */
		if (is_kept_by_gateway && strcmp(link, "gateway") != 0)
			continue;
		if (rf_generator_pick(g, 100) >= (row ? row->in_100 : BY_TYPE))
			continue;
		for (unsigned i = row ? rf_generator_pick(g, row->most) + 1 : 1; i > 0; i--)
			set_one(g, policy, (enum rf_key)k);
	}
	if (rf_policy_set(policy, "network.link", link, "/", "/", &err) < 0) {
		rf_policy_free(policy);
		return NULL;
	}
	return policy;
}

void rf_generator_ask(struct rf_generator *g, struct rf_generator_question *q)
{
	const char *address = PICK(g, addresses);
	char text[RF_ADDRESS_TEXT], bare[RF_ADDRESS_TEXT + 2];

	bool is_name = rf_generator_pick(g, 2);

	/* A name leads to a public address more often than not, or few would be let pass. */
	rf_address_parse(is_name && rf_generator_pick(g, 3) ? addresses[0] : address, &q->resolved);
	if (rf_generator_pick(g, 4) == 0) /* a neighbour: one bit is another */
		q->resolved.octets[15 - rf_generator_pick(g, 4)] ^=
			(uint8_t)(1 << rf_generator_pick(g, 8));
	rf_address_format(&q->resolved, text);
	snprintf(bare, sizeof(bare), rf_address_is_v4(&q->resolved) ? "%s" : "[%s]", text);
	RF_REQUIRE(!rf_host_parse(rf_span_of(is_name ? PICK(g, hosts) : bare), &q->host), "%s",
		   bare);
	q->port = PICK(g, asked_ports);
	q->method = PICK(g, asked_methods);
	q->path = PICK(g, asked_paths);
	q->is_own = rf_generator_pick(g, 8) == 0;
}
