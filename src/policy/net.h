/*
 * The network of a box, as a policy allows it: rules compiled for the one who asks on every request.
 *
 * Pure and immutable once made: a question makes no system call and no allocation, so that each answer is a value that a
 * test can hold.  The launcher asks it for `explain` and `why`, the gateway for every connection and request; both ask the
 * same thing.  What is allowed must be named, and what is denied is denied whatever else allows it:
 *
 *   rule  = [ METHOD,METHOD... SPACE ] host [ :ports ] [ /path ]
 *         | TCP SPACE host :ports                     what is neither HTTP nor TLS as well
 *         | address [ /bits ] [ :ports ]              with brackets around an IPv6 address that has ports
 *   host  = name | *.name (below it) | **.name (it, and below it) | * (every name)
 *   ports = 443 | 80,443 | 8000-8010 | *              none: 80 and 443 are allowed, all are denied
 *   path  = segments, with * for anything within one and ** for any number of them
 *
 * A name never matches an address, nor an address a name: who connects to a bare address needs a rule with addresses.
 * A rule without methods is about all of them, one without a path about every path.  A ** at the end is
 * whatever follows its slash: what lies beneath a folder, and not the folder's own name.
 *
 * A rule for names allows HTTP, which the gateway reads, and TLS.  Any other bytes are a pipe that nobody judges: the program
 * at its end could speak HTTP there that no rule was asked about.  They pass only where a rule says TCP, has addresses, or
 * is about a port on which a service that is not HTTP is at home (rf_net_rule_has_raw()).
 */
#ifndef RF_POLICY_NET_H
#define RF_POLICY_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "http/host.h"
#include "http/url-path.h"
#include "policy/limit.h"
#include "policy/policy.h"

struct rf_address; /* http/address.h */

/* What becomes of what no rule allows.  What a rule denies is refused in every mode. */
enum rf_net_mode {
	RF_NET_ENFORCE, /* it is refused */
	RF_NET_REPORT,  /* it passes, and is told as what would have been refused */
	RF_NET_OPEN,    /* it passes; and no credential is ever added */
};

/* What becomes of requests that do more than read. */
enum rf_net_writes {
	RF_NET_WRITES_PASS,
	RF_NET_WRITES_HOLD, /* they wait until somebody has approved them; without such a one they are refused */
};

enum rf_net_who {
	RF_NET_NAME,  /* exactly this name */
	RF_NET_BELOW, /* names below it */
	RF_NET_TREE,  /* it, and names below it */
	RF_NET_CIDR,  /* addresses */
	RF_NET_ANY,   /* every name */
};

#define RF_NET_PORTS     8   /* ranges of ports in one rule */
#define RF_NET_RULE_TEXT 768 /* bytes of a rule as text, with its NUL */
#define RF_NET_PATH      384 /* bytes of its path, with its NUL */

struct rf_net_ports {
	uint16_t first, last;
};

struct rf_net_rule {
	const char *text; /* its one form, as a policy would have it: for records and remedies */
	bool is_deny;
	enum rf_net_who who;
	const char *host;                        /* canonical, without stars; NULL: CIDR or ANY */
	uint8_t address[16];                     /* of CIDR; IPv4 as ::ffff:a.b.c.d */
	uint8_t bits;                            /* of these 128 */
	struct rf_net_ports ports[RF_NET_PORTS]; /* in order, apart from each other */
	uint8_t port_count;
	uint32_t methods; /* RF_NET_METHOD bits; 0: all */
	bool is_tcp; /* allows other bytes than HTTP and TLS, too; then without methods and path */
	const char *path; /* a pattern in the form of http/url-path.h, or NULL: every path */
};

/* Where the value of a credential comes from. */
enum rf_net_from {
	RF_NET_FROM_ENV,     /* a variable of the caller */
	RF_NET_FROM_FILE,    /* a file of the host, by its absolute path */
	RF_NET_FROM_COMMAND, /* what a program of the host prints */
	RF_NET_FROM_STDIN,   /* the caller's standard input, one line for each such credential */
};

/* How it is added to a request. */
enum rf_net_how {
	RF_NET_HEADER,      /* `field` is the header's name, `format` its value with {} in it */
	RF_NET_BASIC,       /* `format` is what is coded: user:{}, or {}: */
	RF_NET_QUERY,       /* `field` is the parameter's name; one that is there is replaced */
	RF_NET_BODY,        /* where the placeholder stands in a request's body */
	RF_NET_CERTIFICATE, /* shown to the server: the value is its PEM, the key's and those between */
	RF_NET_SIGV4, /* AWS; `field` is the region, `format` the service; the value is ID:SECRET[:TOKEN] */
};

