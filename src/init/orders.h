/*
 * What the launcher and pid 1 of a box say to each other.
 *
 * One SOCK_SEQPACKET socket, descriptor 3 in pid 1.  The launcher sends `struct rf_orders` once:
 * its arrival is the permission to start.  Pid 1 answers with `struct rf_report`s: the proof right
 * before exec, or why the program was not started, and at the end how it ended.  Fixed sizes, one
 * message a packet.  Written by nobody inside the box but pid 1: it is not dumpable, and the
 * program's own copy of the descriptor is gone with exec.
 *
 * Mostly pid 1 has the program's arguments and environment as its own.  One that was built ahead of
 * any request has none: `struct rf_words` follows its orders, and the standard streams with it.
 *
 * One that is to be kept has no program of its own.  It proves the box by itself, says so, and then does what
 * `struct rf_task`s say, of which any number follow: each starts a program, or is about one that was started.
 */
#ifndef RF_INIT_ORDERS_H
#define RF_INIT_ORDERS_H

#include <stdint.h>

#define RF_ORDERS_MAGIC 0x52460007u
#define RF_ORDERS_CPUS  16 /* words: 1024 processors */
#define RF_ORDERS_FD    3
#define RF_RULESET_FD   4   /* a lesser box: the program's own Landlock ruleset */
#define RF_LAUNCHER_FD  4   /* any other: a pidfd of the launcher, if it has one */
#define RF_PROGRAM_FD   4   /* in a program of a kept box that is about to be executed: what is */
#define RF_TASKS_MOST   64  /* programs of a kept box at once */
#define RF_GRACE_MS     200 /* how long a launcher may be late before pid 1 keeps the time */
#define RF_WORDS_BYTES  61440
#define RF_WORDS_COUNT  2048

/* The namespaces that a proof looks at, by their names in /proc/PID/ns. */
enum rf_ns {
	RF_NS_USER,
	RF_NS_MNT,
	RF_NS_PID,
	RF_NS_NET,
	RF_NS_IPC,
	RF_NS_UTS,
	RF_NS_CGROUP,
	RF_NS_COUNT
};
#define RF_NS_NAMES                                                                                \
	{                                                                                          \
		"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"                                \
	}

/* The facts of a proof, each asked of the kernel right before exec. */
enum rf_proof {
	RF_PROOF_DESCRIPTORS,  /* 0, 1 and 2, and they are the launcher's own pipes or pty */
	RF_PROOF_DIRECTORY,    /* the working directory and the root are the box's */
	RF_PROOF_IDENTITY,     /* uid and gid, all three of each */
	RF_PROOF_CAPABILITIES, /* all five sets empty */
	RF_PROOF_PRIVILEGES,   /* no_new_privs is set */
	RF_PROOF_NAMESPACES,   /* each differs from the launcher's */
	RF_PROOF_LANDLOCK,     /* the sentinel, which opened before, gives EACCES */
	RF_PROOF_SECCOMP,      /* a number no kernel has gives the errno of our filter */
	RF_PROOF_SESSION,      /* a session of its own; its terminal is the box's or none */
	RF_PROOF_LIMITS,       /* no core files, no more descriptors than the plan says */
	RF_PROOF_CGROUP,       /* in its groups, where it has any; the launcher looks */
	RF_PROOF_COUNT
};
#define RF_PROOF_NAMES                                                                             \
	{                                                                                          \
		"descriptors", "directory", "identity", "capabilities", "no_new_privs",            \
			"namespaces", "landlock", "seccomp", "session", "limits", "cgroup"         \
	}

/* Where the Landlock wall leaves its sentinel, inside the box. */
#define RF_SENTINEL "/.ringfort/sentinel"

/*
 * What pid 1 of a lesser box must know.  It is a plain process there: no pid namespace ends its kin
 * when it ends, so it ends them itself, and it outlives its launcher for as long as that takes.
 */
struct rf_lesser_orders {
	uint32_t is_lesser;
	uint32_t has_inner;    /* the program has a domain of its own within pid 1's */
	uint32_t is_scoped;    /* Landlock keeps the box's signals inside (ABI 6) */
	uint32_t has_bounding; /* the bounding set could not be emptied: no_new_privs stands in */
	int32_t launcher;      /* its pid: whose signals are passed on */
	char sentinel[96];     /* instead of RF_SENTINEL */
};

