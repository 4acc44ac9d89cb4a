/*
 * libringfort: programs in boxes, from C.
 *
 *     #include <ringfort/ringfort.h>
 *
 *     struct ringfort *fort;
 *     struct ringfort_box *box;
 *     struct ringfort_run run = RINGFORT_RUN_INIT;
 *     struct ringfort_result result = RINGFORT_RESULT_INIT;
 *     const char *argv[] = { "python3", "-c", "print(6 * 7)", NULL };
 *
 *     ringfort_open(NULL, &fort, NULL);
 *     run.argv = argv;
 *     ringfort_start(fort, NULL, &run, &box, NULL);
 *     ringfort_wait(box, -1, NULL);
 *     ringfort_result(box, &result);
 *     fwrite(result.output[0], 1, result.output_len[0], stdout);
 *     ringfort_free(box);
 *     ringfort_close(fort);
 *
 * Functions that can fail return 0 or more for success and a negative errno for failure, and write
 * the story into a `struct ringfort_error`, where the caller has one (NULL: it does not care).
 *
 * Threads: a fort and a policy can be used by any number of threads at once.  A box is one thread's at
 * a time, but ringfort_kill() and ringfort_signal() are everybody's.  There is no global state, no lock,
 * no signal handler and no SIGPIPE; no child of the calling process is made that it could meet in
 * wait(2).  The walls are raised in another process, the warden: nothing that the library does changes
 * the caller's.
 *
 * Compatibility: structs that are passed in carry their size, so that a program that was built with
 * an older header runs with a newer library of the same soname.  Members are only ever added at the end.
 *
 * docs/library.md is the manual.
 */
#ifndef RINGFORT_RINGFORT_H
#define RINGFORT_RINGFORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RINGFORT_API __attribute__((visibility("default")))

/* The version of the library that runs, "0.1.0". */
RINGFORT_API const char *ringfort_version(void);

/* ------------------------------------------------------------- errors */

struct ringfort_error {
	size_t size; /* of this struct: set by RINGFORT_ERROR_INIT */
	int code;    /* negative errno, or 0 */
	int line;    /* in a policy's text, counted from 1, or 0 */
	int column;
	char message[512]; /* what failed, outermost context first */
	char remedy[512];  /* what to do about it, or "" */
};

/* clang-format off */
#define RINGFORT_ERROR_INIT { sizeof(struct ringfort_error), 0, 0, 0, { 0 }, { 0 } }
/* clang-format on */

/* ------------------------------------------------------------- policies */

/* A policy, read and checked.  Never changes. */
struct ringfort_policy;

/*
 * Reads a policy from `len` bytes of YAML or JSON (borrows), with the built-in profiles that it extends,
 * over the defaults of `ringfort run`.  Relative paths in it count from `folder`, or the working
 * directory if that is NULL.  All of it is checked: an error names line, column and what was meant.
 * Gives `*ret_policy`.
 */
RINGFORT_API int ringfort_policy_parse(const char *text, size_t len, const char *folder,
				       struct ringfort_policy **ret_policy,
				       struct ringfort_error *error);

/* The whole of it as YAML, defaults and all.  Borrowed from the policy. */
RINGFORT_API const char *ringfort_policy_text(const struct ringfort_policy *policy);

/* Forgets it; what was started with it goes on.  Accepts NULL. */
RINGFORT_API void ringfort_policy_free(struct ringfort_policy *policy);

/* ------------------------------------------------------------- a fort */

/* A connection to a warden, which raises the walls. */
struct ringfort;

enum ringfort_kind {
	RINGFORT_PRIVATE, /* a warden of this fort's own, started now; it ends with the fort */
	RINGFORT_STANDING /* the user's, started with `ringfort warden` */
};

struct ringfort_open {
	size_t size; /* of this struct: set by RINGFORT_OPEN_INIT */
	enum ringfort_kind kind;
	const char *warden; /* path of a private one; NULL: $RINGFORT_WARDEN, or the installed */
	int timeout_ms;     /* how long it may take to answer; 0: ten seconds */
	const char *
		gateway; /* path of what boxes reach the network through; NULL: $RINGFORT_GATEWAY, or
				the one beside the warden */
};

/* clang-format off */
#define RINGFORT_OPEN_INIT { sizeof(struct ringfort_open), RINGFORT_PRIVATE, 0, 0, 0 }
/* clang-format on */

/* Opens a fort; `options` may be NULL.  Gives `*ret_fort`. */
RINGFORT_API int ringfort_open(const struct ringfort_open *options, struct ringfort **ret_fort,
			       struct ringfort_error *error);