struct rf_net_credential {
	const char *name;
	enum rf_net_from from;
	const char *source; /* the variable, the path, the command; "" for standard input */
	enum rf_net_how how;
	const char *field, *format;      /* see `how`; or NULL */
	const char *variable;            /* that holds the placeholder inside, or NULL */
	const struct rf_net_rule *rules; /* what it is bound to: it is sent nowhere else */
	size_t rule_count;
	uint64_t budget;    /* requests that may use it, or RF_LIMIT_NONE */
	uint64_t budget_ms; /* in this time */
	uint64_t cost;      /* of each of them, in millionths; or 0 */
	uint64_t money;     /* that they may come to, or RF_LIMIT_NONE */
	uint64_t money_ms;  /* in this time: an hour or a day */
};

/* A name that leads to an address of the operator's choice, as curl's --resolve has it. */
struct rf_net_alias {
	const char *name;
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;       /* that is dialled instead of the one asked for; 0: that one */
};

/* A port of the host that leads to one inside. */
struct rf_net_publish {
	uint8_t address[16]; /* of the host; IPv4 as ::ffff:a.b.c.d */
	uint16_t port, inside;
};

/* Figures; each is RF_LIMIT_NONE where there is no limit.  Their rows are in rf_net_limit_table. */
enum rf_net_limit {
	RF_NET_CONNECTIONS,    /* at one time, from dial to close */
	RF_NET_PENDING,        /* waiting for one of these */
	RF_NET_RATE,           /* requests; rf_limit_rate_*() take it apart */
	RF_NET_BANDWIDTH,      /* bytes a second, each way */
	RF_NET_BANDWIDTH_UP,   /* out of the box; never more than the above */
	RF_NET_BANDWIDTH_DOWN, /* into it; never more than the above */
	RF_NET_REQUEST_SIZE,   /* bytes of one request's body */
	RF_NET_RESPONSE_SIZE,  /* bytes of one response's body */
	RF_NET_CONNECT_TIME,   /* ms until upstream has accepted */
	RF_NET_IDLE_TIME,      /* ms without a byte either way */
	RF_NET_TOTAL_TIME,     /* ms of one connection */
	RF_NET_APPROVAL_TIME,  /* ms that a write waits to be approved */
	RF_NET_LIMIT_COUNT
};

extern const struct rf_limit_info rf_net_limit_table[RF_NET_LIMIT_COUNT];

struct rf_net_index;

struct rf_net {
	enum rf_link link;
	enum rf_net_mode mode;
	const struct rf_net_rule *rules; /* allow, then deny */
	size_t rule_count;
	const struct rf_net_alias *aliases;
	size_t alias_count;
	const struct rf_net_credential *credentials;
	size_t credential_count;
	const struct rf_net_publish *publish;
	size_t publish_count;
	uint64_t limits[RF_NET_LIMIT_COUNT];
	bool needs_tls;       /* some host must be looked into: a CA is needed */
	bool filters_answers; /* tokens are masked in them: every host is looked into */
	const char *const
		*masks; /* what matches these is masked as well, and every host looked into */
	size_t mask_count;
	const char *const *roots; /* files of certificates that are trusted besides the system's */
	size_t root_count;
	bool holds_writes; /* network.writes: every request is seen */
	bool looks_everywhere; /* as above, or whoever has it wants to see every request; then set by that one */
	const struct rf_net_index *index;
	void *memory; /* owns all of the above */
};

struct rf_net_verdict {
	bool is_allowed;
	bool is_reported;               /* allowed only because the mode is not `enforce` */
	const struct rf_net_rule *rule; /* that decided, or NULL: the default */
	const char *reason;             /* a word or two, for people */
};

/* Compiles what `policy` (borrows) says of the network.  Gives `*ret_net`. */
int rf_net_make(const struct rf_policy *policy, struct rf_net **ret_net, struct rf_err *err);
void rf_net_free(struct rf_net *net);

/*
 * Whether anything at all may be sent to a host.  A port of 0 asks for any port, as a resolver does.  An address is a
 * connection to a bare address.
 */
struct rf_net_verdict rf_net_judge_host(const struct rf_net *net, const struct rf_host *host,
					uint16_t port);

/*
 * What rules with addresses say of one, as a name was resolved to: `rule` denies it, or has it, or is NULL, and the
 * allowance of the name decides.
 */
struct rf_net_verdict rf_net_judge_address(const struct rf_net *net, const uint8_t address[16],
					   uint16_t port);

/*
 * The last question before an address is dialled, whatever allowed the host: a rule denies it; or it is public, or a rule
 * names it (http/address.h), or `network.hosts` leads there (`is_alias`).  `is_own`: it is an address of this machine's
 * interfaces; if that is a public one, only `network.hosts` leads there.  No rule does: the rules of a ceiling and a request
 * meet where nobody knows the machine's addresses, and what is left may be the request's word alone.
 */
struct rf_net_verdict rf_net_judge_dial(const struct rf_net *net, const struct rf_address *address,
					uint16_t port, bool is_alias, bool is_own);

