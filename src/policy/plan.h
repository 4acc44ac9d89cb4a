/*
 * A plan: everything that one box will be, decided before anything is done.
 *
 * Made from a policy and a few facts about the caller, without a system call, and never changed
 * afterwards.  The walls of src/jail carry it out; `policy explain` prints it.  What this machine
 * could not give is written in the box, not here.
 */
#ifndef RF_POLICY_PLAN_H
#define RF_POLICY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/alarm.h"
#include "policy/canary.h"
#include "policy/net.h"
#include "policy/pattern.h"
#include "policy/policy.h"
#include "policy/quota.h"

/* Where names are asked for in a box with a gateway: an address that is nobody's, so that nothing of a box's own is there. */
#define RF_PLAN_RESOLVER "192.0.2.53"

/*
 * What a variable that stands for a credential holds inside is the caller's to say, in a variable of this name with the other's behind it: then it
 * comes to whoever makes the plan as the rest of the caller's environment does.
 */
#define RF_PLAN_STAND_IN "RINGFORT_STAND_IN_"

/* What one place in the box is made of. */
enum rf_place_kind {
	RF_PLACE_HOST,    /* a file or directory of the host, bound here */
	RF_PLACE_SYSTEM,  /* the same, except that a symbolic link on the host stays one (/lib) */
	RF_PLACE_TEXT,    /* a file that we write; `source` is its content */
	RF_PLACE_DATA,    /* the same, of any bytes; `source` is its content in base64 */
	RF_PLACE_LINK,    /* a symbolic link; `source` is its target */
	RF_PLACE_DIR,     /* an empty directory */
	RF_PLACE_SCRATCH, /* a directory on the box's own scratch file system, gone with it */
	RF_PLACE_DEVICE,  /* a device node of the host */
	RF_PLACE_PROC,    /* a fresh procfs of the box's own processes */
	RF_PLACE_PTS,     /* a fresh devpts */
	RF_PLACE_MASK,    /* something beneath an earlier place, hidden */
	RF_PLACE_HIDE,    /* something beneath a shown tree, hidden if it is there */
	RF_PLACE_LOCK,    /* something beneath an earlier place, made read-only (/proc/sys) */
};

enum rf_right {
	RF_RIGHT_READ = 1 << 0,
	RF_RIGHT_WRITE = 1 << 1,
	RF_RIGHT_EXEC = 1 << 2,
	RF_RIGHT_INERT =
		1 << 3, /* none, but the lack of one: nothing in it is code, not even a library */
};

/* Where the topmost layer lies while a box writes to it, and so who keeps it within the plan's limits. */
enum rf_room_kind {
	RF_ROOM_DISK,    /* in the pool: looked at from time to time, and the box is killed */
	RF_ROOM_PROJECT, /* in the pool, with a project quota: writing fails (EDQUOT) */
	RF_ROOM_MEMORY,  /* in a file system of its own, in memory: writing fails (ENOSPC) */
	RF_ROOM_COPY, /* in a copy of the whole tree, `whole` beside `up`, where overlayfs can't be had */
};

/*
 * The room of one run's changes: shared by who made the layer and who mounts it, and no part of the plan's text.  It has
 * the look that the top of the layer gets.
 */
struct rf_room {
	enum rf_room_kind kind;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	int top; /* the folder that has `up` in it, or -1; replaced under its number by who mounts another */
	/* Makes that copy, and the kind COPY, when overlayfs is refused; or NULL: there is no other way. */
	int (*make_copy)(void *data, struct rf_err *err);
	void *data;
	uint64_t bytes, inodes; /* that the box has used there when it was last looked at */
	unsigned unsure;        /* looks one after the other that could not see all of it */
};

/* Layers over a tree of the host: what the box changes goes into the topmost, and the tree stays as it is. */
struct rf_layers {
	const char *pool; /* the folder of all layers on the host; each has `up` and `work` in it */
	const char *upper;         /* the name of the one that takes the changes */
	const char *const *lowers; /* NULL-ended, from the top down: those of earlier runs */
	struct rf_room *room;      /* of the topmost; or NULL, as DISK; borrowed */
};

struct rf_place {
	enum rf_place_kind kind;
	const char *path;               /* inside the box: absolute, normal, no trailing slash */
	const char *source;             /* on the host for HOST, SYSTEM and DEVICE; see the kind */
	unsigned rights;                /* enum rf_right; Landlock grants exactly these */
	bool is_optional;               /* may be absent on the host */
	const char *why;                /* who needs it, for `explain` */
	const char *rule;               /* what put it here: "files.read", "default" ... */
	const struct rf_layers *layers; /* over a directory that is HOST, or NULL */
	bool is_site;                   /* a part of Ringfort's own state that is for this box */
};

/* What the caller is; the plan's only knowledge of the outside. */
/*
 * For whom a server runs it, where one does: whose key asked, which the warden knows; and what the client calls its request, which
 * only the client does.  All NULL where nobody's key did.
 */
#define RF_PLAN_AGENT 65 /* bytes of an agent's name, with its tenant and a NUL */

