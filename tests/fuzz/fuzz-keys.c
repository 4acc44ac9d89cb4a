/*
 * What a terminal sends: any bytes, with silences between them (0xfe).  A key is a character or one of the special ones, nothing that
 * is pasted is a command, and after a silence nothing is left of what was before.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "replay.h"
#include "top/keys.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check(const struct rf_key *key)
{
	require(key->code != 0 && key->code <= RF_KEYS_DELETE);
	require(!(key->code >= 0xd800 && key->code <= 0xdfff));
	require(!key->is_pasted || (key->code >= 0x20 && key->code < 0x110000));
}

RF_FUZZ(data, size)
{
	struct rf_keys keys = { 0 };
	struct rf_key key;

	for (size_t i = 0; i < size; i++) {
		if (data[i] == 0xfe) {
			if (rf_keys_give_up(&keys, &key))
				check(&key);
			require(rf_keys_wait_ms(&keys) == 0);
		} else if (rf_keys_take(&keys, data[i], &key)) {
			check(&key);
		}
		require(keys.state == RF_KEYS_GROUND || rf_keys_wait_ms(&keys) > 0);
	}
	rf_keys_give_up(&keys, &key);
	require(rf_keys_take(&keys, 'q', &key) && key.code == 'q' && !key.is_pasted);
	return 0;
}
