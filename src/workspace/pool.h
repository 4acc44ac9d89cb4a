/*
 * The pool: where the layers of all workspaces lie, $STATE/layers/all.
 *
 * A layer is a folder with a random name of 16 hexadecimal digits.  Beneath it, `up` holds what one run changed, in
 * overlayfs's own form, and `work` is overlayfs's workshop.  A layer is never changed once its run has ended; that is
 * what lets workspaces share it.  While the run lasts, its launcher holds a lock on the folder: a layer that nobody
 * holds and no workspace knows is what a killed launcher left.
 */
#ifndef RF_WORKSPACE_POOL_H
#define RF_WORKSPACE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"

#define RF_LAYER_ID 17 /* with its end */

/* Opens the pool, `may_make`: and makes it.  Its path goes to `path`.  Returns a descriptor or a negative errno. */
int rf_pool_open(bool may_make, char *path, size_t size, struct rf_err *err);

/* The path that it has, or will have. */
int rf_pool_path(char *path, size_t size, struct rf_err *err);

/* A name for a layer to come. */
int rf_pool_name(char ret_id[RF_LAYER_ID]);

/*
 * Makes an empty layer, to be put over a directory whose owner and mode are those of `top`.  Returns a descriptor that
 * holds it, or a negative errno.
 */
int rf_pool_make(int pool, const char *id, const struct stat *top, struct rf_err *err);

/* The folder of what a layer changed, or a negative errno. */
int rf_pool_open_layer(int pool, const char *id);

/* The run has ended: takes overlayfs's workshop away, which no layer beneath another needs. */
void rf_pool_close(int pool, const char *id);

/* Takes a layer away, with all that is in it. */
int rf_pool_remove(int pool, const char *id, struct rf_err *err);

/* True for the name of a layer. */
bool rf_pool_is_id(const char *text);

#endif
