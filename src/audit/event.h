/*
 * Audit events: what happened, as a typed record.
 *
 * One table says which kinds there are and which fields each has, and one what a field is; numbers of
 * both never change and are never used again, so that a log can be read for as long as it is kept.
 * An event in memory borrows its texts.  Its bytes are canonical: fields in the order of their numbers,
 * each at most once, all that its kind demands and none that it does not know, every number in little
 * endian; what is anything else is malformed.
 *
 * What a program or a stranger had a hand in is a free text, which goes through audit/redact.h when
 * the event is encoded, on the side of who tells of it; and again in the watcher.  Values of credentials
 * and payloads have no field at all.
 *
 * Its names carry their folder: an rf_event is one of base/loop.h.
 */
#ifndef RF_AUDIT_EVENT_H
#define RF_AUDIT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define RF_AUDIT_EVENT_VERSION 1
#define RF_AUDIT_EVENT_MAX     4096 /* bytes of an encoded event */
#define RF_AUDIT_HASH          32   /* bytes of a hash: SHA-256 */
#define RF_AUDIT_TEXT_MAX      3584 /* of a policy's text, in one event */

enum rf_audit_kind {
	RF_AUDIT_RUN_STARTED = 1,
	RF_AUDIT_RUN_ENDED = 2,
	RF_AUDIT_RUN_REFUSED = 3,
	RF_AUDIT_DENIAL = 4,
	RF_AUDIT_NET_REQUEST = 5,
	RF_AUDIT_TOOL_CALL = 6,
	RF_AUDIT_APPROVAL = 7,
	RF_AUDIT_CHECKPOINT = 8,
	RF_AUDIT_UNDO = 9,
	RF_AUDIT_APPLY = 10,
	RF_AUDIT_CREDENTIAL_USE = 11,
	RF_AUDIT_BREAKER_CHANGE = 12,
	RF_AUDIT_BUDGET_SPENT = 13,
	RF_AUDIT_KILL = 14,
	RF_AUDIT_FREEZE = 15,
	RF_AUDIT_HOOK = 16,
	RF_AUDIT_CONFIG_CHANGE = 17,
	RF_AUDIT_ALARM = 18,
	RF_AUDIT_RECOVERY = 19,
	RF_AUDIT_WATCH_STARTED = 20,
	RF_AUDIT_WATCH_ENDED = 21,
	RF_AUDIT_CHAIN_STARTED = 22,
	RF_AUDIT_CHAIN_CUT = 23,
	RF_AUDIT_CHAIN_RETIRED = 24,
	RF_AUDIT_CHAIN_CLOSED = 25,
	RF_AUDIT_CLOCK_JUMP = 26,
	RF_AUDIT_POLICY_TEXT = 27,
	RF_AUDIT_RUN_USED = 28,
	RF_AUDIT_EXEC_STARTED = 29, /* a program in a box that is kept */
	RF_AUDIT_EXEC_ENDED = 30,
	RF_AUDIT_KIND_END
};

