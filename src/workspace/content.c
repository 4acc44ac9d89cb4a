/* What is in a file: see content.h. */
#include "workspace/content.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define BLOCK ((off_t)4096)
#define PIECE ((size_t)256 << 10) /* a multiple of that */

/* Where the next data may be, at or behind `at`, from the beginning of a block on; `size` if there is none. */
static off_t next_data(int file, off_t at, off_t size)
{
	off_t data = lseek(file, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at; /* or a file system that does not tell */
	return data - data % BLOCK > at ? data - data % BLOCK : at;
}

/* Reads what is at `at`, as much as there is room for.  Returns how much, or a negative errno. */
static ssize_t read_at(int file, char *piece, size_t room, off_t at)
{
	size_t len = 0;

	while (len < room) {
		ssize_t n = pread(file, piece + len, room - len, at + (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* How much of a file of this size is read at once: of most files all, and little memory. */
static size_t room_for(off_t size)
{
	return size < (off_t)PIECE ? (size_t)(size + BLOCK - size % BLOCK) : PIECE;
}

static bool is_zero(const char *data, size_t len)
{
	return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

static void add_number(struct rf_sha256 *sha, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	rf_sha256_add(sha, bytes, sizeof(bytes));
}

/* Each block that is not all zeros, with its place; so holes and zeros that were written are one. */
static void add_blocks(struct rf_sha256 *sha, const char *piece, size_t len, off_t at)
{
	for (size_t done = 0; done < len; done += (size_t)BLOCK) {
		size_t some = len - done < (size_t)BLOCK ? len - done : (size_t)BLOCK;

		if (is_zero(piece + done, some))
			continue;
		add_number(sha, (uint64_t)at + done);
		rf_sha256_add(sha, piece + done, some);
	}
}

/* Returns 0 or a negative errno. */
static int hash_pieces(int file, off_t size, char *piece, size_t room, struct rf_sha256 *sha)
{
	off_t at = 0;

	while ((at = next_data(file, at, size)) < size) {
		ssize_t n = read_at(file, piece, room, at);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break; /* it shrank meanwhile */
		add_blocks(sha, piece, (size_t)n, at);
		at += n;
	}
	return 0;
}

int rf_content_hash(int file, uint8_t hash[RF_SHA256_BYTES])
{
	struct rf_sha256 sha;
	struct stat st;
	char *piece;
	int code;

	if (fstat(file, &st) < 0)
		return -errno;
	piece = malloc(room_for(st.st_size));
	if (!piece)
		return -ENOMEM;
	rf_sha256_init(&sha);
	code = hash_pieces(file, st.st_size, piece, room_for(st.st_size), &sha);
	free(piece);
	if (code < 0)
		return code;
	add_number(&sha, (uint64_t)st.st_size);
	rf_sha256_end(&sha, hash);
	return 0;
}

/* Returns 1, 0 or a negative errno. */
static int compare_pieces(int one, int two, off_t size, char *pieces, size_t room)
{
	off_t at = 0;

	while (at < size) {
		off_t left = next_data(one, at, size), right = next_data(two, at, size);
		ssize_t n, m;

		at = left < right ? left : right; /* what is a hole in both is the same in both */
		if (at >= size)
			break;
		n = read_at(one, pieces, room, at);
		m = read_at(two, pieces + room, room, at);
		if (n < 0 || m < 0)
			return (int)(n < 0 ? n : m);
		if (n != m || memcmp(pieces, pieces + room, (size_t)n) != 0)
			return 0;
		if (n == 0)
			break;
		at += n;
	}
	return 1;
}

int rf_content_is_same(int one, int two)
{
	struct stat st, other;
	char *pieces;
	int code;

	if (fstat(one, &st) < 0 || fstat(two, &other) < 0)
		return -errno;
	if (st.st_size != other.st_size)
		return 0;
	pieces = malloc(2 * room_for(st.st_size));
	code = pieces ? compare_pieces(one, two, st.st_size, pieces, room_for(st.st_size))
		      : -ENOMEM;
	free(pieces);
	return code;
}
