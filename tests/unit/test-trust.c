/* What makes a box trust its own certificate authority: src/cli/trust.c. */
#include "egress/trust.h"

#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "harness.h"
#include "policy/key.h"

#define PEM "-----BEGIN CERTIFICATE-----\nTUlJRmFrZQ==\n-----END CERTIFICATE-----\n" /* "MIIFake" */

static const struct rf_place *find(const struct rf_trust *trust, const char *path)
{
	size_t count;
	const struct rf_place *places = rf_trust_places(trust, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(places[i].path, path) == 0)
			return &places[i];
	return NULL;
}

RF_TEST(files_with_the_authority_are_brought_and_cover_the_systems)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_trust *trust;
	const struct rf_place *places, *place;
	size_t count;

	RF_REQUIRE(rf_trust_new(PEM, &trust, &err) == 0, "%s", err.msg);
	place = find(trust, "/etc/ringfort/ca.pem");
	RF_CHECK(place && strcmp(place->source, PEM) == 0, "alone");
	place = find(trust, "/etc/chromium/policies/managed/ringfort.json");
	RF_CHECK(place && strcmp(place->source, "{\"CACertificates\":[\"TUlJRmFrZQ==\"]}\n") == 0,
		 "%s", place ? place->source : "none");
	places = rf_trust_places(trust, &count);
	for (size_t i = 0; i < count; i++) {
		RF_CHECK(places[i].rights == RF_RIGHT_READ, "%s can be written", places[i].path);
		RF_CHECK(strncmp(places[i].path, "/etc/", 5) == 0, "%s", places[i].path);
		for (size_t j = 0; j < i; j++)
			RF_CHECK(strcmp(places[i].path, places[j].path) != 0, "twice: %s",
				 places[i].path);
	}
	if (find(trust, "/etc/ssl/certs/ca-certificates.crt")) {
		const char *all = find(trust, "/etc/ssl/certs/ca-certificates.crt")->source;

		RF_CHECK(strlen(all) > strlen(PEM) &&
				 strcmp(all + strlen(all) - strlen(PEM), PEM) == 0,
			 "not behind the system's");
	}
	rf_trust_free(trust);
}

RF_TEST(variables_lead_to_them_unless_the_policy_has_others)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_trust *trust;
	const struct rf_list *set;

	RF_REQUIRE(policy && rf_trust_new(PEM, &trust, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_policy_set(policy, "env.set", "CURL_CA_BUNDLE=/mine", "/", "/", &err) == 0 &&
			   rf_policy_set(policy, "env.pass", "DENO_CERT", "/", "/", &err) == 0,
		   "%s", err.msg);
	RF_REQUIRE(rf_trust_set(trust, policy, &err) == 0, "%s", err.msg);
	set = &policy->values[RF_KEY_SET].list;
	RF_CHECK(strcmp(rf_list_find(set, "CURL_CA_BUNDLE")->value, "/mine") == 0, "replaced");
	RF_CHECK(!rf_list_find(set, "DENO_CERT"), "what is passed is replaced");
	RF_CHECK(strcmp(rf_list_find(set, "NODE_EXTRA_CA_CERTS")->value, "/etc/ringfort/ca.pem") ==
			 0,
		 "Node");
	RF_CHECK(rf_list_find(set, "SSL_CERT_FILE"), "OpenSSL");
	/* What a variable leads to is there. */
	for (size_t i = 0; i < set->count; i++)
		if (strncmp(set->items[i].value, "/etc/ringfort/", 14) == 0)
			RF_CHECK(find(trust, set->items[i].value), "%s", set->items[i].value);
	rf_trust_free(trust);
	rf_policy_free(policy);
}

RF_TEST(what_is_no_certificate_is_refused)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_trust *trust;

	RF_CHECK(rf_trust_new("", &trust, &err) < 0, "nothing");
	RF_CHECK(rf_trust_new("-----BEGIN CERTIFICATE-----\nA*A=\n-----END CERTIFICATE-----\n",
			      &trust, &err) < 0,
		 "no base64");
	RF_CHECK(rf_trust_new("-----BEGIN CERTIFICATE-----\nAAAA\n", &trust, &err) < 0, "no end");
}
