/* What makes a box trust its own certificate authority: see trust.h. */
#include "egress/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/bundles.h"
#include "base/fd.h"
#include "policy/java-store.h"
#include "policy/key.h"

#define BUNDLE_MAX (4 * 1024 * 1024)
#define OWN        "/etc/ringfort/ca.pem"     /* the authority alone */
#define ALL        "/etc/ringfort/bundle.pem" /* with the system's, where that has no file of its own */
#define JAVA       "/etc/ringfort/cacerts"

/* Which file a variable leads to. */
enum file {
	ALONE,
	TOGETHER,
	FILE_COUNT
};

/* clang-format off */
static const struct {
	const char *name;
	enum file file;
	const char *who;
} variables[] = {
	{ "SSL_CERT_FILE",                      TOGETHER, "OpenSSL, Go, Ruby, Rust's native certificates, httpx" },
	{ "CURL_CA_BUNDLE",                     TOGETHER, "curl" },
	{ "REQUESTS_CA_BUNDLE",                 TOGETHER, "Python's requests, which brings its own" },
	{ "PIP_CERT",                           TOGETHER, "pip" },
	{ "HTTPLIB2_CA_CERTS",                  TOGETHER, "Python's httplib2" },
	{ "GIT_SSL_CAINFO",                     TOGETHER, "git" },
	{ "NODE_EXTRA_CA_CERTS",                ALONE,    "Node" },
	{ "npm_config_cafile",                  TOGETHER, "npm" },
	{ "DENO_CERT",                          ALONE,    "Deno" },
	{ "CARGO_HTTP_CAINFO",                  TOGETHER, "Cargo" },
	{ "AWS_CA_BUNDLE",                      TOGETHER, "AWS' tools" },
	{ "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", TOGETHER, "gcloud" },
	{ "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",   TOGETHER, "gRPC" },
	{ "BUNDLE_SSL_CA_CERT",                 TOGETHER, "Ruby's bundler" },
	{ "COMPOSER_CAFILE",                    TOGETHER, "PHP's composer" },
	{ "PERL_LWP_SSL_CA_FILE",               TOGETHER, "Perl" },
	{ "NIX_SSL_CERT_FILE",                  TOGETHER, "Nix" },
	{ "JULIA_SSL_CA_ROOTS_PATH",            TOGETHER, "Julia" },
};
/* clang-format on */

static const char *const bundles[] = { RF_BUNDLES };
static const char *const java_stores[] = { "/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts" };
/* Where browsers look for what their owner has decided. */
static const char *const browsers[] = { "/etc/chromium/policies/managed/ringfort.json",
					"/etc/opt/chrome/policies/managed/ringfort.json" };

#define PLACES (1 + RF_LEN(bundles) + 1 + RF_LEN(java_stores) + 1 + RF_LEN(browsers))

struct rf_trust {
	struct rf_buf own, all, java, browser;
	char paths[PLACES][PATH_MAX];
	struct rf_place places[PLACES];
	size_t count;
	const char *files[FILE_COUNT];
	bool has_java; /* where Java looks by itself */
};

static const char *add(struct rf_trust *trust, enum rf_place_kind kind, const char *path,
		       const char *content, const char *why)
{
	char *copy = trust->paths[trust->count];

	snprintf(copy, PATH_MAX, "%s", path);
	trust->places[trust->count++] = (struct rf_place){
		.kind = kind,
		.path = copy,
		.source = content,
		.rights = RF_RIGHT_READ,
		.why = why,
		.rule = "network",
	};
	return copy;
}

/* True if there is a place at that path already: two names of one file. */
static bool is_covered(const struct rf_trust *trust, const char *path)
{
	for (size_t i = 0; i < trust->count; i++)
		if (strcmp(trust->places[i].path, path) == 0)
			return true;
	return false;
}

/* Covers each file of the host that is there, where it really lies; gives the first. */
static const char *cover(struct rf_trust *trust, const char *const *names, size_t count,
			 enum rf_place_kind kind, const char *content, const char *why)
{
	const char *first = NULL;

	for (size_t i = 0; i < count; i++) {
		char real[PATH_MAX];

		/* What lies outside of /etc is in a tree that a box may see elsewhere, or not at all. */
		if (!realpath(names[i], real) || strncmp(real, "/etc/", 5) != 0 ||
		    is_covered(trust, real))
			continue;
		if (!first)
			first = names[i];
		add(trust, kind, real, content, why);
	}
	return first;
}

/* The system's certificates and ours.  A system without any has programs that bring their own. */
static int gather(struct rf_trust *trust, const char *ca_pem, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(bundles) && trust->all.len == 0; i++) {
		RF_AUTO_FD int fd = rf_fd_open(bundles[i], O_RDONLY);
		char *place;
		ssize_t n = 1;

		while (fd >= 0 && n > 0 && (place = rf_buf_reserve(&trust->all, 65536))) {
			n = read(fd, place, 65536);
			rf_buf_grew(&trust->all, n > 0 ? (size_t)n : 0);
		}
		if (n < 0)
			return rf_fail(err, -errno, "read %s", bundles[i]);
	}
	if (trust->all.len > 0 && trust->all.data[trust->all.len - 1] != '\n')
		rf_buf_puts(&trust->all, "\n");
	rf_buf_puts(&trust->all, ca_pem);
	rf_buf_puts(&trust->own, ca_pem);
	return trust->all.has_failed || trust->own.has_failed
		       ? rf_fail(err, -ENOMEM, "the certificates of authorities")
		       : 0;
}

