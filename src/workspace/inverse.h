/*
 * The inverse of an apply: a layer that has what the apply overwrites.  Over the directory it is what the directory was,
 * whatever part of the apply has been done: old files where files change, whiteouts where names are new.
 */
#ifndef RF_WORKSPACE_INVERSE_H
#define RF_WORKSPACE_INVERSE_H

#include <stdbool.h>

#include "workspace/apply.h"
#include "workspace/pool.h"

/*
 * Keeps what the changes of `apply` that will be made overwrite in `base`, in a new layer whose name goes to `id`.
 * Returns a descriptor that holds the layer, or a negative errno, and nothing is left then.
 */
int rf_inverse_make(int pool, int base, const struct rf_apply *apply, bool is_durable,
		    char id[RF_LAYER_ID], struct rf_err *err);

/* 1 if an inverse has what was at `path`: by itself, or by a folder above that was not there; 0, or a negative errno. */
int rf_inverse_has(int inverse, const char *path);

#endif