/* Closes it.  Boxes that it started stay the caller's, and go on.  Accepts NULL. */
RINGFORT_API void ringfort_close(struct ringfort *fort);

/* The warden's process, and whether it can only give lesser boxes (docs/lesser-box.md). */
RINGFORT_API int ringfort_warden_pid(const struct ringfort *fort);
RINGFORT_API int ringfort_is_lesser(const struct ringfort *fort);

/* ------------------------------------------------------------- running */

/* One program in one box. */
struct ringfort_box;

/*
 * Called with what the program wrote, as it comes, within ringfort_wait().  `stream` is 1 for stdout, 2
 * for stderr.  It may kill the box, and must not free it.
 */
typedef void ringfort_output_fn(void *data, int stream, const char *bytes, size_t len);

struct ringfort_run {
	size_t size;             /* of this struct: set by RINGFORT_RUN_INIT */
	const char *const *argv; /* NULL-ended: the program and its arguments */
	const char *const *env;  /* NULL-ended "K=V": set besides what the policy sets; or NULL */
	const char *cwd;         /* the caller's working directory; NULL: what it is */
	const char *input; /* given on stdin, then its end (borrows until the end of the box) */
	size_t input_len;
	int input_fd;                  /* read for stdin instead (borrows), or -1 */
	int output_fd[2];              /* where stdout and stderr are written (borrows), or -1 */
	ringfort_output_fn *on_output; /* called with those without one; NULL: they are kept */
	void *data;                    /* for on_output */
	int wants_denials; /* list what the kernel refused, as --json does (root only) */
};

/* clang-format off */
#define RINGFORT_RUN_INIT { sizeof(struct ringfort_run), 0, 0, 0, 0, 0, -1, { -1, -1 }, 0, 0, 0 }
/* clang-format on */

/*
 * Starts a program under a policy (NULL: the defaults) and returns at once.  Gives `*ret_box`.  What
 * can be seen to be wrong is an error here; what the warden finds is in the result.
 */
RINGFORT_API int ringfort_start(struct ringfort *fort, const struct ringfort_policy *policy,
				const struct ringfort_run *run, struct ringfort_box **ret_box,
				struct ringfort_error *error);

/*
 * Moves input and output and waits until all is over, at most `timeout_ms` (-1: for ever, 0: not at
 * all).  Returns 1 when it is over, 0 when the time is, or a negative errno when waiting has failed.
 */
RINGFORT_API int ringfort_wait(struct ringfort_box *box, int timeout_ms,
			       struct ringfort_error *error);

/*
 * For programs with a loop of their own: a descriptor that can be read when there is something to do
 * (poll, select, epoll), and what does it, without waiting: ringfort_wait(box, 0).  Borrowed.
 */
RINGFORT_API int ringfort_fd(const struct ringfort_box *box);

/* Sends a signal to the program; or kills all of the box.  Both return at once. */
RINGFORT_API int ringfort_signal(struct ringfort_box *box, int signal,
				 struct ringfort_error *error);
RINGFORT_API int ringfort_kill(struct ringfort_box *box, struct ringfort_error *error);

/* Frees it; what still runs is killed.  Accepts NULL. */
RINGFORT_API void ringfort_free(struct ringfort_box *box);

/* ------------------------------------------------------------- the result */

enum ringfort_status {
	RINGFORT_OK,
	RINGFORT_FAILED,
	RINGFORT_TIMEOUT,
	RINGFORT_CPU,
	RINGFORT_MEMORY,
	RINGFORT_PIDS,
	RINGFORT_DISK,
	RINGFORT_OUTPUT,
	RINGFORT_KILLED,
	RINGFORT_DENIED, /* the policy refused the run */
	RINGFORT_ERROR   /* Ringfort itself failed: `message` says how */
};

/* "ok", "failed" ...: as in the JSON document. */
RINGFORT_API const char *ringfort_status_name(enum ringfort_status status);

#define RINGFORT_UNKNOWN UINT64_MAX /* a figure that is not known */

struct ringfort_result {
	size_t size; /* of this struct: set by RINGFORT_RESULT_INIT */
	enum ringfort_status status;
	int exit_code;  /* of the program, or -1 */
	int signal;     /* that ended the program, or 0 */
	int shell_code; /* what `ringfort run` would exit with */
	uint64_t wall_ns, cpu_ns, start_ns;
	uint64_t memory_peak, pids_peak, disk_bytes;
	const char *id;        /* of the box; "" if there was none */
	const char *output[2]; /* stdout and stderr, where they were kept, with a NUL behind each */
	size_t output_len[2];
	int is_truncated[2];
	int is_lesser;       /* a box without namespaces */
	const char *message; /* what went wrong, or "" */
	const char *remedy;
};