static int make_java(struct rf_trust *trust, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf store;
	int code;

	rf_buf_init(&store, BUNDLE_MAX);
	code = rf_java_store_format(trust->all.data, &store);
	if (code < 0)
		return rf_fail(err, code, "write the certificates for Java");
	rf_base64_encode(store.data, store.len, &trust->java);
	return trust->java.has_failed ? rf_fail(err, -ENOMEM, "write the certificates for Java")
				      : 0;
}

/* Chromium trusts what a policy of its machine's owner names (CACertificates), as text without its frame. */
static int make_browser(struct rf_trust *trust, struct rf_err *err)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";
	const char *at = strstr(trust->own.data, begin), *end = at ? strstr(at, "-----END") : NULL;

	if (!end)
		return rf_fail_say(err, -EINVAL, "the gateway's certificate is none");
	rf_buf_puts(&trust->browser, "{\"CACertificates\":[\"");
	for (at += sizeof(begin) - 1; at < end; at++)
		if (*at != '\n' && *at != '\r')
			rf_buf_add(&trust->browser, at, 1);
	rf_buf_puts(&trust->browser, "\"]}\n");
	return trust->browser.has_failed ? rf_fail(err, -ENOMEM, "a browser's policy") : 0;
}

int rf_trust_new(const char *ca_pem, struct rf_trust **ret_trust, struct rf_err *err)
{
	struct rf_trust *trust = calloc(1, sizeof(*trust));

	if (!trust)
		return rf_fail(err, -ENOMEM, "certificates");
	rf_buf_init(&trust->own, BUNDLE_MAX);
	rf_buf_init(&trust->all, BUNDLE_MAX);
	rf_buf_init(&trust->java, BUNDLE_MAX);
	rf_buf_init(&trust->browser, BUNDLE_MAX);
	if (gather(trust, ca_pem, err) < 0 || make_java(trust, err) < 0 ||
	    make_browser(trust, err) < 0) {
		rf_trust_free(trust);
		return err->code;
	}
	trust->files[ALONE] =
		add(trust, RF_PLACE_TEXT, OWN, trust->own.data, "TLS: the gateway's own authority");
	trust->files[TOGETHER] =
		cover(trust, bundles, RF_LEN(bundles), RF_PLACE_TEXT, trust->all.data,
		      "TLS: certificates of authorities, and the gateway's own");
	if (!trust->files[TOGETHER])
		trust->files[TOGETHER] =
			add(trust, RF_PLACE_TEXT, ALL, trust->all.data,
			    "TLS: certificates of authorities, and the gateway's own");
	trust->has_java = cover(trust, java_stores, RF_LEN(java_stores), RF_PLACE_DATA,
				trust->java.data, "Java: the same");
	if (!trust->has_java)
		add(trust, RF_PLACE_DATA, JAVA, trust->java.data, "Java: the same");
	for (size_t i = 0; i < RF_LEN(browsers); i++)
		add(trust, RF_PLACE_TEXT, browsers[i], trust->browser.data, "Chromium: the same");
	*ret_trust = trust;
	return 0;
}

void rf_trust_free(struct rf_trust *trust)
{
	if (!trust)
		return;
	rf_buf_done(&trust->own);
	rf_buf_done(&trust->all);
	rf_buf_done(&trust->java);
	rf_buf_done(&trust->browser);
	free(trust);
}

const struct rf_place *rf_trust_places(const struct rf_trust *trust, size_t *ret_count)
{
	*ret_count = trust->count;
	return trust->places;
}

static int set(struct rf_policy *policy, const char *name, const char *value, struct rf_err *err)
{
	struct rf_list *list = &policy->values[RF_KEY_SET].list;

	if (rf_list_find(list, name) || rf_list_find(&policy->values[RF_KEY_PASS].list, name))
		return 0;
	policy->set |= RF_KEY_BIT(RF_KEY_SET);
	return rf_list_assign(list, name, value) < 0 ? rf_fail(err, -ENOMEM, "env") : 0;
}

int rf_trust_set(const struct rf_trust *trust, struct rf_policy *policy, struct rf_err *err)
{
	for (size_t i = 0; i < RF_LEN(variables); i++)
		if (set(policy, variables[i].name, trust->files[variables[i].file], err) < 0)
			return err->code;
	/* Java says on standard error that it has read it, so only where it must. */
	return trust->has_java ? 0
			       : set(policy, "JAVA_TOOL_OPTIONS",
				     "-Djavax.net.ssl.trustStore=" JAVA
				     " -Djavax.net.ssl.trustStorePassword=" RF_JAVA_STORE_PASSWORD,
				     err);
}