struct rf_orders {
	uint32_t magic;
	uint32_t facts; /* bit set of enum rf_proof that must hold */
	uint32_t uid, gid;
	uint64_t host_ns[RF_NS_COUNT]; /* the launcher's, by inode number */
	uint32_t same_ns;              /* bit set of enum rf_ns that may be the launcher's */
	uint32_t seccomp_nr, seccomp_errno;
	uint64_t open_files; /* the most descriptors */
	uint64_t time_ms;    /* after which pid 1 ends the box, if nobody else did; 0: never */
	uint64_t cpus[RF_ORDERS_CPUS]; /* processors that the program may run on */
	uint32_t cpus_bytes;           /* how much of them counts; 0: stay */
	uint64_t stdio_dev[3], stdio_ino[3];
	uint32_t has_launcher;                 /* RF_LAUNCHER_FD is a pidfd */
	uint32_t is_kept;                      /* no program follows, but tasks */
	uint32_t has_program;                  /* RF_PROGRAM_FD is what will be executed */
	uint32_t has_terminal;                 /* all three are the box's pty... */
	uint64_t terminal_rdev;                /* ...with this number */
	uint64_t host_root_dev, host_root_ino; /* the launcher's root directory */
	struct rf_lesser_orders lesser;
};

/* What a box that was built ahead is to run.  Descriptors 0 to 2 come along as SCM_RIGHTS. */
struct rf_words {
	uint32_t argc, envc; /* at most RF_WORDS_COUNT together */
	uint32_t umask;
	uint32_t len; /* of the text that is used */
	char text
		[RF_WORDS_BYTES]; /* working directory, arguments, environment; each ends with NUL */
};

/* What a kept box is told.  All but the first is a head without words. */
enum rf_task_kind {
	RF_TASK_START =
		1,      /* words; the three streams come along, and then maybe the program itself */
	RF_TASK_SIGNAL, /* `signal` to the program, or to its process group */
	RF_TASK_TERMINAL, /* make a terminal, for a program that will be started */
	RF_TASK_RENEW,    /* time is `time_ms` from now on; 0: without end */
	RF_TASK_FREEZE,   /* stop every process but pid 1... */
	RF_TASK_THAW,     /* ...and let all of them go on */
	RF_TASK_REACH,    /* connect to `port` of the box's own loopback */
};

struct rf_task {
	uint32_t kind;
	uint32_t number; /* of the program: the launcher's choice, never 0 and never used twice */
	uint32_t signal, is_for_group;
	uint32_t has_terminal, has_program; /* as in the orders, for this one */
	uint32_t port, rest;
	uint64_t terminal_rdev;
	uint64_t stdio_dev[3], stdio_ino[3];
	uint64_t time_ms;
	struct rf_words words; /* as much of it as is used */
};

enum rf_report_kind {
	RF_REPORT_STARTED = 1, /* the proof held; exec follows */
	RF_REPORT_REFUSED,     /* `fact` did not hold; nothing was started */
	RF_REPORT_NO_EXEC,     /* exec failed with `code` */
	RF_REPORT_ENDED,       /* the program ended with wait status `code` */
	RF_REPORT_LATE, /* time was over, and the launcher did nothing: pid 1 ended the box */
	RF_REPORT_NO_WORKDIR, /* the working directory could not be entered: `code`; nothing was started */
	RF_REPORT_NO_PROCESS, /* there could be no process for the program: `code` */
	RF_REPORT_TERMINAL,   /* its master comes along; or `code` says why there is none */
	RF_REPORT_REACHED, /* the socket comes along, connected or about to be; or `code` says why there is none */
	RF_REPORT_WRITTEN, /* who was waited for since the last one has written so many bytes to disks */
};

struct rf_report {
	uint32_t kind;
	int32_t code; /* errno or wait status */
	uint32_t fact;
	uint32_t held;   /* bit set of enum rf_proof */
	uint32_t number; /* of the program in a kept box, or 0 */
	uint64_t ns[RF_NS_COUNT];
	uint64_t scratch_bytes, scratch_free_bytes;
	uint64_t scratch_files, scratch_free_files;
	uint64_t cpu_ns,
		peak_bytes; /* of a kept box's program that ended, and of what it waited for */
	uint64_t written_bytes;
};

#endif