enum rf_audit_field {
	RF_AUDIT_AGENT = 1,      /* for whom */
	RF_AUDIT_BOX = 2,        /* its id */
	RF_AUDIT_USER = 3,       /* who asked for it */
	RF_AUDIT_PID = 4,        /* on the host */
	RF_AUDIT_PROGRAM = 5,    /* its name; never its arguments */
	RF_AUDIT_POLICY = 6,     /* hash of the policy's text */
	RF_AUDIT_PLAN = 7,       /* hash of the plan that it came to */
	RF_AUDIT_ISOLATION = 8,  /* "process", "lesser" */
	RF_AUDIT_VERDICT = 9,    /* "ok", "failed", "timeout" ...: see the result */
	RF_AUDIT_EXIT_CODE = 10, /* */
	RF_AUDIT_SIGNAL = 11,    /* */
	RF_AUDIT_WALL_US = 12,   /* time on the clock */
	RF_AUDIT_CPU_US = 13,    /* processor time */
	RF_AUDIT_START_US = 14,  /* until the program's first instruction */
	RF_AUDIT_MEMORY = 15,    /* most bytes at once */
	RF_AUDIT_PIDS = 16,      /* most processes at once */
	RF_AUDIT_DISK = 17,      /* bytes written */
	RF_AUDIT_DENIALS = 18,   /* how many */
	RF_AUDIT_RING = 19,      /* "execution", "api", "scope", "blast": who refused */
	RF_AUDIT_WHAT = 20,      /* it was about */
	RF_AUDIT_RULE = 21,      /* that decided */
	RF_AUDIT_REMEDY = 22,    /* what would allow it */
	RF_AUDIT_REASON = 23,    /* why, for people */
	RF_AUDIT_HOST = 24,      /* */
	RF_AUDIT_PORT = 25,      /* */
	RF_AUDIT_METHOD = 26,    /* */
	RF_AUDIT_PATH = 27,      /* without its query */
	RF_AUDIT_CODE = 28,      /* of an answer */
	RF_AUDIT_BYTES_OUT = 29, /* */
	RF_AUDIT_BYTES_IN = 30,  /* */
	RF_AUDIT_TOOL = 31,      /* */
	RF_AUDIT_SERVER = 32,    /* that has the tool */
	RF_AUDIT_TOOK_US = 33,   /* */
	RF_AUDIT_DECISION = 34,  /* "asked", "allow", "deny", "expired" */
	RF_AUDIT_BY = 35,        /* who decided or did it */
	RF_AUDIT_WORKSPACE = 36, /* */
	RF_AUDIT_CHECKPOINT_ID = 37,
	RF_AUDIT_ADDED = 38,      /* files */
	RF_AUDIT_MODIFIED = 39,   /* */
	RF_AUDIT_DELETED = 40,    /* */
	RF_AUDIT_CREDENTIAL = 41, /* its name; never its value */
	RF_AUDIT_BREAKER = 42,    /* "agent NAME", "host NAME", "tool NAME" */
	RF_AUDIT_FROM = 43,       /* the state before */
	RF_AUDIT_TO = 44,         /* and after */
	RF_AUDIT_UNTIL_MS = 45,   /* since 1970: when to try again */
	RF_AUDIT_BUDGET = 46,     /* "cpu_seconds", "bytes", "requests", "money" */
	RF_AUDIT_SPENT = 47,      /* */
	RF_AUDIT_LIMIT = 48,      /* */
	RF_AUDIT_SETTING = 49,    /* its name */
	RF_AUDIT_ALARM_NAME = 50, /* "canary", "fork_storm", "chain_broken" ... */
	RF_AUDIT_SEVERITY = 51,   /* "low", "medium", "high", "critical" */
	RF_AUDIT_CHAIN = 52,      /* hash that names a chain */
	RF_AUDIT_HEAD = 53,       /* hash of a chain's last record */
	RF_AUDIT_HEAD_SEQ = 54,   /* and its number */
	RF_AUDIT_SEGMENT = 55,    /* */
	RF_AUDIT_BYTES = 56,      /* */
	RF_AUDIT_COUNT = 57,      /* */
	RF_AUDIT_VERSION = 58,    /* of Ringfort */
	RF_AUDIT_SKEW_MS = 59,    /* by which a clock went back or forth */
	RF_AUDIT_OUTPUT = 60,     /* bytes on standard output and error */
	RF_AUDIT_GRADES = 61,     /* how well each limit was kept, a letter for each: see runs.h */
	RF_AUDIT_TEXT_PART = 62,  /* of a policy */
	RF_AUDIT_PART = 63,       /* which one this is, from 1; `count` says how many there are */
	RF_AUDIT_TENANT = 64,     /* of a server's: whose box it is; set by the warden */
	RF_AUDIT_KEY = 65,     /* the id of the key that it was asked for with; set by the warden */
	RF_AUDIT_REQUEST = 66, /* what the client calls its request; its own words */
	RF_AUDIT_TRACE = 67,   /* the traceparent that the run belongs to; its own words, too */
	RF_AUDIT_EXEC = 68,    /* which of its box's programs */
	RF_AUDIT_APPROVAL_ID = 69, /* what a request that waits for approval is called */
	RF_AUDIT_FIELD_END
};

