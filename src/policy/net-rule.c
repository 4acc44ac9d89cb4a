/*
 * One rule about the network: read from text into its one form, and matched part by part.
 *
 * A rule is read once, strictly, by the readers of src/http, so what it names and what a request names meet in the same
 * form.  Reading gives the form back as text, too: it is what a policy keeps, prints and compares.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/octet.h"
#include "policy/near.h"
#include "policy/net.h"

/* The methods that a rule can name; their place is their bit.  HTTP, WebDAV, and what registries have besides. */
static const char *const methods[] = {
	"GET",      "HEAD",       "POST",   "PUT",       "PATCH",  "DELETE",     "OPTIONS",
	"TRACE",    "CONNECT",    "QUERY",  "COPY",      "LOCK",   "MKCOL",      "MOVE",
	"PROPFIND", "PROPPATCH",  "UNLOCK", "REPORT",    "SEARCH", "MKACTIVITY", "CHECKOUT",
	"MERGE",    "MKCALENDAR", "ACL",    "PURGE",     "LINK",   "UNLINK",     "BIND",
	"UNBIND",   "REBIND",     "NOTIFY", "SUBSCRIBE",
};

/*
 * Ports of services that speak neither HTTP nor, from the first byte on, TLS; and of those that are the same service over
 * TLS.  None is one at which web servers are found: a rule for such a port lets bytes pass that nobody reads.
 * docs/network.md has the table, too.
 */
/* clang-format off */
static const uint16_t raw_ports[] = {
	21,                  /* FTP */
	22,                  /* SSH */
	23,                  /* telnet */
	25,    465,   587,   /* SMTP */
	43,                  /* whois */
	110,   995,          /* POP3 */
	119,   563,          /* NNTP */
	143,   993,          /* IMAP */
	389,   636,          /* LDAP */
	873,                 /* rsync */
	1433,                /* SQL Server */
	1521,                /* Oracle */
	1883,  8883,         /* MQTT */
	3306,                /* MySQL */
	3690,                /* Subversion */
	4222,                /* NATS */
	5222,                /* XMPP */
	5432,                /* PostgreSQL */
	5671,  5672,         /* AMQP */
	6379,                /* Redis */
	6667,  6697,         /* IRC */
	9042,                /* Cassandra */
	9092,                /* Kafka */
	9418,                /* git */
	11211,               /* memcached */
	27017, 27018, 27019, /* MongoDB */
};
/* clang-format on */

static const struct rf_span tcp = RF_SPAN_INIT("TCP");

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

uint32_t rf_net_method_bit(struct rf_span method)
{
	for (size_t i = 0; i < RF_LEN(methods); i++)
		if (methods[i][0] == (method.len ? method.at[0] : '\0') &&
		    rf_span_is(method, rf_span_of(methods[i])))
			return 1U << i;
	return 0;
}

const char *rf_net_method_name(unsigned bit)
{
	return bit < RF_LEN(methods) ? methods[bit] : NULL;
}

/* --- Reading --- */

static int fail_method(struct rf_span name, struct rf_err *err)
{
	struct rf_near best;
	char text[32], upper[32];
	size_t len = name.len < sizeof(text) - 1 ? name.len : sizeof(text) - 1;

	for (size_t i = 0; i < len; i++) {
		text[i] = name.at[i];
		upper[i] = name.at[i] >= 'a' && name.at[i] <= 'z' ? (char)(name.at[i] - 32)
								  : name.at[i];
	}
	text[len] = upper[len] = '\0';
	best = rf_near_init(upper);
	for (size_t i = 0; i < RF_LEN(methods); i++)
		rf_near_consider(&best, upper, methods[i], methods[i]);
	rf_fail_say(err, -EINVAL, "\"%s\" is not a method that a rule can name", text);
	if (best.name)
		return rf_fail_hint(err, "did you mean \"%s\"?", best.name);
	return rf_fail_hint(err, "write methods in capitals with commas between, as in \"GET,POST "
				 "api.example\"");
}

bool rf_net_port_is_raw(uint16_t port)
{
	for (size_t i = 0; i < RF_LEN(raw_ports); i++)
		if (raw_ports[i] == port)
			return true;
	return false;
}