/* clang-format off */
#define RINGFORT_RESULT_INIT { sizeof(struct ringfort_result), RINGFORT_OK, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
	0, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 0 }
/* clang-format on */

/*
 * What it came to, once ringfort_wait() has returned 1; -EBUSY before.  What it points to is borrowed
 * from the box.
 */
RINGFORT_API int ringfort_result(const struct ringfort_box *box,
				 struct ringfort_result *ret_result);

/*
 * All of it as the JSON document that `ringfort run --json` prints (docs/result.md); NULL before the
 * end, or without memory.  Borrowed from the box.
 */
RINGFORT_API const char *ringfort_json(struct ringfort_box *box, size_t *ret_len);

/* ------------------------------------------------------------- boxes that are kept */

/*
 * A box that stands without a program, until its time is over (`limits.time` of its policy, counted from its start), it is removed,
 * or its warden ends; nobody's connection keeps it.  It is named by its id, from any process of this user's
 * that reaches the same warden.  All limits of the policy hold for everything in it together.
 */
#define RINGFORT_ID_SIZE  24
#define RINGFORT_PROGRAMS 128

struct ringfort_keep {
	size_t size;            /* of this struct: set by RINGFORT_KEEP_INIT */
	const char *const *env; /* NULL-ended "K=V": set besides what the policy sets; or NULL */
	const char *cwd;        /* the caller's working directory; NULL: what it is */
	const char *ceiling;    /* a policy's text; what is named beyond it is -EPERM; or NULL */
	int wants_denials;
	int timeout_ms; /* how long it may take until it stands; 0: ten seconds */
};

/* clang-format off */
#define RINGFORT_KEEP_INIT { sizeof(struct ringfort_keep), 0, 0, 0, 0, 0 }
/* clang-format on */

/* Keeps a box under a policy (NULL: the defaults) and waits until it stands.  `options` may be NULL.  Gives its id. */
RINGFORT_API int ringfort_keep(struct ringfort *fort, const struct ringfort_policy *policy,
			       const struct ringfort_keep *options, char ret_id[RINGFORT_ID_SIZE],
			       struct ringfort_error *error);

struct ringfort_exec {
	size_t size;       /* of this struct: set by RINGFORT_EXEC_INIT */
	uint64_t time_ms;  /* after which its process group is killed; 0: never */
	int is_background; /* it goes on when its `struct ringfort_box` is freed */
	int has_terminal;  /* of its own, instead of pipes; what it writes is stream 1 */
	int rows, columns; /* that the terminal begins with; 0: not set */
};

/* clang-format off */
#define RINGFORT_EXEC_INIT { sizeof(struct ringfort_exec), 0, 0, 0, 0, 0 }
/* clang-format on */

/*
 * Starts a program in a kept box and returns at once; `how` may be NULL.  run->cwd is a directory in the box (NULL: the
 * policy's).  The result is a box as ringfort_start() gives one, but is the program's alone: ringfort_kill() and
 * ringfort_free() end its process group.
 */
RINGFORT_API int ringfort_exec(struct ringfort *fort, const char *id,
			       const struct ringfort_run *run, const struct ringfort_exec *how,
			       struct ringfort_box **ret_box, struct ringfort_error *error);

/* The number of a program in a kept box, once it was started; 0 before. */
RINGFORT_API int ringfort_number(const struct ringfort_box *box);

/* Goes on with a program that runs in the background, or did: without its streams. */
RINGFORT_API int ringfort_attach(struct ringfort *fort, const char *id, int number,
				 struct ringfort_box **ret_box, struct ringfort_error *error);

/* Changes the size of its terminal. */
RINGFORT_API int ringfort_resize(struct ringfort_box *box, int rows, int columns,
				 struct ringfort_error *error);

/* Stops everything in it where it is, or lets it go on; its time passes meanwhile. */
RINGFORT_API int ringfort_freeze(struct ringfort *fort, const char *id,
				 struct ringfort_error *error);
RINGFORT_API int ringfort_thaw(struct ringfort *fort, const char *id, struct ringfort_error *error);

/* Its time is over `time_ms` from now; at most as much as its policy gave. */
RINGFORT_API int ringfort_renew(struct ringfort *fort, const char *id, uint64_t time_ms,
				struct ringfort_error *error);

/* Ends it, and waits until nothing of it runs. */
RINGFORT_API int ringfort_remove(struct ringfort *fort, const char *id,
				 struct ringfort_error *error);

enum ringfort_state {
	RINGFORT_RUNNING,
	RINGFORT_FROZEN,
	RINGFORT_ENDING
};

