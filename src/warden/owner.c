/* Whose a private warden is: see owner.h. */
#include "warden/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "warden/keep.h"
#include "wire/news.h"

#define MS          1000000ull
#define CATCH_UP_NS 200000000ull

/* It was started by its owner, and is what that is. */
int rf_owner_admit(struct warden *warden, struct rf_err *err)
{
	int fd = warden->options->owner;
	struct ucred owner = { 0 };
	socklen_t len = sizeof(owner);
	struct rf_door_visitor *visitor;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &len) < 0)
		return rf_fail(err, -errno, "know the owner");
	if (rf_door_admit(&warden->door, &fd, owner.pid, &visitor, err) < 0)
		return err->code;
	visitor->is_proven = true;
	warden->owner.client = (struct client *)visitor;
	warden->owner.client->is_owner = true;
	return 0;
}

/* ------------------------------------------------------------- news */

static void put(const struct client *keeper, const char *why, struct rf_buf *out)
{
	const struct rf_life *life = &keeper->work->life;
	uint64_t now = rf_loop_now();
	struct rf_news news = {
		.left_ms = !life->until_ns        ? UINT64_MAX
			   : life->until_ns > now ? (life->until_ns - now) / MS
						  : 0,
	};

	snprintf(news.id, sizeof(news.id), "%s", life->box.id);
	snprintf(news.key, sizeof(news.key), "%s", rf_bound_key(keeper->bound));
	snprintf(news.tenant, sizeof(news.tenant), "%s", rf_bound_tenant(keeper->bound));
	snprintf(news.note, sizeof(news.note), "%s", keeper->label ? keeper->label : "");
	snprintf(news.why, sizeof(news.why), "%s", why ? why : "");
	rf_news_pack(&news, out);
}

static int send_all(struct warden *warden, uint64_t id, struct rf_err *err)
{
	struct rf_buf *out = &warden->out;

	rf_buf_clear(out);
	rf_news_begin(out, true);
	for (struct rf_door_visitor *at = warden->door.visitors; at; at = at->next) {
		const struct client *keeper = (const struct client *)at;

		if (keeper->is_standing && keeper->bound)
			put(keeper, NULL, out);
	}
	if (out->has_failed)
		return rf_fail(err, -ENOMEM, "news of boxes");
	return rf_wire_send(warden->owner.client->visitor.fd, RF_WIRE_NEWS, id, out->data, out->len,
			    NULL, 0, err);
}

/* One who was too busy to hear of each hears of all. */
static void on_catch_up(void *data, int what)
{
	struct warden *warden = data;
	struct rf_err err = RF_ERR_INIT;

	(void)what;
	if (warden->owner.client && send_all(warden, 0, &err) == -EAGAIN) {
		rf_event_again(warden->owner.catch_up, rf_loop_now() + CATCH_UP_NS);
		return;
	}
	rf_event_cancel(warden->owner.catch_up);
	warden->owner.catch_up = NULL;
}

void rf_owner_tell(const struct client *keeper, const char *why)
{
	struct warden *warden = warden_of(keeper);
	struct rf_owner *owner = &warden->owner;
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, RF_WIRE_PACKET);
	if (!owner->client || !owner->rules.grace_ms || !keeper->bound || owner->catch_up)
		return;
	rf_news_begin(&out, false);
	put(keeper, why, &out);
	if (!out.has_failed && rf_wire_send(owner->client->visitor.fd, RF_WIRE_NEWS, 0, out.data,
					    out.len, NULL, 0, &err) == 0)
		return;
	rf_loop_timer(warden->loop, rf_loop_now() + CATCH_UP_NS, on_catch_up, warden,
		      &owner->catch_up, &err);
}

/* ------------------------------------------------------------- connections on terms */

/* `key` is "" for all.  From the beginning after each: one that ends may take others along. */
static void withdraw(struct warden *warden, const char *key)
{
	struct rf_door_visitor *at = warden->door.visitors;

	while (at) {
		struct client *client = (struct client *)at;

		if (!client->bound || client->is_gone ||
		    (key[0] && strcmp(rf_bound_key(client->bound), key) != 0)) {
			at = at->next;
			continue;
		}
		rf_warden_hang_up(client);
		at = warden->door.visitors;
	}
}

int rf_owner_withdraw(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	if (!client->is_owner)
		return rf_fail_say(err, -EPERM, "WITHDRAW: this warden is another's");
	withdraw(warden_of(client), message->body);
	return 0;
}

/* ------------------------------------------------------------- who owns it */

static void on_grace_over(void *data, int what)
{
	struct warden *warden = data;

	(void)what;
	rf_loop_stop(warden->loop);
}

void rf_owner_leave(struct client *client)
{
	struct warden *warden = warden_of(client);
	struct rf_owner *owner = &warden->owner;
	struct rf_err err = RF_ERR_INIT;

	client->is_owner = false;
	owner->client = NULL;
	withdraw(warden, ""); /* who had them from it is to be gone, too */
	if (!owner->rules.grace_ms || !warden->options->is_lasting ||
	    rf_loop_timer(warden->loop, rf_loop_now() + owner->rules.grace_ms * MS, on_grace_over,
			  warden, &owner->timer, &err) < 0)
		rf_loop_stop(warden->loop);
}

int rf_owner_serve(struct client *client, struct rf_wire_message *message, struct rf_err *err)
{
	struct warden *warden = warden_of(client);
	struct rf_owner *owner = &warden->owner;
	struct rf_wire_own rules;

	if (client->bound || !warden->options->is_lasting)
		return rf_fail_say(err, -EPERM, "OWN: this warden is nobody's to take");
	if (rf_door_demand(&client->visitor, err) < 0 || rf_wire_own(message, &rules, err) < 0)
		return err->code;
	if (owner->client && owner->client != client)
		return rf_fail_say(err, -EBUSY, "OWN: the warden has a server");
	rf_event_cancel(owner->timer);
	owner->timer = NULL;
	owner->rules = rules;
	owner->client = client;
	client->is_owner = true;
	return send_all(warden, message->id, err);
}