/* True if a rule for these ports means TCP without saying so. */
static bool are_raw(const struct rf_net_rule *rule)
{
	for (uint8_t i = 0; i < rule->port_count; i++)
		for (uint32_t port = rule->ports[i].first; port <= rule->ports[i].last; port++)
			if (!rf_net_port_is_raw((uint16_t)port))
				return false;
	return true;
}

static int fail_tcp(const char *text, const char *what, const char *remedy, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "\"%.60s\": %s", text, what);
	return rf_fail_hint(err, "%s", remedy);
}

/* What TCP in the methods' place can't stand with.  `has_ports`: they are written there. */
static int check_tcp(const struct rf_net_rule *rule, bool has_ports, struct rf_err *err)
{
	if (rule->is_deny)
		return fail_tcp(rule->text, "a denial of TCP",
				"write it without TCP: what is denied is denied as a whole", err);
	if (rule->who == RF_NET_CIDR)
		return fail_tcp(rule->text, "TCP of an address",
				"write it without TCP: a rule for addresses allows all of it", err);
	if (rule->path)
		return fail_tcp(
			rule->text, "TCP with a path",
			"paths are HTTP's: write \"TCP host:port\", or the path without TCP", err);
	if (!has_ports)
		return fail_tcp(rule->text, "TCP without a port",
				"write \"TCP db.example:5433\", or :* for all ports", err);
	return 0;
}

/* "GET,POST", all of it. */
static int read_methods(struct rf_span text, struct rf_net_rule *rule, struct rf_err *err)
{
	for (;;) {
		size_t comma = rf_span_find(text, ',');
		struct rf_span name = rf_span_part(text, 0, comma);
		uint32_t bit = rf_net_method_bit(name);

		if (rf_span_is(name, tcp))
			return fail_tcp(rule->text, "TCP beside methods",
					"write one rule with methods and another with TCP", err);
		if (!bit)
			return fail_method(name, err);
		rule->methods |= bit;
		if (comma == text.len)
			return 0;
		text = rf_span_part(text, comma + 1, text.len);
	}
}

static int fail_ports(struct rf_span text, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "\"%.*s\" is not a list of ports",
		    (int)(text.len < 40 ? text.len : 40), text.at);
	return rf_fail_hint(err,
			    "write :443, :80,443, :8000-8010, or :* for all; at most %d of them",
			    RF_NET_PORTS);
}

static int by_first(const void *a, const void *b)
{
	const struct rf_net_ports *x = a, *y = b;

	return (int)x->first - (int)y->first;
}

/* Puts them in order, and what touches together. */
static void settle_ports(struct rf_net_rule *rule)
{
	uint8_t kept = 0;

	qsort(rule->ports, rule->port_count, sizeof(rule->ports[0]), by_first);
	for (uint8_t i = 1; i < rule->port_count; i++) {
		struct rf_net_ports *last = &rule->ports[kept], *next = &rule->ports[i];

		if ((uint32_t)next->first <= (uint32_t)last->last + 1)
			last->last = next->last > last->last ? next->last : last->last;
		else
			rule->ports[++kept] = *next;
	}
	rule->port_count = (uint8_t)(kept + 1);
}

static int read_range(struct rf_span text, struct rf_net_ports *ports)
{
	size_t dash = rf_span_find(text, '-');
	unsigned long long first, last;

	if (rf_span_number(rf_span_part(text, 0, dash), UINT16_MAX, &first) < 0)
		return -EINVAL;
	last = first;
	if (dash < text.len &&
	    rf_span_number(rf_span_part(text, dash + 1, text.len), UINT16_MAX, &last) < 0)
		return -EINVAL;
	if (first == 0 || last < first)
		return -EINVAL;
	*ports = (struct rf_net_ports){ (uint16_t)first, (uint16_t)last };
	return 0;
}

/* What stands behind the colon; without one there are the two that everybody means, or to be denied all. */
static int read_ports(struct rf_span text, bool is_there, struct rf_net_rule *rule,
		      struct rf_err *err)
{
	struct rf_span rest = text;

