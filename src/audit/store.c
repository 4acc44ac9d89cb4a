/* The audit log, for the one process that writes it: see store.h. */
#include "audit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/link.h"
#include "audit/segment.h"
#include "audit/store-old.h"
#include "base/fd.h"

#define SEGMENT_BYTES (64ull << 20)
#define SEGMENT_S     86400ull
#define BATCH_MAX     (8u << 20)
#define SECOND        1000000000ull
#define KNOWN         128 /* policies' texts */

/* A part of a policy's text that need not be written again. */
struct known {
	uint8_t policy[RF_AUDIT_HASH];
	uint64_t part; /* 0: none */
};

struct rf_store {
	struct rf_store_options options;
	int lock, fd;
	struct rf_digest *digest;
	struct rf_sign *key;
	struct rf_link at;      /* the last record, written or not */
	struct rf_link written; /* the last one that is */
	uint64_t size;          /* of the file, as far as it is written */
	uint64_t begun_ns;      /* when the file was begun */
	struct rf_buf batch;
	struct known known[KNOWN]; /* policies whose text this file has; the oldest makes room */
	size_t known_next;
	bool is_dead; /* what was written of a batch, or a file that was begun, could not be undone */
	char found[256];
};

uint64_t rf_store_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

int rf_store_fd(const struct rf_store *store)
{
	return store->fd;
}

uint64_t rf_store_seq(const struct rf_store *store)
{
	return store->written.seq;
}

const char *rf_store_found(const struct rf_store *store)
{
	return store->found;
}

size_t rf_store_waiting(const struct rf_store *store)
{
	return store->batch.len;
}

/* ------------------------------------------------------------- records */

static int fail_dead(struct rf_err *err)
{
	rf_fail_say(err, -EIO, "the audit log can't be written any more");
	return rf_fail_hint(err, "what was written in part could not be taken back; a watcher that "
				 "is started anew goes on where the log is whole");
}

/* Adds a record to the batch; on failure the batch is as it was. */
static int add(struct rf_store *store, enum rf_frame_type type, const void *payload, size_t len,
	       struct rf_err *err)
{
	uint64_t now = rf_store_now();
	size_t before = store->batch.len;
	uint8_t *at = rf_frame_put(&store->batch, type, store->at.seq + 1, now, store->at.hash,
				   payload, len);
	size_t length = RF_FRAME_HEAD + len;

	if (!at) {
		store->batch.has_failed = false; /* what it has is whole */
		return rf_fail(err, -ENOBUFS, "a record");
	}
	if (rf_digest(store->digest, at, length, at + length) < 0) {
		store->batch.len = before;
		return rf_fail_say(err, -EIO, "OpenSSL does not hash");
	}
	store->at.seq++;
	store->at.time_ns = now;
	memcpy(store->at.hash, at + length, RF_AUDIT_HASH);
	return 0;
}

int rf_store_add(struct rf_store *store, const void *event, size_t len, uint64_t *ret_seq,
		 struct rf_err *err)
{
	if (store->is_dead)
		return fail_dead(err);
	if (len == 0 || len > RF_AUDIT_EVENT_MAX)
		return rf_fail_say(err, -EINVAL, "an event of %zu bytes", len);
	if (add(store, RF_FRAME_EVENT, event, len, err) < 0)
		return err->code;
	*ret_seq = store->at.seq;
	return 0;
}

/* What goes away with a file or a batch must be written again. */
static void forget_policies(struct rf_store *store)
{
	memset(store->known, 0, sizeof(store->known));
}

/* True if the file has this part of a policy's text already; else it will. */
static bool has_policy(struct rf_store *store, const struct rf_audit_event *event)
{
	const char *hash = event->values[RF_AUDIT_POLICY].text;
	uint64_t part = rf_audit_event_get(event, RF_AUDIT_PART);
	struct known *known = store->known;

	if (part == 0) /* nothing that a launcher tells */
		return false;
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].part == part && memcmp(known[i].policy, hash, RF_AUDIT_HASH) == 0)
			return true;
	known += store->known_next++ % KNOWN;
	known->part = part;
	memcpy(known->policy, hash, RF_AUDIT_HASH);
	return false;
}

int rf_store_told(struct rf_store *store, const struct rf_audit_event *event, const void *bytes,
		  size_t len, uint64_t *ret_seq, struct rf_err *err)
{
	if (event->kind == RF_AUDIT_POLICY_TEXT && has_policy(store, event)) {
		*ret_seq = store->at.seq;
		return 0;
	}
	return rf_store_add(store, bytes, len, ret_seq, err);
}

