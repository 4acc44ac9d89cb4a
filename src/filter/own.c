/*
 * vectorscan, loaded when it is needed.
 *
 * Linking it would cost every gateway its nine megabytes and their relocations (docs/internals/filter.md has the figures), and a
 * policy has rules of its own seldom.  Its header gives the types, so a call that does not fit fails to compile.
 */
#include "filter/own.h"

#include <dlfcn.h>
#include <errno.h>
#include <hs/hs.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS        (HS_FLAG_SOM_LEFTMOST)
#define GLANCE_LEAST 256 /* bytes; fewer are looked at line by line at once */
#define LENGTH       24  /* bytes of a length in letters, and a colon */
#define MODE         (HS_MODE_STREAM | HS_MODE_SOM_HORIZON_SMALL)

/* What is used of the library, in the names that it has there. */
/* clang-format off */
#define CALLS(X) X(hs_compile_multi) X(hs_free_compile_error) X(hs_expression_info) \
	X(hs_free_database) X(hs_alloc_scratch) X(hs_free_scratch) X(hs_open_stream) \
	X(hs_scan_stream) X(hs_reset_stream) X(hs_close_stream) X(hs_scan) \
	X(hs_database_size) X(hs_scratch_size)
/* clang-format on */

static struct {
	bool is_loaded;
#define CALL(name) __typeof__ (&(name))(name);
	CALLS(CALL)
#undef CALL
} lib;

struct rf_own {
	struct rf_own *next; /* of all there are */
	unsigned users;
	char *text;   /* the expressions: what it is found by */
	size_t bytes; /* that it takes */
	hs_database_t *database;
	hs_database_t *
		glance; /* the same for many lines at once: whether there is anything in them; or NULL */
	hs_scratch_t *scratch;
	unsigned wide; /* the longest match */
};

static struct rf_own *sets;
static size_t set_count, set_bytes;

struct rf_own_stream {
	const struct rf_own *own;
	hs_stream_t *stream;
	unsigned long long at, line; /* bytes seen, and those before the line that they end in */
	rf_own_found *found;
	void *context;
};

int rf_own_load(struct rf_err *err)
{
	void *handle;

	if (lib.is_loaded)
		return 0;
	handle = dlopen("libhs.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		rf_fail_say(err, -ENOSYS,
			    "rules of a policy's own need vectorscan, and it is not here");
		return rf_fail_hint(err, "install it (Debian: libvectorscan5), or take "
					 "the rules out");
	}