	if (!is_there && !rule->is_deny) {
		rule->ports[0] = (struct rf_net_ports){ 80, 80 };
		rule->ports[1] = (struct rf_net_ports){ 443, 443 };
		rule->port_count = 2;
		return 0;
	}
	if (!is_there || rf_span_is(text, RF_SPAN("*"))) {
		rule->ports[0] = (struct rf_net_ports){ 1, UINT16_MAX };
		rule->port_count = 1;
		return 0;
	}
	for (;;) {
		size_t comma = rf_span_find(rest, ',');

		if (rule->port_count == RF_NET_PORTS ||
		    read_range(rf_span_part(rest, 0, comma), &rule->ports[rule->port_count]) < 0)
			return fail_ports(text, err);
		rule->port_count++;
		if (comma == rest.len)
			break;
		rest = rf_span_part(rest, comma + 1, rest.len);
	}
	settle_ports(rule);
	return 0;
}

static int fail_host(struct rf_span text, enum rf_fault fault, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "\"%.*s\": %s", (int)(text.len < 60 ? text.len : 60), text.at,
		    rf_fault_words(fault));
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.at[i] >= 0x80)
			return rf_fail_hint(err,
					    "write names of other scripts as their xn-- labels");
	if (rf_span_find(text, '*') < text.len)
		return rf_fail_hint(err, "a star can only stand for whole names in front: "
					 "*.example.org, **.example.org, or * alone");
	if (rf_span_find(text, '/') < text.len)
		return rf_fail_hint(err,
				    "write the host alone: no scheme, and a path only behind it");
	return rf_fail_hint(err, "write a name such as api.example.org, or an address such as "
				 "10.0.0.0/8");
}

static int read_name(struct rf_span text, struct rf_net_rule_room *room, struct rf_net_rule *rule,
		     struct rf_err *err)
{
	struct rf_span name = text;
	struct rf_host host;
	enum rf_fault fault;

	if (rf_span_is(text, RF_SPAN("*"))) {
		rule->who = RF_NET_ANY;
		return 0;
	}
	rule->who = RF_NET_NAME;
	if (rf_span_is(rf_span_part(text, 0, 3), RF_SPAN("**."))) {
		rule->who = RF_NET_TREE;
		name = rf_span_part(text, 3, text.len);
	} else if (rf_span_is(rf_span_part(text, 0, 2), RF_SPAN("*."))) {
		rule->who = RF_NET_BELOW;
		name = rf_span_part(text, 2, text.len);
	}
	fault = rf_host_parse(name, &host);
	if (!fault && host.kind != RF_HOST_NAME)
		fault = RF_FAULT_HOST_NUMBER;
	if (fault)
		return fail_host(text, fault, err);
	memcpy(room->host, host.text, (size_t)host.len + 1);
	rule->host = room->host;
	return 0;
}

static void mask_off(uint8_t address[16], unsigned bits)
{
	for (unsigned i = 0; i < 16; i++) {
		if (i * 8 >= bits)
			address[i] = 0;
		else if (bits - i * 8 < 8)
			address[i] &= (uint8_t)(0xff << (8 - (bits - i * 8)));
	}
}