int rf_store_event(struct rf_store *store, const struct rf_audit_event *event, uint64_t *ret_seq,
		   struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf bytes;

	rf_buf_init(&bytes, 2 * RF_AUDIT_EVENT_MAX);
	if (rf_audit_event_encode(event, &bytes, err) < 0)
		return err->code;
	return rf_store_add(store, bytes.data, bytes.len, ret_seq, err);
}

void rf_store_forget(struct rf_store *store)
{
	rf_buf_clear(&store->batch);
	store->at = store->written;
	forget_policies(store);
}

int rf_store_commit(struct rf_store *store, struct rf_err *err)
{
	int code;

	if (store->is_dead)
		return fail_dead(err);
	if (store->batch.len == 0)
		return 0;
	code = rf_fd_write(store->fd, store->batch.data, store->batch.len);
	if (code < 0) {
		if (ftruncate(store->fd, (off_t)store->size) < 0 ||
		    lseek(store->fd, (off_t)store->size, SEEK_SET) < 0)
			store->is_dead = true;
		rf_store_forget(store);
		rf_fail(err, code, "write the audit log");
		return rf_fail_hint(err, code == -ENOSPC || code == -EDQUOT
						 ? "make room on its disk: until then, nothing "
						   "that must be recorded is run"
						 : "nothing that must be recorded is run until it "
						   "can be written");
	}
	store->size += store->batch.len;
	store->written = store->at;
	rf_buf_clear(&store->batch);
	return 0;
}

int rf_store_sync(struct rf_store *store, struct rf_err *err)
{
	return fdatasync(store->fd) < 0 ? rf_fail(err, -errno, "sync the audit log") : 0;
}

int rf_store_sign(struct rf_store *store, struct rf_err *err)
{
	struct rf_anchor_line line = { .head = { .seq = store->at.seq } };

	if (store->is_dead)
		return fail_dead(err);
	/* A signature is a record, too, and needs no signature of its own. */
	if (store->at.seq <= store->at.signed_seq + 1 && store->at.signatures > 0)
		return 0;
	memcpy(line.head.chain, store->at.segment.chain, RF_AUDIT_HASH);
	memcpy(line.head.hash, store->at.hash, RF_AUDIT_HASH);
	memcpy(line.key, rf_sign_key(store->key), RF_FRAME_KEY);
	if (rf_sign(store->key, &line.head, line.signature, err) < 0 ||
	    add(store, RF_FRAME_SIGNATURE, line.signature, sizeof(line.signature), err) < 0)
		return err->code;
	store->at.signed_seq = line.head.seq;
	store->at.signatures++;
	if (rf_store_commit(store, err) < 0)
		return err->code;
	if (store->options.on_head)
		store->options.on_head(store->options.data, &line);
	return 0;
}

/* ------------------------------------------------------------- files */