#define CALL(name)                                                                                 \
	*(void **)&lib.name = dlsym(handle, #name);                                                \
	if (!lib.name)                                                                             \
		return rf_fail_say(err, -ENOSYS, "libhs.so.5 has no %s()", #name);
	CALLS(CALL)
#undef CALL
	lib.is_loaded = true;
	return 0;
}

/* Is one expression such as we can take?  `number` counts from 1, for people. */
static int check(const char *expression, unsigned number, unsigned *wide, struct rf_err *err)
{
	hs_expr_info_t *info = NULL;
	hs_compile_error_t *why = NULL;
	unsigned most, least;

	if (lib.hs_expression_info(expression, FLAGS, &info, &why) != HS_SUCCESS) {
		rf_fail_say(err, -EINVAL, "expression %u (%.60s): %s", number, expression,
			    why && why->message ? why->message : "can't be compiled");
		lib.hs_free_compile_error(why);
		return -EINVAL;
	}
	most = info->max_width;
	least = info->min_width;
	free(info);
	if (!least)
		return rf_fail_say(
			err, -EINVAL,
			"expression %u (%.60s) matches nothing at all, and so everywhere", number,
			expression);
	if (most > RF_OWN_WIDE) {
		rf_fail_say(err, -EINVAL,
			    "expression %u (%.60s) matches texts of more than %d bytes", number,
			    expression, RF_OWN_WIDE);
		return rf_fail_hint(err, "bound what repeats: {1,200} in the place of + or *");
	}
	*wide = most > *wide ? most : *wide;
	return 0;
}

/*
 * Whether what it matches in a line is matched in many lines, too, with ^ and $ at each.  Anchors of the whole text, and words that turn that off, are
 * another matter.
 */
static bool is_plain(const char *at)
{
	for (; *at; at++) {
		if (*at == '\\' && at[1]) {
			if (strchr("AzZG", *++at))
				return false;
		} else if (*at == '(' && at[1] == '?') {
			if (memchr(at, '-', strcspn(at, ":)")))
				return false;
		}
	}
	return true;
}

/* Without it every line is looked at by itself, which is slower and nothing else. */
static void make_glance(struct rf_own *own, const char *const *expressions, unsigned *flags,
			const unsigned *ids, unsigned count)
{
	hs_compile_error_t *why = NULL;

	for (unsigned i = 0; i < count; i++) {
		flags[i] = HS_FLAG_MULTILINE;
		if (!is_plain(expressions[i]))
			return;
	}
	if (lib.hs_compile_multi(expressions, flags, ids, count, HS_MODE_BLOCK, NULL, &own->glance,
				 &why) != HS_SUCCESS) {
		lib.hs_free_compile_error(why);
		own->glance = NULL;
	}
}

/* ------------------------------------------------------------- all sets */

/* Each with its length, so that no two lists are one text.  To be freed. */
static char *join(const char *const *expressions, unsigned count)
{
	size_t size = 1, at = 0;
	char *text;

	for (unsigned i = 0; i < count; i++)
		size += strlen(expressions[i]) + LENGTH;
	text = calloc(1, size);
	for (unsigned i = 0; text && i < count; i++)
		at += (size_t)snprintf(text + at, size - at, "%zu:%s", strlen(expressions[i]),
				       expressions[i]);
	return text;
}

static struct rf_own *find(const char *text)
{
	struct rf_own *own = sets;

	while (own && strcmp(own->text, text) != 0)
		own = own->next;
	return own;
}

static int refuse(struct rf_err *err)
{
	rf_fail_say(err, -EDQUOT,
		    "this gateway has as many sets of rules of policies' own as it may: %zu",
		    set_count);
	return rf_fail_hint(err, "give boxes the same rules, which count once; or end some first");
}

/* Counts it in, if there is room for what it has become. */
static int enter(struct rf_own *own, struct rf_err *err)
{
	size_t parts[3] = { 0 };

	lib.hs_database_size(own->database, &parts[0]);
	if (own->glance)
		lib.hs_database_size(own->glance, &parts[1]);
	lib.hs_scratch_size(own->scratch, &parts[2]);
	own->bytes = parts[0] + parts[1] + parts[2];
	if (own->bytes > RF_OWN_BYTES - set_bytes) {
		own->bytes = 0;
		return refuse(err);
	}
	own->users = 1;
	own->next = sets;
	sets = own;
	set_count++;
	set_bytes += own->bytes;
	return 0;
}

static void leave(const struct rf_own *own)
{
	struct rf_own **at = &sets;

	while (*at && *at != own)
		at = &(*at)->next;
	if (!*at)
		return; /* it never was */
	*at = own->next;
	set_count--;
	set_bytes -= own->bytes;
}

static int compile(const char *const *expressions, unsigned count, struct rf_own *own,
		   struct rf_err *err)
{
	unsigned flags[RF_OWN_MAX], ids[RF_OWN_MAX];
	hs_compile_error_t *why = NULL;

	for (unsigned i = 0; i < count; i++) {
		flags[i] = FLAGS;
		ids[i] = i;
		if (check(expressions[i], i + 1, &own->wide, err) < 0)
			return err->code;
	}
	if (lib.hs_compile_multi(expressions, flags, ids, count, MODE, NULL, &own->database,
				 &why) != HS_SUCCESS) {
		rf_fail_say(err, -EINVAL, "expression %d: %s", why->expression + 1, why->message);
		lib.hs_free_compile_error(why);
		return err->code;
	}
	make_glance(own, expressions, flags, ids, count);
	if (lib.hs_alloc_scratch(own->database, &own->scratch) != HS_SUCCESS ||
	    (own->glance && lib.hs_alloc_scratch(own->glance, &own->scratch) != HS_SUCCESS))
		return rf_fail(err, -ENOMEM, "compile rules");
	return 0;
}

int rf_own_new(const char *const *expressions, unsigned count, struct rf_own **ret_own,
	       struct rf_err *err)
{
	struct rf_own *own;
	char *text;

	if (count == 0 || count > RF_OWN_MAX)
		return rf_fail_say(err, -E2BIG, "%u rules of a policy's own: at most %d", count,
				   RF_OWN_MAX);
	if (rf_own_load(err) < 0)
		return err->code;
	text = join(expressions, count);
	own = text ? find(text) : NULL;
	if (own) {
		free(text);
		own->users++;
		*ret_own = own;
		return 0;
	}
	own = text ? calloc(1, sizeof(*own)) : NULL;
	if (!own) {
		free(text);
		return rf_fail(err, -ENOMEM, "compile rules");
	}
	own->text = text;
	if ((set_count >= RF_OWN_SETS ? refuse(err) : compile(expressions, count, own, err)) < 0 ||
	    enter(own, err) < 0) {
		rf_own_free(own);
		return err->code;
	}
	*ret_own = own;
	return 0;
}

void rf_own_free(struct rf_own *own)
{
	if (!own || (own->users > 0 && --own->users > 0))
		return;
	leave(own);
	free(own->text);
	if (own->scratch)
		lib.hs_free_scratch(own->scratch);
	if (own->database)
		lib.hs_free_database(own->database);
	if (own->glance)
		lib.hs_free_database(own->glance);
	free(own);
}

int rf_own_stream_new(const struct rf_own *own, struct rf_own_stream **ret_stream,
		      struct rf_err *err)
{
	struct rf_own_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return rf_fail(err, -ENOMEM, "filter an answer");
	stream->own = own;
	if (lib.hs_open_stream(own->database, 0, &stream->stream) != HS_SUCCESS) {
		free(stream);
		return rf_fail(err, -ENOMEM, "filter an answer");
	}
	*ret_stream = stream;
	return 0;
}

void rf_own_stream_free(struct rf_own_stream *stream)
{
	if (!stream)
		return;
	lib.hs_close_stream(stream->stream, NULL, NULL, NULL);
	free(stream);
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
		    void *context)
{
	struct rf_own_stream *stream = context;

	stream->found(stream->context, stream->line + from, stream->line + to, id);
	return 0;
}

static int scan(struct rf_own_stream *stream, const char *data, size_t len)
{
	if (len && lib.hs_scan_stream(stream->stream, data, (unsigned)len, 0, stream->own->scratch,
				      on_match, stream) != HS_SUCCESS)
		return -EIO;
	stream->at += len;
	return 0;
}

static int on_glance(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
		     void *context)
{
	return 1; /* there is something: no need to look on */
}

/* How many bytes of whole lines, from the beginning of one, have nothing in them. */
static size_t pass_over(const struct rf_own_stream *stream, const char *data, size_t len)
{
	const char *end;

	if (!stream->own->glance || stream->at != stream->line || len < GLANCE_LEAST ||
	    len > INT_MAX)
		return 0;
	end = memrchr(data, '\n', len);
	if (!end)
		return 0;
	len = (size_t)(end - data) + 1;
	return lib.hs_scan(stream->own->glance, data, (unsigned)len, 0, stream->own->scratch,
			   on_glance, NULL) == HS_SUCCESS
		       ? len
		       : 0;
}

int rf_own_stream_feed(struct rf_own_stream *stream, const char *data, size_t len,
		       rf_own_found *found, void *context)
{
	bool is_looked_at = false;

	stream->found = found;
	stream->context = context;
	while (len) {
		size_t size = is_looked_at ? 0 : pass_over(stream, data, len);
		const char *end;
		int code;

		is_looked_at |= stream->at == stream->line; /* at most once: then line by line */
		if (size > 0) {
			stream->line = stream->at += size;
			data += size;
			len -= size;
			continue;
		}
		end = memchr(data, '\n', len);
		size = end ? (size_t)(end - data) : len;
		size = size > INT_MAX ? INT_MAX : size;
		code = scan(stream, data, size);
		if (code >= 0 && end)
			code = rf_own_stream_end(stream, found, context);
		if (code < 0)
			return code;
		if (end) {
			stream->line = ++stream->at;
			size++;
		}
		data += size;
		len -= size;
	}
	return 0;
}

int rf_own_stream_end(struct rf_own_stream *stream, rf_own_found *found, void *context)
{
	stream->found = found;
	stream->context = context;
	if (lib.hs_reset_stream(stream->stream, 0, stream->own->scratch, on_match, stream) !=
	    HS_SUCCESS)
		return -EIO;
	return 0;
}

unsigned long long rf_own_stream_open(const struct rf_own_stream *stream)
{
	unsigned long long seen = stream->at - stream->line;

	return seen > stream->own->wide ? stream->at - stream->own->wide : stream->line;
}