static bool is_mapped(const uint8_t address[16])
{
	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* An address as text, IPv4 in its own way. */
static void put_address(const uint8_t address[16], char text[INET6_ADDRSTRLEN])
{
	bool is_v4 = is_mapped(address);

	inet_ntop(is_v4 ? AF_INET : AF_INET6, address + (is_v4 ? 12 : 0), text, INET6_ADDRSTRLEN);
}

/*
 * An address with or without its bits.  `text` has no brackets.  Returns 1 if it is one, 0 if it is something else, or
 * fails.
 */
static int read_address(struct rf_span text, struct rf_net_rule *rule, struct rf_err *err)
{
	size_t slash = rf_span_find(text, '/');
	struct rf_span name = rf_span_part(text, 0, slash);
	unsigned long long bits;
	char bracketed[INET6_ADDRSTRLEN + 2], right[INET6_ADDRSTRLEN];
	uint8_t whole[16];
	struct rf_host host;
	enum rf_fault fault;

	if (rf_span_find(name, ':') < name.len) {
		int len = snprintf(bracketed, sizeof(bracketed), "[%.*s]", RF_SPAN_ARG(name));

		if (len < 0 || (size_t)len >= sizeof(bracketed))
			return fail_host(text, RF_FAULT_HOST_IPV6, err);
		fault = rf_host_parse((struct rf_span){ bracketed, (size_t)len }, &host);
	} else {
		fault = rf_host_parse(name, &host);
		if (fault && fault != RF_FAULT_HOST_NUMBER)
			return 0;
	}
	if (fault)
		return fail_host(text, fault, err);
	if (!rf_net_address_of(&host, rule->address))
		return 0;
	rule->who = RF_NET_CIDR;
	rule->bits = 128;
	if (slash < text.len) {
		unsigned most = host.kind == RF_HOST_IPV4 ? 32 : 128;

		if (rf_span_number(rf_span_part(text, slash + 1, text.len), most, &bits) < 0) {
			rf_fail_say(err, -EINVAL, "\"%.60s\": a path behind an address",
				    rule->text);
			return rf_fail_hint(err,
					    "write bits up to %u, or give the address a name in "
					    "network.hosts and write rules for that",
					    most);
		}
		rule->bits = (uint8_t)(bits + (128 - most));
	}
	memcpy(whole, rule->address, sizeof(whole));
	mask_off(rule->address, rule->bits);
	if (memcmp(whole, rule->address, sizeof(whole)) != 0) {
		put_address(rule->address, right);
		rf_fail_say(err, -EINVAL, "\"%.60s\" names an address, not a range", rule->text);
		return rf_fail_hint(err, "write %s/%u, or the address alone", right,
				    is_mapped(rule->address) ? rule->bits - 96U : rule->bits);
	}
	return 1;
}

/* The pattern in the form that requests are compared in. */
static int read_path(struct rf_span text, struct rf_net_rule_room *room, struct rf_net_rule *rule,
		     struct rf_err *err)
{
	char form[RF_URL_PATH_ROOM(RF_NET_RULE_TEXT)];
	struct rf_url_path path;
	enum rf_fault fault;

	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] == '?' || text.at[i] == '#') {
			rf_fail_say(err, -EINVAL, "\"%.60s\": a rule ends with the path",
				    rule->text);
			return rf_fail_hint(err, "write it without %c and what follows",
					    text.at[i]);
		}
		if (text.at[i] == '%' && text.len - i >= 3 && text.at[i + 1] == '2' &&
		    rf_octet_lower(text.at[i + 2]) == 'a')
			return rf_fail_say(err, -EINVAL,
					   "\"%.60s\": %%2A can't be told from a star", rule->text);
	}
	if (text.len > RF_NET_RULE_TEXT)
		return rf_fail_say(err, -EINVAL, "a path that is too long for a rule");
	fault = rf_url_path_read(text, form, sizeof(form), &path);
	if (fault || path.odd || path.text.len >= sizeof(room->path)) {
		rf_fail_say(err, -EINVAL, "\"%.60s\": %s", rule->text,
			    fault      ? rf_fault_words(fault)
			    : path.odd ? "a path that servers read in different ways"
				       : "a path that is too long for a rule");
		return rf_fail_hint(err, "write it without dots, empty parts, coded slashes and "
					 "percent signs, and parameters (;)");
	}
	for (size_t i = 0; i + 1 < path.text.len; i++)
		if (path.text.at[i] == '*' && path.text.at[i + 1] == '*' &&
		    ((i > 0 && path.text.at[i - 1] != '/') ||
		     (i + 2 < path.text.len && path.text.at[i + 2] != '/'))) {
			rf_fail_say(err, -EINVAL, "\"%.60s\": ** must be a part of its own",
				    rule->text);
			return rf_fail_hint(err, "write * within a part, and /**/ or /** for any "
						 "number of parts");
		}
	if (rf_span_is(path.text, RF_SPAN("/**")))
		return 0; /* every path */
	memcpy(room->path, path.text.at, path.text.len);
	room->path[path.text.len] = '\0';
	rule->path = room->path;
	return 0;
}

/* --- Writing --- */

static bool are_all(const struct rf_net_rule *rule)
{
	return rule->port_count == 1 && rule->ports[0].first == 1 &&
	       rule->ports[0].last == UINT16_MAX;
}

