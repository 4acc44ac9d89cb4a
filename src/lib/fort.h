/*
 * What the files of libringfort share.  None of it is seen from outside: see include/ringfort/ringfort.h.
 */
#ifndef RF_LIB_FORT_H
#define RF_LIB_FORT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "policy/policy.h"

struct ringfort_error;
struct rf_errand;

struct ringfort {
	int users; /* the caller, and each box: freed with the last; changed atomically */
	int fd;    /* a private warden's connection; of a standing one -1: each box has its own */
	int pid;
	int is_lesser;
	char *home;
	char *gateway;        /* the program that boxes with a network get one of */
	bool has_own_gateway; /* the caller named it: no standing one is used */
	bool is_steady; /* its process changes none of its own limits, so they are noted once: */
	struct rf_errand *caller; /* or NULL */
};

struct ringfort_policy {
	struct rf_policy *policy; /* what the text says, without the defaults */
	char *request;            /* the same as text, with every path absolute */
	char *whole;              /* over the defaults, for people */
	struct rf_policy *full;   /* the same, where the box needs a gateway; or NULL */
	struct rf_net *net;       /* what that may let through; or NULL */
	char *agent;              /* or NULL */
	uint64_t output_limit;
};

/* A copy of a struct that the caller made with another header: what it does not have is zero. */
int rf_fort_take_struct(void *to, size_t to_size, size_t least, const void *from,
			struct rf_err *err);

/* Tells the caller, where it wants to know.  Returns err->code. */
int rf_fort_tell(struct ringfort_error *error, const struct rf_err *err);

/* One more who needs the warden, and one less. */
struct ringfort *rf_fort_ref(struct ringfort *fort);
void rf_fort_unref(struct ringfort *fort);

/* A fort over a connection to a warden that there is already (takes `*fd`), of a process that is steady; NULL without memory. */
struct ringfort *rf_fort_over(int *fd);

/* A connection of a box's own.  Gives `*ret_fd`. */
int rf_fort_connect(struct ringfort *fort, int *ret_fd, struct rf_err *err);

#endif
