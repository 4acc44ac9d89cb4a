/*
 * ringfort-serve: boxes for others, over HTTP; `ringfort serve` becomes it.
 *
 *   --listen ADDRESS:PORT   a TCP port for who has a key; may be repeated
 *   --host NAME             a name that requests there may be for; may be repeated
 *   --origin URL            a page's origin whose scripts may ask; may be repeated
 *   --tls-cert FILE         ports speak TLS: their certificate, with what leads to a root behind it
 *   --tls-key FILE          and its key
 *   --tls-client-ca FILE    and clients need a certificate of this authority
 *   --keep-sandboxes        they outlive it for the grace, however it ends
 *   --grace SECONDS         that they outlive a server that was killed (default 30)
 *   --check                 look whether it could be served like this
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/url.h"
#include "server/landlord.h"

#define EXIT_FAILED 125

static int complain(const struct rf_err *err)
{
	fprintf(stderr, "ringfort serve: %s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	return EXIT_FAILED;
}

static int too_many(const char *what, struct rf_err *err)
{
	return rf_fail_say(err, -E2BIG, "%s: too many of them", what);
}

static int add_listen(struct rf_landlord_options *options, const char *value, struct rf_err *err)
{
	size_t i = 0;

	while (options->listen[i])
		i++;
	if (i == RF_LANDLORD_MOST)
		return too_many("--listen", err);
	options->listen[i] = value;
	return 0;
}

/* In the one form that names and origins of requests are compared in. */
static int add_host(struct rf_landlord_options *options, const char *value, struct rf_err *err)
{
	struct rf_host host;
	size_t i = 0;

	while (options->hosts[i])
		i++;
	if (i == RF_LEN(options->hosts) - 1)
		return too_many("--host", err);
	if (rf_host_parse(rf_span_of(value), &host)) {
		rf_fail_say(err, -EINVAL, "--host: `%.60s` is no name of a host", value);
		return rf_fail_hint(err, "for example: --host boxes.example, without a port");
	}
	options->hosts[i] = strdup(host.text);
	return options->hosts[i] ? 0 : rf_fail(err, -ENOMEM, "--host");
}

static int add_origin(struct rf_landlord_options *options, const char *value, struct rf_err *err)
{
	struct rf_url url;
	size_t i = 0;

	while (options->origins[i])
		i++;
	if (i == RF_LEN(options->origins) - 1)
		return too_many("--origin", err);
	if (rf_url_parse(rf_span_of(value), &url) || url.path.len || url.has_query) {
		rf_fail_say(err, -EINVAL, "--origin: `%.60s` is no origin", value);
		return rf_fail_hint(err, "for example: --origin https://ui.example");
	}
	options->origins[i] = strdup(value);
	return options->origins[i] ? 0 : rf_fail(err, -ENOMEM, "--origin");
}

static int set_grace(struct rf_landlord_options *options, const char *value, struct rf_err *err)
{
	unsigned long long seconds;

	if (rf_span_number(rf_span_of(value), 86400, &seconds) < 0 || seconds < 1) {
		rf_fail_say(err, -EINVAL, "--grace: `%.20s` is no number of seconds", value);
		return rf_fail_hint(err, "from 1 to 86400");
	}
	options->grace_s = (uint32_t)seconds;
	return 0;
}

static int read_line(int argc, char **argv, struct rf_landlord_options *options, struct rf_err *err)
{
	int code = 0;

	for (int i = 1; i < argc && code == 0; i++) {
		const char *value = argv[i + 1];

		if (strcmp(argv[i], "--check") == 0) {
			options->only_checks = true;
			continue;
		}
		if (strcmp(argv[i], "--keep-sandboxes") == 0) {
			options->keeps_sandboxes = true;
			continue;
		}
		if (value && strcmp(argv[i], "--listen") == 0)
			code = add_listen(options, value, err);
		else if (value && strcmp(argv[i], "--host") == 0)
			code = add_host(options, value, err);
		else if (value && strcmp(argv[i], "--origin") == 0)
			code = add_origin(options, value, err);
		else if (value && strcmp(argv[i], "--tls-cert") == 0)
			options->papers.certificate = value;
		else if (value && strcmp(argv[i], "--tls-key") == 0)
			options->papers.key = value;
		else if (value && strcmp(argv[i], "--tls-client-ca") == 0)
			options->papers.clients = value;
		else if (value && strcmp(argv[i], "--grace") == 0)
			code = set_grace(options, value, err);
		else {
			code = rf_fail_say(err, -EINVAL, "what is %.64s?", argv[i]);
			rf_fail_hint(err, "start it with `ringfort serve`");
		}
		i++;
	}
	return code;
}

static void find_folder(char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

int main(int argc, char **argv)
{
	char folder[4096];
	struct rf_landlord_options options = { .folder = folder, .grace_s = RF_LANDLORD_GRACE };
	struct rf_err err = RF_ERR_INIT;
	int code;

	find_folder(folder, sizeof(folder));
	code = read_line(argc, argv, &options, &err);
	if (code == 0)
		code = rf_landlord_serve(&options, &err);
	for (size_t i = 0; i < RF_LEN(options.hosts); i++) {
		free(options.hosts[i]);
		free(options.origins[i]);
	}
	return code < 0 ? complain(&err) : 0;
}
