/* One place that is told things: see herald-mail.h. */
#include "server/herald-mail.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/fd.h"
#include "http/url.h"
#include "server/herald.h"
#include "tls/tls.h"

#define MS       1000000ull
#define FIRST_MS 200
#define LAST_MS  60000

struct letter {
	struct letter *next;
	struct rf_buf body;
	char path[32], kind[48], id[33];
};

struct rf_herald_mail {
	const struct rf_herald_mail_host *host;
	char *text, *secret; /* the URL */
	uint32_t topics, most;
	struct rf_url url;
	struct rf_tls_client *tls;
	struct letter *first, **last;
	size_t count;
	uint32_t tries;
	unsigned status;
	struct rf_call *call;
	struct rf_event *timer;
};

uint32_t rf_herald_mail_topics(const struct rf_herald_mail *mail)
{
	return mail->topics;
}

/* ------------------------------------------------------------- one message */

/* Ringfort-Signature: t=SECONDS,v1=HMAC-SHA256 of "SECONDS.BODY", in hexadecimal. */
static void sign(const struct rf_herald_mail *mail, const struct letter *letter, char *text,
		 size_t size)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int len = 0;
	RF_AUTO_BUF struct rf_buf whole;
	int n = snprintf(text, size, "t=%" PRId64 ",v1=", (int64_t)time(NULL));

	rf_buf_init(&whole, (size_t)8 << 20);
	rf_buf_add(&whole, text + 2, (size_t)n - 6);
	rf_buf_puts(&whole, ".");
	rf_buf_add(&whole, letter->body.data, letter->body.len);
	HMAC(EVP_sha256(), mail->secret, (int)strlen(mail->secret), (unsigned char *)whole.data,
	     whole.len, sum, &len);
	for (unsigned i = 0; i < len && (size_t)n + 2 < size; i++, n += 2)
		snprintf(text + n, 3, "%02x", sum[i]);
}

static int resolve(const struct rf_herald_mail *mail, struct rf_call_origin *origin,
		   struct rf_err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char port[8];
	int code;

	snprintf(port, sizeof(port), "%u", mail->url.authority.port);
	code = getaddrinfo(mail->url.authority.host.text, port, &hints, &found);
	if (code != 0)
		return rf_fail_say(err, -EHOSTUNREACH, "%.100s: %s", mail->url.authority.host.text,
				   gai_strerror(code));
	memcpy(&origin->address, found->ai_addr, found->ai_addrlen);
	origin->len = found->ai_addrlen;
	freeaddrinfo(found);
	origin->maker = mail->tls ? rf_tls_client_maker(mail->tls) : NULL;
	snprintf(origin->name, sizeof(origin->name), "%s", mail->url.authority.host.text);
	return 0;
}

static void try_next(struct rf_herald_mail *mail);

static void drop(struct rf_herald_mail *mail)
{
	struct letter *letter = mail->first;

	mail->first = letter->next;
	if (!mail->first)
		mail->last = &mail->first;
	mail->count--;
	mail->tries = 0;
	rf_buf_done(&letter->body);
	free(letter);
}

static void fail(struct rf_herald_mail *mail, const char *why)
{
	uint64_t wait_ms = FIRST_MS;

	if (++mail->tries >= mail->most) {
		mail->host->on_lost(mail->host->data, mail->text, why);
		drop(mail);
	} else {
		for (uint32_t i = 1; i < mail->tries && wait_ms < LAST_MS; i++)
			wait_ms *= 2;
	}
	rf_event_again(mail->timer, rf_loop_now() + (wait_ms < LAST_MS ? wait_ms : LAST_MS) * MS);
}

static void on_answer(void *own, struct rf_call *call, const struct rf_http1_head *head)
{
	struct rf_herald_mail *mail = own;

	(void)call;
	mail->status = head->start.status;
}

static void on_end(void *own, struct rf_call *call, const struct rf_err *err)
{
	struct rf_herald_mail *mail = own;
	char why[64];

	(void)call;
	mail->call = NULL;
	if (!err && mail->status >= 200 && mail->status < 300) {
		drop(mail);
		rf_event_again(mail->timer, rf_loop_now());
		return;
	}
	snprintf(why, sizeof(why), "it answered %u", mail->status);
	fail(mail, err ? err->msg : why);
}

static const struct rf_call_ops ops = { .on_answer = on_answer, .on_end = on_end };

