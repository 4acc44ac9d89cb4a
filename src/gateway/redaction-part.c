/*
 * What a box's answers are looked at for: the values of its credentials, and, where the policy says `network.filter: on`, tokens, keys and passwords by
 * their form.
 *
 * A credential that is added outside must not come back in: a server that echoes its request, or tells a token's owner about it, would
 * hand it over.  A value of several parts (AWS: ID:SECRET:TOKEN) is looked for part by part, but for the first, which is in every signed request and no
 * secret.
 */
#include "gateway/redaction-part.h"

#include <errno.h>
#include <string.h>

#include "gateway/redaction.h"

#define PARTS      3  /* of one value */
#define LINE_LEAST 32 /* bytes of a line that can be taken for nothing else */

static const struct rf_net_credential *credential_of(const struct rf_net *net, const char *name)
{
	for (size_t i = 0; i < net->credential_count; i++)
		if (!strcmp(net->credentials[i].name, name))
			return &net->credentials[i];
	return NULL;
}

/* The first lines of a key in PEM: whoever has the key has these, however lines are ended there. */
static unsigned list_lines(const char *pem, struct rf_sieve_secret *list)
{
	const char *at = strstr(pem, "PRIVATE KEY-----");
	unsigned count = 0;

	at = at ? strchr(at, '\n') : NULL;
	while (at && count < PARTS) {
		size_t len = strcspn(++at, "\r\n");

		if (len < LINE_LEAST || memchr(at, '-', len))
			break;
		list[count++] = (struct rf_sieve_secret){ at, len };
		at = strchr(at, '\n');
	}
	return count;
}

/* Lists what is to be looked for of one value (borrows). */
static unsigned list_parts(const struct rf_net *net, const struct rf_gate_credential *given,
			   struct rf_sieve_secret *list)
{
	const struct rf_net_credential *credential = credential_of(net, given->name);
	const char *at = given->value;
	unsigned count = 0;

	if (credential && credential->how == RF_NET_CERTIFICATE)
		return list_lines(at, list);
	if (!credential || credential->how != RF_NET_SIGV4) {
		list[0] = (struct rf_sieve_secret){ at, strlen(at) };
		return 1;
	}
	/* A secret key has no colon, a token none either; what is behind the second one is a token as a whole. */
	at = strchr(at, ':');
	while (at && count < PARTS - 1) {
		const char *end = count == 0 ? strchr(at + 1, ':') : NULL;

		at++;
		list[count++] =
			(struct rf_sieve_secret){ at, end ? (size_t)(end - at) : strlen(at) };
		at = end;
	}
	return count;
}

static void on_told(void *context, const struct rf_forward_place *place, const char *words)
{
	struct rf_outlet *outlet = context;
	struct rf_gate_event event = {
		.kind = RF_GATE_SECRET,
		.verdict = RF_GATE_ALLOWED,
		.host = place->host.text,
		.address = "",
		.port = place->port,
		.method = "",
		.path = "",
		.credential = "",
		.rule = "",
		.reason = words,
		.remedy = "",
	};

	rf_note_tell(outlet->note, &event);
}

int rf_redaction_part_open(struct rf_outlet *outlet, const struct rf_gate_open *open, void **own,
			   struct rf_err *err)
{
	struct rf_sieve_secret list[RF_GATE_CREDENTIALS * PARTS];
	struct rf_redaction_config config = {
		.secrets = { .secrets = list,
			     .has_rules = outlet->net->filters_answers,
			     .own_rules = outlet->net->masks,
			     .own_count = (unsigned)outlet->net->mask_count },
		.told = on_told,
		.context = outlet,
	};
	struct rf_redaction *redaction = NULL;

	for (size_t i = 0; i < open->credential_count; i++)
		config.secrets.secret_count += list_parts(outlet->net, &open->credentials[i],
							  list + config.secrets.secret_count);
	if (!config.secrets.secret_count && !config.secrets.has_rules && !config.secrets.own_count)
		return 0;
	if (rf_redaction_new(&config, &redaction, err) < 0)
		return config.secrets.own_count ? rf_fail_in(err, "network.mask") : err->code;
	*own = redaction;
	if (!rf_redaction_is_idle(redaction) &&
	    !rf_outlet_add_filter(outlet, &rf_redaction_filter, redaction))
		return rf_fail_say(err, -ENOSPC, "too many filters on one box");
	return 0;
}

int rf_redaction_part_change(struct rf_outlet *outlet, void *own, struct rf_err *err)
{
	const struct rf_sieve_config rules = {
		.has_rules = outlet->net->filters_answers,
		.own_rules = outlet->net->masks,
		.own_count = (unsigned)outlet->net->mask_count,
	};

	/* Answers that are under way were begun with the rules, or without them. */
	if (!rf_redaction_is_for(own, &rules))
		return rf_fail_say(
			err, -EBUSY,
			"network.filter and network.mask stay as they are while a box lives");
	return 0;
}

void rf_redaction_part_close(struct rf_outlet *outlet, void *own)
{
	rf_redaction_free(own);
}
