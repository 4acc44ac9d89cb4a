/*
 * The keys of a policy: one table that the reader, the flags, merge, meet, the writer and the
 * reference all go by.
 *
 * A policy is one value for each key and a bit that says whether it was set, so there is no second
 * place where a key could be forgotten.  Internal to src/policy.
 */
#ifndef RF_POLICY_KEY_H
#define RF_POLICY_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "policy/alarm.h"
#include "policy/list.h"
#include "policy/net.h"
#include "policy/policy.h"
#include "policy/quota.h"

enum rf_key {
	RF_KEY_VERSION,
	RF_KEY_EXTENDS,
	RF_KEY_ISOLATION,
	RF_KEY_WEAKER,
	RF_KEY_HOSTNAME,
	RF_KEY_WORKDIR,
	RF_KEY_AGENT,
	RF_KEY_SYSCALLS,
	RF_KEY_SECCOMP,
	RF_KEY_LIMIT, /* the first of RF_LIMIT_COUNT keys, in the order of enum rf_limit */
	RF_KEY_REQUIRE = RF_KEY_LIMIT + RF_LIMIT_COUNT,
	RF_KEY_READ,
	RF_KEY_WRITE,
	RF_KEY_CURRENT,
	RF_KEY_DENY,
	RF_KEY_CREDENTIALS,
	RF_KEY_ATTRIBUTES,
	RF_KEY_CANARIES,
	RF_KEY_PASS,
	RF_KEY_SET,
	RF_KEY_LINK,
	RF_KEY_LOOPBACK,
	RF_KEY_UNIX,
	RF_KEY_NET_MODE,
	RF_KEY_NET_ALLOW,
	RF_KEY_NET_DENY,
	RF_KEY_NET_HOSTS,
	RF_KEY_NET_PUBLISH,
	RF_KEY_NET_FILTER,
	RF_KEY_NET_MASK,
	RF_KEY_NET_ROOTS,
	RF_KEY_NET_WRITES,
	RF_KEY_NET_LIMIT, /* the first of RF_NET_LIMIT_COUNT keys, in the order of enum rf_net_limit */
	RF_KEY_GRANTS = RF_KEY_NET_LIMIT + RF_NET_LIMIT_COUNT, /* `credentials` */
	RF_KEY_COMMANDS,
	RF_KEY_AUDIT,
	RF_KEY_COUNTS,
	RF_KEY_QUOTA, /* the first of RF_QUOTA_COUNT keys, in the order of enum rf_quota */
	RF_KEY_ALARM = RF_KEY_QUOTA + RF_QUOTA_COUNT,    /* the first of RF_ALARM_COUNT keys */
	RF_KEY_ON_ALARM = RF_KEY_ALARM + RF_ALARM_COUNT, /* the same: what is done then */
	RF_KEY_ALARM_BREAKER = RF_KEY_ON_ALARM + RF_ALARM_COUNT,
	RF_KEY_ALARM_ROLLBACK,
	RF_KEY_FINAL,
	RF_KEY_COUNT
};

/* A set of keys. */
__extension__ typedef unsigned __int128 rf_key_set;

#define RF_KEY_BIT(key) ((rf_key_set)1 << (key))

enum rf_key_type {
	RF_KEY_TYPE_CHOICE, /* number: one of `choices` */
	RF_KEY_TYPE_LIMIT,  /* number: a row of rf_limit_table */
	RF_KEY_TYPE_QUOTA, /* number: a row of rf_quota_table, rf_alarm_table or rf_net_limit_table */
	RF_KEY_TYPE_HOST,     /* text: a host name */
	RF_KEY_TYPE_AGENT,    /* text: who something is done for */
	RF_KEY_TYPE_PATH,     /* text: an absolute path inside the box */
	RF_KEY_TYPE_FILES,    /* list: source on the host, place in the box */
	RF_KEY_TYPE_PATTERNS, /* list: patterns of paths on the host */
	RF_KEY_TYPE_PATHS,    /* list: absolute paths inside the box */
	RF_KEY_TYPE_NAMES,    /* list: names of variables */
	RF_KEY_TYPE_MAP,      /* list: names of variables and their content */
	RF_KEY_TYPE_PROGRAMS, /* list: names or absolute paths of programs */
	RF_KEY_TYPE_KEYS,     /* bits: other keys */
	RF_KEY_TYPE_SOURCES, /* list: names of profiles and files; one may stand without brackets */
	RF_KEY_TYPE_RULES,   /* list: rules about the network, each in its one form */
	RF_KEY_TYPE_HOSTS,   /* list: names of hosts and the addresses that they lead to */
	RF_KEY_TYPE_PORTS,   /* list: ports to publish */
	RF_KEY_TYPE_MASKS,   /* list: regular expressions, each of which only takes away */
	RF_KEY_TYPE_GRANTS, /* list: names of credentials and their fields, as net-credential.h has them */
	RF_KEY_TYPE_ROOTS,   /* list: files of the host with certificates to trust */
	RF_KEY_TYPE_FILTERS, /* list: files of the host, each of which only takes away; as above */
};

