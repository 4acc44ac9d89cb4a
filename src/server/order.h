/*
 * What a request orders: a program or code to run, a sandbox to make, a program in one.
 *
 * Read from JSON as a whole, or refused with the field that is wrong.  Pure: what it comes to is words and a policy's text; whether the policy is
 * one is found when it is read (lib/rules.c), and what of it is given, by the warden.
 */
#ifndef RF_SERVER_ORDER_H
#define RF_SERVER_ORDER_H

#include "policy/lang.h"
#include "policy/plan.h"
#include "server/form.h"

#define RF_ORDER_FILES   15 /* that can be brought along, besides the code */
#define RF_ORDER_SECONDS 86400
#define RF_ORDER_LABELS  16

enum rf_order_kind {
	RF_ORDER_RUN,
	RF_ORDER_SANDBOX,
	RF_ORDER_EXEC,
	RF_ORDER_RENEW,
	RF_ORDER_WRITE, /* to a program's standard input */
	RF_ORDER_SIGNAL,
	RF_ORDER_FOLDER, /* one to make */
	RF_ORDER_MOVE,
	RF_ORDER_SESSION,    /* the first message of a WebSocket: a program in a sandbox */
	RF_ORDER_WORD,       /* and a later one: input, a signal, the size of its terminal */
	RF_ORDER_NETWORK,    /* of a sandbox, from now on */
	RF_ORDER_WORKSPACE,  /* `path` is its name */
	RF_ORDER_CHECKPOINT, /* the same, or NULL */
	RF_ORDER_UNDO,       /* `to` is a checkpoint */
	RF_ORDER_AGENT,      /* `path` is its name */
	RF_ORDER_APPLY       /* `to` is whose word counts where both have changed something */
};

#define RF_ORDER_KEEP                                                                              \
	300 /* seconds that a terminal is kept without a connection, if nothing else is said */

/* Where a language's program is; asked once for each, before files are given up. */
struct rf_order_tools {
	const char *(*find)(
		const struct rf_lang *lang); /* its words, "deno run"; NULL: it is not here */
};

struct rf_order {
	char **argv;       /* what to run; NULL of a sandbox */
	const char *input; /* for its standard input, or NULL */
	size_t input_len;
	char **env;            /* NULL-ended "K=V", or NULL */
	const char *cwd;       /* inside, or NULL */
	uint64_t timeout;      /* seconds; 0: none was said */
	uint64_t idle_timeout; /* of a sandbox: seconds; 0: it may be idle */
	char *policy;          /* its text; of a run, a sandbox or its network */
	char **credentials;    /* NULL-ended: names of the tenant's, or NULL */
	bool needs_network;    /* it can't do without */
	/* What of it the request itself names, without what is filled in for it: a policy's text. */
	char *named;
	bool names_policy; /* and that is something */
	bool drops_beyond; /* what is named beyond a ceiling is narrowed and listed, and not refused: */
	char **beyond;     /* NULL-ended, or NULL: nothing was */
	/* Which field names a limit: `timeout`, `limits`, or else the policy. */
	bool names_timeout;
	const struct rf_jsonread_value *limits;
	struct rf_place *extras;
	size_t extra_count;
	const struct rf_jsonread_value *labels; /* of a sandbox or an agent, or NULL */
	const char *agent;        /* of a run or a sandbox: for which of the tenant's, or NULL */
	const char *policy_agent; /* whom its policy names, or NULL: it may be one of these, too */
	const char *about;        /* of an agent, or NULL */
	bool is_trial;            /* of APPLY: nothing is changed */
	char **outputs;           /* of a run: patterns of files that are wanted of it; or NULL */
	const char *workspace;    /* that the box has; "": one of its own; or NULL */
	bool is_background;
	bool is_last;                 /* of WRITE: its input ends */
	int signal;                   /* of SIGNAL, and of WORD, or 0 */
	const char *path, *to;        /* of FOLDER and MOVE: absolute */
	bool has_terminal;            /* of SESSION, and of WORD: its size is said */
	uint64_t rows, columns, keep; /* of that; keep: seconds */
	/* What all of it lies in: */
	struct rf_jsonread *json;
	struct rf_arena *memory;
};

/*
 * Reads one from `len` bytes (borrows).  `keeps_output`: what the program writes is to fit into one answer.  On success gives `*ret_order`, to be ended
 * with rf_order_done(); else -1, and the error.
 */
int rf_order_read(enum rf_order_kind kind, const char *text, size_t len, bool keeps_output,
		  const struct rf_order_tools *tools, struct rf_order *ret_order,
		  struct rf_api_error *error);
void rf_order_done(struct rf_order *order);

/* What a label can be called, and have as its value besides nothing. */
bool rf_order_is_label(const char *text);

#endif
