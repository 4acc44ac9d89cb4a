/*
 * The head of a program: what the kernel needs besides the file itself to start it.
 *
 * A script names its interpreter in the first line, an ELF program its loader in a segment.  Pure: the
 * caller reads the bytes.  What can't be understood needs nothing, and if that was wrong the
 * kernel refuses to start it.
 */
#ifndef RF_JAIL_HEAD_H
#define RF_JAIL_HEAD_H

#include <stddef.h>
#include <stdint.h>

#define RF_HEAD_BYTES  4096 /* as much of the file as is looked at */
#define RF_HEAD_NAME   256  /* room for one name; the kernel reads no more of a first line either */
#define RF_HEAD_LOADER 4096 /* PATH_MAX: the longest loader's name that the kernel takes */

struct rf_head {
	char interpreter[RF_HEAD_NAME]; /* of a script: an absolute path, or "" */
	char program[RF_HEAD_NAME];     /* what that starts, where it is env(1): a name, or "" */
	uint64_t loader_at;             /* of an ELF program: where the loader's name stands */
	size_t loader_len;              /* with its NUL; 0: there is none */
};

void rf_head_parse(const void *bytes, size_t len, struct rf_head *ret_head);

#endif