/* Which of two values is the stricter one, for meet() and for keys that are final. */
enum rf_key_strict {
	RF_KEY_STRICT_LESS,    /* the smaller number */
	RF_KEY_STRICT_MORE,    /* the greater number */
	RF_KEY_STRICT_NEITHER, /* a matter of taste: the request's */
	RF_KEY_STRICT_FIRST,   /* nothing to choose: the ceiling's, if it has one */
	RF_KEY_STRICT_LISTS,   /* what is on both lists, by rules of its own: policy/meet.c */
};

#define RF_KEY_LATER (-1) /* a choice that the design names and this version can't enforce */

struct rf_key_choice {
	const char *name; /* NULL ends the table; the first name of a value is its proper one */
	int value;
};

struct rf_key_info {
	const char *path; /* "section.name" or "name" */
	enum rf_key_type type;
	enum rf_key_strict strict;
	const struct rf_key_choice *choices;
	const char
		*defaults[RF_COMMAND_COUNT]; /* as text, or NULL; limits have theirs in limit.c */
	const char *help;
};

extern const struct rf_key_info rf_key_table[RF_KEY_COUNT];

/* The keys that hold other keys.  `short_for` is the key that a plain word sets, or -1. */
struct rf_key_section {
	const char *name;
	int short_for;
};

#define RF_KEY_SECTIONS 7
extern const struct rf_key_section rf_key_sections[RF_KEY_SECTIONS];

struct rf_key_value {
	uint64_t number;
	char *text;
	struct rf_list list;
};

struct rf_policy {
	rf_key_set set;    /* RF_KEY_BIT of every key that has a value */
	rf_key_set finals; /* the content of `final` */
	struct rf_key_value values[RF_KEY_COUNT];
	int lines[RF_KEY_COUNT]; /* where each stands in the text, or 0 */
	/* Where each element of `extends` stands in the text. */
	struct {
		int line, column;
	} extends_at[RF_MAX_EXTENDS];
};

/* The index of a key by its path, or -1. */
int rf_key_find(const char *path);

/* The index of a section by its name, or -1. */
int rf_key_find_section(const char *name);

/* The part of the path after the section, which is how the key stands in its mapping. */
const char *rf_key_name(enum rf_key key);

/* The figure behind a key whose value is one: its unit, range and help; or NULL. */
const struct rf_limit_info *rf_key_figure(enum rf_key key);

/*
 * True if a policy that is silent about the key means something all the same: a figure of its table, or the first of its
 * choices.  Of the others the defaults are written into the policy.
 */
bool rf_key_has_rest(enum rf_key key);

/* What applies: the value, or the default of a figure that has one without being set. */
uint64_t rf_key_number(const struct rf_policy *policy, enum rf_key key);

/* True if the elements of the key's list are names with content of their own. */
bool rf_key_is_map(enum rf_key key);

/* Refuses a path that is no key: as one of a later version, or as unknown with the nearest name. */
int rf_key_refuse(const char *path, struct rf_err *err);

/* True if `a` is at least as strict as `b`, for keys whose value is a number. */
bool rf_key_is_as_strict(enum rf_key key, uint64_t a, uint64_t b);

/* The proper name of a choice's value. */
const char *rf_key_choice_name(enum rf_key key, uint64_t value);

#endif
