/* Who asks: see holder.h. */
#include "server/holder.h"

#include <errno.h>
#include <ringfort/ringfort.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "lib/fort.h"
#include "policy/policy.h"

struct rf_holder *rf_holder_new(const struct rf_pass_holder *pass, int *line, int *clerk,
				struct rf_err *err)
{
	struct rf_holder *holder = calloc(1, sizeof(*holder));
	struct ringfort *fort = rf_fort_over(line);
	struct rf_policy *ceiling = NULL;

	if (!holder || !fort)
		rf_fail(err, -ENOMEM, "a key");
	else if (rf_policy_parse(pass->ceiling, strlen(pass->ceiling), "/", "/", &ceiling, err) < 0)
		rf_fail_in(err, "the ceiling of key %s", pass->key);
	if (!ceiling) {
		free(holder);
		ringfort_close(fort);
		rf_fd_done(clerk);
		return NULL;
	}
	holder->users = 1;
	holder->pass = *pass;
	holder->pass.ceiling = NULL;
	holder->ceiling = ceiling;
	holder->fort = fort;
	rf_petition_init(&holder->clerk);
	holder->clerk.fd = rf_fd_take(clerk);
	holder->last = &holder->first;
	rf_admit_init(&holder->admit, pass->boxes, pass->rate);
	return holder;
}

struct rf_holder *rf_holder_ref(struct rf_holder *holder)
{
	holder->users++;
	return holder;
}

void rf_holder_unref(struct rf_holder *holder)
{
	if (!holder || --holder->users > 0)
		return;
	rf_petition_done(&holder->clerk);
	ringfort_close(holder->fort);
	rf_policy_free(holder->ceiling);
	free(holder->within);
	free(holder);
}

bool rf_holder_is_of(const struct rf_holder *holder, const uint8_t token_hash[RF_SHA256_BYTES])
{
	volatile uint8_t differs = 0;

	for (size_t i = 0; i < RF_SHA256_BYTES; i++)
		differs = (uint8_t)(differs | (token_hash[i] ^ holder->token_hash[i]));
	return differs == 0;
}