static int begin(struct rf_herald_mail *mail, const struct letter *letter, struct rf_err *err)
{
	struct rf_call_origin origin = { 0 };
	char target[1100], signature[128] = "";
	struct rf_field fields[6] = {
		{ RF_SPAN("Content-Type"), RF_SPAN("application/json") },
		{ RF_SPAN("User-Agent"), RF_SPAN("ringfort/" RF_VERSION) },
	};
	struct rf_call_request request = { .method = RF_SPAN("POST"),
					   .authority = &mail->url.authority,
					   .body = RF_BODY_LENGTH,
					   .length = letter->body.len };
	size_t n = 2;

	snprintf(target, sizeof(target), "%.*s%s", RF_SPAN_ARG(mail->url.path), letter->path);
	request.target = rf_span_of(target[0] ? target : "/");
	if (mail->secret[0]) {
		sign(mail, letter, signature, sizeof(signature));
		fields[n++] =
			(struct rf_field){ RF_SPAN("Ringfort-Signature"), rf_span_of(signature) };
		fields[n++] = (struct rf_field){ RF_SPAN("Ringfort-Id"), rf_span_of(letter->id) };
		fields[n++] =
			(struct rf_field){ RF_SPAN("Ringfort-Event"), rf_span_of(letter->kind) };
	}
	request.fields = (struct rf_fields){ fields, n };
	mail->status = 0;
	if (resolve(mail, &origin, err) < 0 ||
	    rf_http_pool_call(mail->host->pool, &origin, &request, &ops, mail, &mail->call, err) <
		    0)
		return err->code;
	rf_call_send(mail->call, (struct rf_span){ letter->body.data, letter->body.len });
	rf_call_finish(mail->call, (struct rf_fields){ 0 });
	return 0;
}

static void try_next(struct rf_herald_mail *mail)
{
	struct rf_err err = RF_ERR_INIT;

	if (mail->first && !mail->call && begin(mail, mail->first, &err) < 0) {
		mail->call = NULL;
		fail(mail, err.msg);
	}
}

static void on_time(void *data, int what)
{
	(void)what;
	try_next(data);
}

/* ------------------------------------------------------------- the queue */

void rf_herald_mail_put(struct rf_herald_mail *mail, const char *path, const char *kind,
			struct rf_buf *body)
{
	struct letter *letter = mail->count < RF_HERALD_QUEUE ? calloc(1, sizeof(*letter)) : NULL;
	uint64_t chance[2] = { 0 };

	if (!letter || body->has_failed) {
		free(letter);
		mail->host->on_lost(mail->host->data, mail->text, "too much waits to be told");
		return;
	}
	letter->body = *body;
	*body = (struct rf_buf){ 0 };
	if (getrandom(chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance[0] = rf_loop_now();
	snprintf(letter->id, sizeof(letter->id), "%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
	snprintf(letter->path, sizeof(letter->path), "%s", path);
	snprintf(letter->kind, sizeof(letter->kind), "%s", kind);
	*mail->last = letter;
	mail->last = &letter->next;
	if (mail->count++ == 0)
		rf_event_again(mail->timer, rf_loop_now());
}

int rf_herald_mail_new(const struct rf_herald_mail_host *host,
		       const struct rf_herald_target *target, struct rf_herald_mail **ret_mail,
		       struct rf_err *err)
{
	struct rf_herald_mail *mail = calloc(1, sizeof(*mail));
	const struct rf_tls_client_how how = { .has_system_roots = true,
					       .roots_pem = target->roots[0] ? target->roots : NULL,
					       .most_sessions = 4 };

	if (!mail)
		return rf_fail(err, -ENOMEM, "a place to tell things");
	*mail = (struct rf_herald_mail){ .host = host,
					 .topics = target->topics,
					 .most = target->tries ? target->tries : 1,
					 .text = strdup(target->url),
					 .secret = strdup(target->secret) };
	mail->last = &mail->first;
	*ret_mail = mail;
	if (!mail->text || !mail->secret)
		return rf_fail(err, -ENOMEM, "a place to tell things");
	if (rf_url_parse(rf_span_of(mail->text), &mail->url))
		return rf_fail_say(err, -EINVAL, "%.100s: no URL", mail->text);
	if (strncmp(mail->text, "https:", 6) == 0 && rf_tls_client_new(&how, &mail->tls, err) < 0)
		return err->code;
	return rf_loop_timer(host->loop, UINT64_MAX, on_time, mail, &mail->timer, err);
}

void rf_herald_mail_free(struct rf_herald_mail *mail)
{
	if (!mail)
		return;
	if (mail->call)
		rf_call_abort(mail->call);
	while (mail->first)
		drop(mail);
	rf_event_cancel(mail->timer);
	rf_tls_client_free(mail->tls);
	if (mail->secret)
		explicit_bzero(mail->secret, strlen(mail->secret));
	free(mail->secret);
	free(mail->text);
	free(mail);
}