struct rf_plan_origin {
	const char *tenant, *key;
	const char *request, *trace;
};

struct rf_facts {
	uid_t uid;
	gid_t gid;
	const char *cwd;   /* absolute, or NULL when it can't be read */
	const char *home;  /* from passwd; never NULL, "/" when unknown */
	char *const *env;  /* the caller's environment, for env.pass */
	char *const *argv; /* what to run, at least one element */
	char *const *set;  /* NULL-ended "K=V": for this program alone, over all others; or NULL */
	bool has_terminal; /* wants a terminal of the box's own */
	/* What is brought along besides the rules, HOST (only read), TEXT or DATA; or NULL.  Borrowed. */
	const struct rf_place *extras;
	size_t extra_count;
	uint8_t seed[RF_CANARY_SEED];   /* random, for canaries */
	const struct rf_place *layered; /* a directory with layers over it, or NULL; borrowed */
	struct rf_plan_origin origin;
	bool is_recorded; /* whatever the policy says */
	const struct rf_place *
		site; /* a directory that the box may write, at another path, whatever the policy shows; or NULL; borrowed */
	bool only_looks; /* what the policy lets it write of the host it can only read, but for that directory */
};

struct rf_plan {
	struct rf_place *places; /* in the order they are made: what lies beneath comes later */
	size_t place_count;
	struct rf_pattern *deny; /* what is hidden wherever a tree of the host would show it */
	size_t deny_count;
	bool hides_credentials; /* those that are well known, at the top of each shown tree */
	bool keeps_attributes;  /* extended ones can be set in the host's trees, too */
	uint64_t limits[RF_LIMIT_COUNT];
	char **canaries;              /* NULL-ended: paths inside whose opening ends it; or NULL */
	uint8_t seed[RF_CANARY_SEED]; /* that their values are made from */
	char **commands;              /* NULL-ended: the only programs that can be run; NULL: all */
	char **env;                   /* NULL-ended, "K=V" */
	char **argv;                  /* NULL-ended */
	const char *hostname;         /* inside */
	const char *workdir;          /* inside, absolute */
	uid_t uid;                    /* inside; never 0 */
	gid_t gid;                    /* inside; never 0 */
	const char *user;             /* name inside, "box" */
	const char *home;             /* inside, "/home/box" */
	const char *agent;            /* who it is done for, or NULL; of a tenant's: TENANT/NAME */
	struct rf_plan_origin origin; /* and whose key asked */
	struct rf_quotas quotas;      /* of its breaker and its budgets */
	struct rf_alarms alarms;      /* while it runs */
	bool needs_watch;             /* the policy sets one of these: a watcher, or no run */
	enum rf_isolation isolation;
	enum rf_link link;
	struct rf_net *net; /* what may be reached through a gateway; NULL where no key says so */
	bool has_loopback;  /* sockets of the inet families work inside the box */
	bool has_unix;      /* unix sockets too, which reach those of the host in shown trees */
	enum rf_syscalls syscalls;
	char **seccomp;    /* NULL-ended: system call profiles on the host, all of which apply */
	bool has_terminal; /* its standard streams are a terminal of its own, not pipes */
	bool may_be_weaker;
	bool needs_hard;           /* every limit graded hard, or no run */
	enum rf_recorded recorded; /* by a watcher */
	char **notes; /* NULL-ended: what the user should know ("the current directory is not shown: ...") */
	void *memory; /* owns every string above */
};

/*
 * Makes the plan of one box (borrows both).  Contradictions in the policy (two sources for one
 * place, a place over one of ours) are errors that name the rules.
 */
int rf_plan_make(const struct rf_policy *policy, const struct rf_facts *facts,
		 struct rf_plan **ret_plan, struct rf_err *err);
void rf_plan_free(struct rf_plan *plan);

/* A part of it (plan-net.c): what the gateway is told, and what of the network's keys can't be kept. */
int rf_plan_network(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err);

/* A part of it (plan-env.c): the variables inside. */
int rf_plan_env(const struct rf_policy *policy, const struct rf_facts *facts, struct rf_plan *plan,
		struct rf_err *err);

/* The value of a variable of the caller, or NULL. */
const char *rf_plan_caller_env(const struct rf_facts *facts, const char *name);

/* A part of it (plan-watch.c): what is a watcher's, once the agent is known. */
int rf_plan_watch(const struct rf_policy *policy, struct rf_plan *plan, struct rf_err *err);

/*
 * Where `path` of the host (absolute, without links) shows in the box, written to `inside`, which
 * has room for PATH_MAX bytes.  False if it does not show.
 */
bool rf_plan_where(const struct rf_plan *plan, const char *path, char *inside);

/* True if the box may write to a tree of the host itself, without layers over it; and whether `place` is one. */
bool rf_plan_is_written(const struct rf_place *place);
bool rf_plan_writes_host(const struct rf_plan *plan);

/* True if the plan has nothing at `path`, beneath it or around it. */
bool rf_plan_is_free(const struct rf_plan *plan, const char *path);

#endif