static bool are_usual(const struct rf_net_rule *rule)
{
	if (rule->is_tcp) /* which has no usual ones */
		return false;
	if (rule->is_deny)
		return are_all(rule);
	return rule->port_count == 2 && rule->ports[0].first == 80 && rule->ports[0].last == 80 &&
	       rule->ports[1].first == 443 && rule->ports[1].last == 443;
}

struct writer {
	char *text;
	size_t len, size;
};

static void put(struct writer *out, const char *text)
{
	size_t len = strlen(text);

	if (out->len + len < out->size)
		memcpy(out->text + out->len, text, len + 1);
	out->len += len;
}

static void put_ports(struct writer *out, const struct rf_net_rule *rule)
{
	char number[24];

	if (are_usual(rule))
		return;
	if (are_all(rule)) {
		put(out, ":*");
		return;
	}
	for (uint8_t i = 0; i < rule->port_count; i++) {
		const struct rf_net_ports *ports = &rule->ports[i];

		if (ports->first == ports->last)
			snprintf(number, sizeof(number), "%u", ports->first);
		else
			snprintf(number, sizeof(number), "%u-%u", ports->first, ports->last);
		put(out, i ? "," : ":");
		put(out, number);
	}
}

static void put_range(struct writer *out, const struct rf_net_rule *rule)
{
	bool is_v4 = is_mapped(rule->address) && rule->bits >= 96;
	bool has_brackets = !is_v4 && !are_usual(rule);
	char address[INET6_ADDRSTRLEN], bits[8];

	put_address(rule->address, address);
	snprintf(bits, sizeof(bits), "/%u", is_v4 ? rule->bits - 96U : rule->bits);
	put(out, has_brackets ? "[" : "");
	put(out, address);
	put(out, rule->bits < 128 ? bits : "");
	put(out, has_brackets ? "]" : "");
}

int rf_net_rule_format(const struct rf_net_rule *rule, char text[RF_NET_RULE_TEXT])
{
	static const char *const stars[] = {
		[RF_NET_NAME] = "",
		[RF_NET_BELOW] = "*.",
		[RF_NET_TREE] = "**.",
		[RF_NET_ANY] = "*",
	};
	struct writer out = { text, 0, RF_NET_RULE_TEXT };
	bool is_first = true;

	for (unsigned i = 0; i < RF_LEN(methods); i++) {
		if (!(rule->methods & 1U << i))
			continue;
		put(&out, is_first ? "" : ",");
		put(&out, methods[i]);
		is_first = false;
	}
	put(&out, rule->methods ? " " : rule->is_tcp && !are_raw(rule) ? "TCP " : "");
	if (rule->who == RF_NET_CIDR) {
		put_range(&out, rule);
	} else {
		put(&out, stars[rule->who]);
		put(&out, rule->host ? rule->host : "");
	}
	put_ports(&out, rule);
	put(&out, rule->path ? rule->path : "");
	return out.len < out.size ? 0 : -ENAMETOOLONG;
}

/* --- The whole --- */

/* Divides "host:ports/path", of which an address may have colons and a slash itself. */
static int read_rest(struct rf_span text, struct rf_net_rule_room *room, struct rf_net_rule *rule,
		     struct rf_err *err)
{
	struct rf_span host, rest;
	size_t slash, colon;
	int r;