static int sync_folder(const struct rf_store *store, struct rf_err *err)
{
	RF_AUTO_FD int fd = openat(store->options.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? rf_fail(err, -errno, "sync the audit folder") : 0;
}

/* What a store writes to, and where it is in it: changes as a whole, or not at all. */
struct place {
	int fd;
	uint64_t size;
	struct rf_link written;
};

/*
 * Takes back a file that could not be begun, and goes on in the one before.  A file that stays would
 * continue a record that is not the last one for long: then nothing is written any more, and the log
 * is whole as it lies.  It is emptied first: an empty file is none, should a crash bring it back.
 */
static void take_back(struct rf_store *store, const struct place *before, int fd, const char *name)
{
	int ignored = ftruncate(fd, 0);

	(void)ignored;
	store->is_dead = unlinkat(store->options.dir, name, 0) < 0 && errno != ENOENT;
	store->fd = before->fd;
	store->size = before->size;
	store->written = before->written;
	rf_store_forget(store); /* which puts the position back, too */
}

/* Begins the next file: a record that says so, and nothing else in it yet. */
static int begin_file(struct rf_store *store, struct rf_err *err)
{
	const struct place before = { store->fd, store->size, store->written };
	struct rf_frame_segment next = store->at.segment;
	uint8_t payload[RF_FRAME_SEGMENT_BYTES];
	char name[RF_SEGMENT_NAME];
	RF_AUTO_FD int fd = -1;
	int old = store->fd, code;

	next.number++;
	memcpy(next.key, rf_sign_key(store->key), RF_FRAME_KEY);
	rf_frame_put_segment(&next, payload);
	rf_segment_name(next.number, name);
	fd = openat(store->options.dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return rf_fail(err, -errno, "make %s", name);
	store->fd = fd;
	store->size = 0;
	store->at.segment = next;
	code = add(store, RF_FRAME_SEGMENT, payload, sizeof(payload), err);
	if (code == 0)
		code = rf_store_commit(store, err);
	if (code == 0)
		code = rf_store_sync(store, err);
	if (code == 0)
		code = sync_folder(store, err);
	if (code < 0) {
		take_back(store, &before, fd, name);
		rf_fail_in(err, "begin %s", name);
		return store->is_dead ? rf_fail_hint(err, "it can't be removed either: nothing is "
							  "recorded until the watcher is started "
							  "anew")
				      : code;
	}
	rf_fd_take(&fd);
	rf_fd_done(&old);
	forget_policies(store);
	store->begun_ns = store->written.time_ns;
	return 0;
}

static int begin_chain(struct rf_store *store, const struct rf_store_old *old, struct rf_err *err)
{
	struct rf_audit_event event;
	struct rf_link fresh = { .digest = store->digest, .key = store->key };
	uint64_t seq;

	store->at = store->written = fresh;
	if (getrandom(store->at.segment.chain, RF_AUDIT_HASH, 0) != RF_AUDIT_HASH)
		return rf_fail(err, -errno, "name a chain");
	store->written.segment = store->at.segment;
	if (begin_file(store, err) < 0)
		return err->code;
	rf_audit_event_init(&event, RF_AUDIT_CHAIN_STARTED);
	rf_audit_event_digest(&event, RF_AUDIT_CHAIN, store->at.segment.chain);
	rf_audit_event_text(&event, RF_AUDIT_VERSION, RF_VERSION);
	if (old->is_broken) {
		rf_audit_event_digest(&event, RF_AUDIT_HEAD, old->at.hash);
		rf_audit_event_number(&event, RF_AUDIT_HEAD_SEQ, old->at.seq);
		rf_audit_event_text(&event, RF_AUDIT_REASON, old->why);
	}
	if (rf_store_event(store, &event, &seq, err) < 0)
		return err->code;
	if (old->is_broken) {
		rf_audit_event_init(&event, RF_AUDIT_ALARM);
		rf_audit_event_text(&event, RF_AUDIT_ALARM_NAME, "chain_broken");
		rf_audit_event_text(&event, RF_AUDIT_SEVERITY, "critical");
		rf_audit_event_text(&event, RF_AUDIT_REASON, old->why);
		rf_audit_event_text(&event, RF_AUDIT_WHAT, old->aside);
		if (rf_store_event(store, &event, &seq, err) < 0)
			return err->code;
	}
	return rf_store_commit(store, err);
}

/* Goes on with a log that is whole; what a crash left of a record goes, and is told of. */
static int go_on(struct rf_store *store, const struct rf_store_old *old, struct rf_err *err)
{
	struct rf_audit_event event;
	char name[RF_SEGMENT_NAME];
	uint64_t seq;

	store->at = store->written = old->at;
	store->size = old->size;
	store->begun_ns = old->begun_ns;
	rf_segment_name(old->at.segment.number, name);
	store->fd = openat(store->options.dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (store->fd < 0 || ftruncate(store->fd, (off_t)old->size) < 0 ||
	    lseek(store->fd, 0, SEEK_END) < 0)
		return rf_fail(err, -errno, "open %s", name);
	if (old->torn == 0)
		return 0;
	rf_audit_event_init(&event, RF_AUDIT_CHAIN_CUT);
	rf_audit_event_number(&event, RF_AUDIT_BYTES, old->torn);
	rf_audit_event_number(&event, RF_AUDIT_SEGMENT, old->at.segment.number);
	rf_audit_event_text(&event, RF_AUDIT_REASON, "a record was not finished");
	if (rf_store_event(store, &event, &seq, err) < 0)
		return err->code;
	return rf_store_commit(store, err);
}

static int take_lock(struct rf_store *store, struct rf_err *err)
{
	store->lock = openat(store->options.dir, RF_STORE_LOCK,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (store->lock < 0)
		return rf_fail(err, -errno, "open the audit log's lock");
	if (flock(store->lock, LOCK_EX | LOCK_NB) < 0) {
		rf_fail_say(err, -EBUSY, "a watcher writes this audit log already");
		return rf_fail_hint(err, "`ringfort watch --status` tells which");
	}
	return 0;
}

static int open_log(struct rf_store *store, struct rf_err *err)
{
	struct rf_store_old old = { .at = { .digest = store->digest, .key = store->key } };

	if (rf_store_old_read(store->options.dir, &old, err) < 0)
		return err->code;
	if (old.torn > 0)
		snprintf(store->found, sizeof(store->found),
			 "a record was not finished: %" PRIu64 " bytes were cut off", old.torn);
	if (old.is_broken)
		snprintf(store->found, sizeof(store->found),
			 "the log was damaged: %s; it lies in %s", old.why, old.aside);
	if (old.is_broken || old.at.seq == 0)
		return begin_chain(store, &old, err);
	return go_on(store, &old, err);
}

int rf_store_open(const struct rf_store_options *options, struct rf_store **ret_store,
		  struct rf_err *err)
{
	struct rf_store *store = calloc(1, sizeof(*store));

	if (!store)
		return rf_fail(err, -ENOMEM, "an audit log");
	*store = (struct rf_store){ .options = *options, .lock = -1, .fd = -1 };
	if (store->options.segment_bytes == 0)
		store->options.segment_bytes = SEGMENT_BYTES;
	if (store->options.segment_s == 0)
		store->options.segment_s = SEGMENT_S;
	rf_buf_init(&store->batch, BATCH_MAX);
	if (take_lock(store, err) < 0 || rf_digest_new(&store->digest, err) < 0 ||
	    rf_sign_open(options->dir, &store->key, err) < 0 || open_log(store, err) < 0) {
		store->is_dead = true;
		rf_store_close(store, NULL);
		return err->code;
	}
	*ret_store = store;
	return 0;
}

void rf_store_close(struct rf_store *store, const char *why)
{
	struct rf_audit_event event;
	struct rf_err err = RF_ERR_INIT;
	uint64_t seq;

	if (!store)
		return;
	if (!store->is_dead) {
		rf_audit_event_init(&event, RF_AUDIT_CHAIN_CLOSED);
		rf_audit_event_text(&event, RF_AUDIT_REASON, why);
		if (why)
			rf_store_event(store, &event, &seq, &err);
		rf_store_commit(store, &err);
		rf_store_sign(store, &err);
		rf_store_sync(store, &err);
	}
	rf_buf_done(&store->batch);
	rf_fd_done(&store->fd);
	rf_fd_done(&store->lock);
	rf_sign_free(store->key);
	rf_digest_free(store->digest);
	free(store);
}

/* ------------------------------------------------------------- time passes */

/* Tells which files go before they do: so the log says itself why it begins where it does. */
static int retire(struct rf_store *store, const struct rf_store_old_files *go, struct rf_err *err)
{
	struct rf_audit_event event;
	char name[RF_SEGMENT_NAME];
	uint64_t seq;

	rf_audit_event_init(&event, RF_AUDIT_CHAIN_RETIRED);
	rf_audit_event_number(&event, RF_AUDIT_SEGMENT, go->last);
	rf_audit_event_digest(&event, RF_AUDIT_HEAD, go->hash);
	rf_audit_event_number(&event, RF_AUDIT_HEAD_SEQ, go->seq);
	rf_audit_event_number(&event, RF_AUDIT_COUNT, go->last - go->first + 1);
	rf_audit_event_number(&event, RF_AUDIT_BYTES, go->bytes);
	if (rf_store_event(store, &event, &seq, err) < 0 || rf_store_commit(store, err) < 0 ||
	    rf_store_sign(store, err) < 0 || rf_store_sync(store, err) < 0)
		return err->code;
	for (uint64_t number = go->first; number <= go->last; number++) {
		rf_segment_name(number, name);
		if (unlinkat(store->options.dir, name, 0) < 0 && errno != ENOENT)
			return rf_fail(err, -errno, "remove %s", name);
	}
	return 0;
}

int rf_store_tend(struct rf_store *store, struct rf_err *err)
{
	struct rf_store_old_files go = { 0 };
	uint64_t now = rf_store_now();

	if (store->is_dead)
		return fail_dead(err);
	if (store->size < store->options.segment_bytes &&
	    (now < store->begun_ns || now - store->begun_ns < store->options.segment_s * SECOND))
		return 0;
	if (rf_store_commit(store, err) < 0 || rf_store_sign(store, err) < 0 ||
	    rf_store_sync(store, err) < 0 || begin_file(store, err) < 0)
		return err->code;
	if (rf_store_old_find(
		    store->options.dir, store->at.segment.number, store->options.keep_bytes,
		    store->options.keep_s ? now - store->options.keep_s * SECOND : 0, &go, err) < 0)
		return err->code;
	return go.last > 0 ? retire(store, &go, err) : 0;
}