/*
 * One request.  `path` is in the form of http/url-path.h; what servers read in different ways is allowed by no rule with a
 * path, and denied by every one.
 */
struct rf_net_verdict rf_net_judge_request(const struct rf_net *net, const struct rf_host *host,
					   uint16_t port, struct rf_span method,
					   const struct rf_url_path *path);

/*
 * Bytes that are neither HTTP nor TLS, to a host and port.  Asks rules alone: where requests must be read
 * (rf_net_looks_inside()), such bytes can't pass whatever this says.
 */
struct rf_net_verdict rf_net_judge_raw(const struct rf_net *net, const struct rf_host *host,
				       uint16_t port);

/* True if requests to it must be read, and TLS ended for that: a rule has methods or a path, or a credential is bound to it. */
bool rf_net_looks_inside(const struct rf_net *net, const struct rf_host *host, uint16_t port);

/*
 * True if a request may carry a credential: it is bound to it, and the request passed by a rule of its own (borrows the
 * verdict).
 */
bool rf_net_is_bound(const struct rf_net *net, const struct rf_net_credential *credential,
		     const struct rf_net_verdict *verdict, const struct rf_host *host,
		     uint16_t port, struct rf_span method, const struct rf_url_path *path);

/* Where a name leads by `network.hosts`, or NULL. */
const struct rf_net_alias *rf_net_alias_of(const struct rf_net *net, const struct rf_host *host);

/* --- Rules by themselves (net-rule.c) --- */

/* The room that one rule's texts are kept in. */
struct rf_net_rule_room {
	char text[RF_NET_RULE_TEXT], host[RF_HOST_TEXT + 1], path[RF_NET_PATH];
};

/*
 * Reads a rule; its texts are in `room`.  On failure `err` says what was wrong and what would be right.
 */
int rf_net_rule_parse(const char *text, bool is_deny, struct rf_net_rule_room *room,
		      struct rf_net_rule *ret_rule, struct rf_err *err);

/*
 * Takes the next rule of several with commas between, as a flag has them: commas between methods and between ports
 * belong to their rule.  Gives false at the end.
 */
bool rf_net_rule_next(const char **text, struct rf_span *ret_rule);

/* The one form of a rule as text.  Returns 0, or -ENAMETOOLONG. */
int rf_net_rule_format(const struct rf_net_rule *rule, char text[RF_NET_RULE_TEXT]);

/*
 * A ceiling's rules, read once, for the many rules of a request: the front asks for each of these,
 * and who sends thousands must not keep it from others.  What the ceiling denies and `request`
 * denies as well is the request's own doing, and left out.  Borrows both for the call.
 */
struct rf_net_ceiling;
int rf_net_ceiling_new(const struct rf_policy *ceiling, const struct rf_policy *request,
		       struct rf_net_ceiling **ret_ceiling, struct rf_err *err);
void rf_net_ceiling_free(struct rf_net_ceiling *ceiling);

/*
 * Whether the ceiling grants all that a rule of a request's `network.allow` asks for, by one of its
 * rules or by several together.  If not, `bound` says which of them bounds it, as a policy would
 * have it: `network.link: none`, `network.deny: x`, `network.allow: x`, `network.mode: open`; or
 * `network.allow` where none of its rules touches it.  A part that the ceiling denies does not
 * count, only the whole.  Fails for a rule that is none.
 */
#define RF_NET_BOUND (RF_NET_RULE_TEXT + 32)
int rf_net_ceiling_covers(const struct rf_net_ceiling *ceiling, const char *text, bool *ret_covers,
			  char bound[RF_NET_BOUND], struct rf_err *err);

/* The bit of a method, or 0 for one that no rule can name. */
uint32_t rf_net_method_bit(struct rf_span method);
const char *rf_net_method_name(unsigned bit); /* by number, or NULL */

/* What a rule says, part by part; all of them together are what it matches. */
bool rf_net_rule_has_host(const struct rf_net_rule *rule, const struct rf_host *host);
bool rf_net_rule_has_address(const struct rf_net_rule *rule, const uint8_t address[16]);
bool rf_net_rule_has_port(const struct rf_net_rule *rule, uint16_t port);
bool rf_net_rule_has_method(const struct rf_net_rule *rule, uint32_t bit);
/* Of a rule that allows: whether bytes that are neither HTTP nor TLS may pass to this port, which it has. */
bool rf_net_rule_has_raw(const struct rf_net_rule *rule, uint16_t port);
/* True for a port at which a service that is not HTTP is at home: a rule for it means TCP. */
bool rf_net_port_is_raw(uint16_t port);
bool rf_net_path_match(const char *pattern, struct rf_span path);

/* The address of a host that is one, IPv4 as ::ffff:a.b.c.d.  False for a name. */
bool rf_net_address_of(const struct rf_host *host, uint8_t ret_address[16]);

#endif