enum rf_audit_type {
	RF_AUDIT_TEXT,   /* a word or name of ours, or of the operator's */
	RF_AUDIT_FREE,   /* a text that others had a hand in: redacted */
	RF_AUDIT_NUMBER, /* 64 bits */
	RF_AUDIT_SIGNED, /* 64 bits, may be negative */
	RF_AUDIT_DIGEST, /* RF_AUDIT_HASH bytes */
};

/* A bit for each field. */
typedef unsigned __int128 rf_audit_set;
#define RF_AUDIT_BIT(field) ((rf_audit_set)1 << (field))

struct rf_audit_event {
	enum rf_audit_kind kind;
	uint64_t time_ns;    /* since 1970; 0: to be set by who stores it */
	uint64_t seq;        /* in its chain; 0: not stored */
	rf_audit_set fields; /* those that are there; bit 0: a mistake of ours */
	struct {
		uint64_t number;
		const char *text; /* borrowed; texts and digests */
		size_t len;
	} values[RF_AUDIT_FIELD_END];
};

/* An event of a kind, without fields. */
void rf_audit_event_init(struct rf_audit_event *event, enum rf_audit_kind kind);

/*
 * Sets a field; one that the kind does not have, or that is of another type, is a mistake of ours and
 * makes the event one that can't be encoded.  A text (borrowed) that is longer than its field allows is
 * cut, and ends with "..." then; NULL and "" set nothing.
 */
void rf_audit_event_text(struct rf_audit_event *event, enum rf_audit_field field, const char *text);
void rf_audit_event_number(struct rf_audit_event *event, enum rf_audit_field field,
			   uint64_t number);
void rf_audit_event_digest(struct rf_audit_event *event, enum rf_audit_field field,
			   const uint8_t digest[RF_AUDIT_HASH]);

/* What a field holds: true and its value, or false if the event has none. */
bool rf_audit_event_has(const struct rf_audit_event *event, enum rf_audit_field field);
uint64_t rf_audit_event_get(const struct rf_audit_event *event, enum rf_audit_field field);

/* Copies a text, ended by a NUL; "" if there is none. */
void rf_audit_event_copy(const struct rf_audit_event *event, enum rf_audit_field field, char *text,
			 size_t size);

/*
 * Appends its bytes to `out`, at most RF_AUDIT_EVENT_MAX, with free texts redacted.  Fails with -EINVAL
 * if a field is missing, or -ENOMEM.
 */
int rf_audit_event_encode(const struct rf_audit_event *event, struct rf_buf *out,
			  struct rf_err *err);

/*
 * Reads one from `len` bytes (borrows: texts stay there), all of them.  Fails with -EBADMSG; one of a
 * later version or kind is malformed, too: who reads a log is as new as who wrote it.
 */
int rf_audit_event_decode(const void *data, size_t len, struct rf_audit_event *ret_event,
			  struct rf_err *err);

/* Writes its members into an object that is open: seq, time, kind, then its fields by their names. */
void rf_audit_event_json(const struct rf_audit_event *event, struct rf_json *json);

/* "2026-11-16T06:50:00.123456Z"; at least 32 bytes. */
void rf_audit_event_time(uint64_t time_ns, char *text, size_t size);

/* True for what only the watcher itself tells: of itself, and of the log. */
bool rf_audit_event_is_own(enum rf_audit_kind kind);

/* Names, for people and filters: "run.ended", "memory".  NULL, or 0, if there is none. */
const char *rf_audit_event_kind_name(unsigned kind);
unsigned rf_audit_event_kind_find(const char *name);
const char *rf_audit_event_field_name(unsigned field);
enum rf_audit_type rf_audit_event_field_type(enum rf_audit_field field);

#endif