struct ringfort_kept {
	size_t size; /* of this struct */
	char id[RINGFORT_ID_SIZE];
	enum ringfort_state state;
	uint64_t age_ms, left_ms; /* what is not known, or has no end: RINGFORT_UNKNOWN */
	uint64_t cpu_ns, memory_bytes, memory_peak, pids;
	int pid;                         /* of its first process, on the host */
	int programs[RINGFORT_PROGRAMS]; /* their numbers, the youngest first */
	char has_ended[RINGFORT_PROGRAMS];
	int program_count;
};

typedef void ringfort_kept_fn(void *data, const struct ringfort_kept *kept);

/* Calls `fn` with each that is kept, or with the one of this id (NULL: all).  Returns how many. */
RINGFORT_API int ringfort_list(struct ringfort *fort, const char *id, ringfort_kept_fn *fn,
			       void *data, struct ringfort_error *error);

/* ------------------------------------------------------------- files of a workspace */

/*
 * The files of a workspace that `ringfort create` made, as a box in it sees them (docs/workspaces.md).  Neither a fort nor a
 * box is needed.
 *
 * A path counts from the workspace's top.  One that is absolute, has `..` in it, leads through a link or to another
 * file system is refused.  What is written or removed becomes a point, which `ringfort undo` takes back: the directory that
 * the workspace lies over stays as it is.  Who reads keeps nobody waiting; of those who write, and of programs in the
 * workspace, there is one at a time: another waits for five seconds and gets -EBUSY.
 *
 * `at` is a point: a checkpoint's name, or "@ID"; NULL: where the workspace is now.
 */
enum ringfort_file_type {
	RINGFORT_FILE,
	RINGFORT_FOLDER,
	RINGFORT_LINK,
	RINGFORT_OTHER
};

struct ringfort_file {
	size_t size; /* of this struct: set by RINGFORT_FILE_INIT */
	const char *
		path; /* as it was asked for, a name in a list, from the top in a search; borrowed */
	enum ringfort_file_type type;
	unsigned mode; /* permissions */
	uint64_t bytes;
	int64_t modified_ns; /* since 1970 */
	uint64_t line;       /* in a search for content: where it is, counted from 1; else 0 */
	const char *text; /* that line, without a NUL behind it; NULL in a file that is no text */
	size_t text_len;
	char target[4096]; /* where a link leads, in a list and for ringfort_file_stat() */
};

/* clang-format off */
#define RINGFORT_FILE_INIT { sizeof(struct ringfort_file), 0, RINGFORT_FILE, 0, 0, 0, 0, 0, 0, { 0 } }
/* clang-format on */

/* Called for each; what it is given is gone afterwards.  A result other than 0 ends the call, which returns it. */
typedef int ringfort_file_fn(void *data, const struct ringfort_file *file);

/* Opens a file for reading.  Returns a descriptor, the caller's, which shows what the file was then. */
RINGFORT_API int ringfort_file_open(const char *workspace, const char *at, const char *path,
				    struct ringfort_error *error);

/* What a path is.  Links are told, and not followed. */
RINGFORT_API int ringfort_file_stat(const char *workspace, const char *at, const char *path,
				    struct ringfort_file *ret_file, struct ringfort_error *error);

/* The names in a folder ("." is the top), sorted.  Returns how many. */
RINGFORT_API int ringfort_file_list(const char *workspace, const char *at, const char *path,
				    ringfort_file_fn *fn, void *data, struct ringfort_error *error);

/*
 * What is called `name` (a pattern as "*.c", or NULL) beneath a path, and has `content` in it (bytes as they are, or NULL): each
 * line of a text, or a file that is no text once.  Returns how many.
 */
RINGFORT_API int ringfort_file_search(const char *workspace, const char *at, const char *path,
				      const char *name, const char *content, ringfort_file_fn *fn,
				      void *data, struct ringfort_error *error);

/*
 * Writes a file, and makes the folders on the way.  One that is there keeps its mode and owner; a new one gets `mode`, and the
 * directory's owner.  All of it is there afterwards, or nothing.
 */
RINGFORT_API int ringfort_file_write(const char *workspace, const char *path, const void *bytes,
				     size_t len, unsigned mode, struct ringfort_error *error);

/* The same from a descriptor (borrows), up to its end.  More than `most` bytes (0: 256 MiB) are refused with -EDQUOT. */
RINGFORT_API int ringfort_file_put(const char *workspace, const char *path, int source,
				   uint64_t most, unsigned mode, struct ringfort_error *error);

/* Removes a file, a link or an empty folder; `with_content`: any folder. */
RINGFORT_API int ringfort_file_remove(const char *workspace, const char *path, int with_content,
				      struct ringfort_error *error);

#ifdef __cplusplus
}
#endif

#endif