	if (text.len && text.at[0] == '[') {
		size_t end = rf_span_find(text, ']');

		if (end == text.len)
			return fail_host(text, RF_FAULT_HOST_IPV6, err);
		host = rf_span_part(text, 1, end - 1);
		if (rf_span_find(host, ':') == host.len)
			return fail_host(text, RF_FAULT_HOST_IPV6, err);
		rest = rf_span_part(text, end + 1, text.len);
		/* The bits may stand behind the brackets, too. */
		if (rf_span_find(host, '/') == host.len && rest.len && rest.at[0] == '/') {
			char whole[INET6_ADDRSTRLEN + 8];
			struct rf_span bits = rf_span_part(rest, 0, rf_span_find(rest, ':'));
			int len = snprintf(whole, sizeof(whole), "%.*s%.*s", RF_SPAN_ARG(host),
					   RF_SPAN_ARG(bits));

			if (len < 0 || (size_t)len >= sizeof(whole))
				return fail_host(text, RF_FAULT_HOST_IPV6, err);
			r = read_address((struct rf_span){ whole, (size_t)len }, rule, err);
			rest = rf_span_part(rest, bits.len, rest.len);
		} else {
			r = read_address(host, rule, err);
		}
		if (r == 0 || (r > 0 && rest.len && rest.at[0] != ':'))
			r = fail_host(text, RF_FAULT_HOST_IPV6, err);
		return r < 0 ? r
			     : read_ports(rf_span_part(rest, 1, rest.len), rest.len > 0, rule, err);
	}
	slash = rf_span_find(text, '/');
	colon = rf_span_find(text, ':');
	/* Two colons before any slash: an IPv6 address without brackets, and so without ports. */
	if (colon < slash && rf_span_find(rf_span_part(text, colon + 1, slash - colon - 1), ':') <
				     slash - colon - 1) {
		r = read_address(text, rule, err);
		if (r == 0)
			r = fail_host(text, RF_FAULT_HOST_IPV6, err);
		return r < 0 ? r : read_ports((struct rf_span){ "", 0 }, false, rule, err);
	}
	/* 10.0.0.0/8:443: there the colon is behind the slash. */
	r = read_address(rf_span_part(text, 0, colon), rule, err);
	if (r != 0) {
		rest = rf_span_part(text, colon, text.len);
		return r < 0 ? r
			     : read_ports(rf_span_part(rest, 1, rest.len), rest.len > 0, rule, err);
	}
	host = rf_span_part(text, 0, slash < colon ? slash : colon);
	if (read_name(host, room, rule, err) < 0)
		return err->code;
	rest = colon < slash ? rf_span_part(text, colon + 1, slash - colon - 1)
			     : (struct rf_span){ "", 0 };
	if (read_ports(rest, colon < slash, rule, err) < 0)
		return err->code;
	return slash < text.len ? read_path(rf_span_part(text, slash, text.len), room, rule, err)
				: 0;
}

int rf_net_rule_parse(const char *text, bool is_deny, struct rf_net_rule_room *room,
		      struct rf_net_rule *ret_rule, struct rf_err *err)
{
	struct rf_net_rule rule = { .text = text, .is_deny = is_deny };
	struct rf_span rest = rf_span_of(text);
	size_t space = rf_span_find(rest, ' ');

	if (rest.len == 0)
		return rf_fail_say(err, -EINVAL, "a rule that is empty");
	if (rest.len >= RF_NET_RULE_TEXT)
		return rf_fail_say(err, -EINVAL, "a rule longer than %d bytes",
				   RF_NET_RULE_TEXT - 1);
	if (strstr(text, "://")) {
		rf_fail_say(err, -EINVAL, "\"%.60s\" is a URL, not a rule", text);
		return rf_fail_hint(err, "write the host and what follows, without %.*s",
				    (int)(strstr(text, "://") - text) + 3, text);
	}
	rule.is_tcp = space < rest.len && rf_span_is(rf_span_part(rest, 0, space), tcp);
	if (space < rest.len) {
		if (!rule.is_tcp && read_methods(rf_span_part(rest, 0, space), &rule, err) < 0)
			return err->code;
		rest = rf_span_part(rest, space + 1, rest.len);
	}
	if (rf_net_method_bit(rest) || rf_span_is(rest, tcp)) {
		rf_fail_say(err, -EINVAL, "\"%.60s\": a method without a host", text);
		return rf_fail_hint(err,
				    "write \"%.20s api.example.org\"; or a host of that name in "
				    "small letters",
				    text);
	}
	if (read_rest(rest, room, &rule, err) < 0)
		return err->code;
	if (rule.who == RF_NET_CIDR && rule.methods) {
		rf_fail_say(err, -EINVAL, "\"%.60s\": methods of an address", text);
		return rf_fail_hint(err,
				    "give the address a name in network.hosts, and write rules "
				    "for that");
	}
	if (rule.is_tcp && check_tcp(&rule, rf_span_find(rest, ':') < rest.len, err) < 0)
		return err->code;
	if (rule.is_tcp && are_raw(&rule)) /* one form: what is meant anyway is not said */
		rule.is_tcp = false;
	if (rf_net_rule_format(&rule, room->text) < 0)
		return rf_fail_say(err, -EINVAL, "a rule longer than %d bytes",
				   RF_NET_RULE_TEXT - 1);
	rule.text = room->text;
	*ret_rule = rule;
	return 0;
}

