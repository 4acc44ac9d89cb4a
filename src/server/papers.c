/* Who a server is, as files: see papers.h. */
#include "server/papers.h"

#include <errno.h>
#include <string.h>

#include "base/slurp.h"
#include "server/pass.h"
#include "tls/tls.h"

bool rf_papers_are_named(const struct rf_papers_paths *paths)
{
	return paths->certificate || paths->key || paths->clients;
}

void rf_papers_done(struct rf_buf *message)
{
	if (message->data)
		explicit_bzero(message->data, message->room);
	rf_buf_done(message);
}

static int read_one(const char *option, const char *path, struct rf_buf *text, struct rf_err *err)
{
	if (!path)
		return 0;
	if (rf_slurp(path, RF_PASS_PEM, text, err) < 0)
		return rf_fail_in(err, "%s", path);
	if (strlen(text->data) == text->len)
		return 0;
	rf_fail_say(err, -EINVAL, "%s: there is a NUL in it", path);
	return rf_fail_hint(err, "%s takes text, as PEM", option);
}

static int check(const struct rf_pass_tls *tls, struct rf_err *err)
{
	const struct rf_tls_server_how how = {
		.certificate_pem = tls->certificate,
		.key_pem = tls->key,
		.clients_pem = tls->clients,
	};
	struct rf_tls_server *server;

	if (rf_tls_server_new(&how, &server, err) < 0)
		return err->code;
	rf_tls_server_free(server);
	return 0;
}

int rf_papers_read(const struct rf_papers_paths *paths, struct rf_buf *message, struct rf_err *err)
{
	struct rf_buf texts[3] = { 0 };
	struct rf_pass_tls tls;
	int code;

	rf_buf_init(message, 4 * RF_PASS_PEM);
	if (!paths->certificate || !paths->key) {
		rf_fail_say(err, -EINVAL, "TLS takes a certificate and its key");
		return rf_fail_hint(err, "for example: --tls-cert server.pem --tls-key server.key");
	}
	code = read_one("--tls-cert", paths->certificate, &texts[0], err);
	if (code == 0)
		code = read_one("--tls-key", paths->key, &texts[1], err);
	if (code == 0)
		code = read_one("--tls-client-ca", paths->clients, &texts[2], err);
	tls = (struct rf_pass_tls){ texts[0].data, texts[1].data,
				    paths->clients ? texts[2].data : NULL };
	if (code == 0)
		code = check(&tls, err);
	if (code == 0) {
		rf_pass_put_tls(&tls, message);
		if (message->has_failed)
			code = rf_fail(err, -ENOMEM, "TLS");
	}
	for (size_t i = 0; i < 3; i++)
		rf_papers_done(&texts[i]);
	return code;
}