/* --- Matching --- */

bool rf_net_address_of(const struct rf_host *host, uint8_t ret_address[16])
{
	if (host->kind == RF_HOST_NAME)
		return false;
	if (host->kind == RF_HOST_IPV4) {
		memcpy(ret_address, mapped, sizeof(mapped));
		memcpy(ret_address + sizeof(mapped), host->address, 4);
	} else {
		memcpy(ret_address, host->address, 16);
	}
	return true;
}

/* Rules of IPv6 are about IPv6, though all of IPv4 lies in its space. */
bool rf_net_rule_has_address(const struct rf_net_rule *rule, const uint8_t address[16])
{
	uint8_t masked[16];

	if (rule->who != RF_NET_CIDR || (is_mapped(address) && rule->bits < 96))
		return false;
	memcpy(masked, address, sizeof(masked));
	mask_off(masked, rule->bits);
	return memcmp(masked, rule->address, sizeof(masked)) == 0;
}

bool rf_net_rule_has_host(const struct rf_net_rule *rule, const struct rf_host *host)
{
	uint8_t address[16];
	size_t len;

	if (rf_net_address_of(host, address))
		return rf_net_rule_has_address(rule, address);
	if (rule->who == RF_NET_ANY)
		return true;
	if (rule->who == RF_NET_CIDR)
		return false;
	len = strlen(rule->host);
	if (host->len == len)
		return rule->who != RF_NET_BELOW && memcmp(host->text, rule->host, len) == 0;
	return rule->who != RF_NET_NAME && host->len > len &&
	       host->text[host->len - len - 1] == '.' &&
	       memcmp(host->text + host->len - len, rule->host, len) == 0;
}

bool rf_net_rule_has_port(const struct rf_net_rule *rule, uint16_t port)
{
	if (port == 0)
		return true;
	for (uint8_t i = 0; i < rule->port_count; i++)
		if (port >= rule->ports[i].first && port <= rule->ports[i].last)
			return true;
	return false;
}

bool rf_net_rule_has_method(const struct rf_net_rule *rule, uint32_t bit)
{
	return rule->methods == 0 || (rule->methods & bit);
}

bool rf_net_rule_has_raw(const struct rf_net_rule *rule, uint16_t port)
{
	if (rule->methods || rule->path)
		return false;
	return rule->who == RF_NET_CIDR || rule->is_tcp || rf_net_port_is_raw(port);
}

/*
 * Stars remember where they could take one more, the latest of each sort; a later one makes an earlier one of its own sort
 * needless, as for file patterns, so the work is at most the product of the two lengths.
 */
bool rf_net_path_match(const char *pattern, struct rf_span path)
{
	const char *p = pattern, *star = NULL, *tree = NULL;
	size_t at = 0, star_at = 0, tree_at = 0;

	for (;;) {
		if (p[0] == '/' && p[1] == '*' && p[2] == '*' && p[3] == '/' && at < path.len &&
		    path.at[at] == '/') {
			/* No part, or as many as it takes: p + 3 is tried at each slash. */
			tree = p + 3;
			tree_at = at;
			star = NULL;
			p = tree;
			continue;
		}
		if (p[0] == '/' && p[1] == '*' && p[2] == '*' && !p[3] && at < path.len &&
		    path.at[at] == '/')
			return true;
		if (p[0] == '*') {
			star = ++p;
			star_at = at;
			continue;
		}
		if (*p && at < path.len && *p == path.at[at]) {
			p++;
			at++;
			continue;
		}
		if (!*p && at == path.len)
			return true;
		if (star && star_at < path.len && path.at[star_at] != '/') {
			p = star;
			at = ++star_at;
			continue;
		}
		if (!tree)
			return false;
		do {
			tree_at++;
		} while (tree_at < path.len && path.at[tree_at] != '/');
		if (tree_at >= path.len)
			return false;
		p = tree;
		at = tree_at;
		star = NULL;
	}
}
