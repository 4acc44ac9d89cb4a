/* What is said to a gateway, and by it: src/wire/gate.c, with this test as the gateway. */
#include "wire/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "wire/held.h"

#define BOX 7

static const struct rf_gate_credential credentials[] = {
	{ "github", "ghp_0123456789", "rf-github-4711" },
	{ "empty", "", "" },
};

static const struct rf_gate_canary canaries[] = {
	{ "/home/box/.aws/credentials", "Kd7sYq0a1B" },
	{ "/opt/app/.env", "Zk3wPq9x2C" },
};

static const struct rf_gate_open whole = {
	.box = "0123456789abcdef",
	.agent = "tidy",
	.policy = "network:\n  allow: [api.example]\n",
	.credentials = credentials,
	.credential_count = RF_LEN(credentials),
	.canaries = canaries,
	.canary_count = RF_LEN(canaries),
	.roots = "-----BEGIN CERTIFICATE-----",
	.holds_writes = true,
};

static const struct rf_gate_event event = {
	.time_ms = 1,
	.kind = RF_GATE_REQUEST,
	.verdict = RF_GATE_DENIED,
	.host = "api.example",
	.address = "203.0.113.7",
	.port = 443,
	.method = "GET",
	.path = "/v1/repos",
	.status = 403,
	.up_bytes = 2,
	.down_bytes = 3,
	.duration_us = 4,
	.credential = "github",
	.rule = "GET api.example/v2/**",
	.reason = "no rule allows it",
	.remedy = "network.allow: GET api.example/v1/repos",
};

static void open_pair(int pair[2])
{
	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0,
		   "%s", strerror(errno));
}

RF_TEST(what_a_box_asks_for_arrives_whole)
{
	RF_AUTO_BUF struct rf_buf buf, again;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	struct rf_gate_open got;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	rf_buf_init(&again, RF_WIRE_ROOM);
	open_pair(pair);
	RF_REQUIRE(rf_gate_ask(pair[0], BOX, &whole, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_TENANT, &buf, &message, &err) == 1, "%s",
		   err.msg);
	RF_CHECK(message.type == RF_WIRE_GATE_OPEN && message.id == BOX, "another message");
	RF_REQUIRE(rf_gate_read_open(message.body, message.len, &got, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(got.box, whole.box) == 0 && strcmp(got.agent, "tidy") == 0 &&
			 strcmp(got.policy, whole.policy) == 0 &&
			 strcmp(got.roots, whole.roots) == 0 && got.holds_writes,
		 "the box");
	RF_CHECK(got.credential_count == 2 &&
			 strcmp(got.credentials[0].value, "ghp_0123456789") == 0 &&
			 strcmp(got.credentials[0].placeholder, "rf-github-4711") == 0 &&
			 strcmp(got.credentials[1].name, "empty") == 0,
		 "its credentials");
	RF_CHECK(got.canary_count == 2 && strcmp(got.canaries[1].name, "/opt/app/.env") == 0 &&
			 strcmp(got.canaries[1].value, "Zk3wPq9x2C") == 0,
		 "its canaries");
	rf_gate_pack_open(&got, &again);
	RF_CHECK(again.len == message.len && memcmp(again.data, message.body, again.len) == 0,
		 "packed again it is another");
	rf_gate_open_done(&got);
	for (size_t len = 0; len < message.len; len++)
		RF_CHECK(rf_gate_read_open(message.body, len, &got, &err) == -EBADMSG, "cut at %zu",
			 len);
}

RF_TEST(the_answer_is_the_certificate_a_refusal_or_silence)
{
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT, why = RF_ERR_INIT;
	const char *pem = NULL;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1, &buf, &pem, &err) == -ETIMEDOUT && !pem, "%s",
		 err.msg);
	RF_REQUIRE(rf_gate_send_ready(pair[1], BOX, "-----BEGIN", &err) == 0, "%s", err.msg);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1000, &buf, &pem, &err) == 0 && pem &&
			 strcmp(pem, "-----BEGIN") == 0,
		 "%s", err.msg);
	rf_gate_send_ready(pair[1], BOX, NULL, &err);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1000, &buf, &pem, &err) == 0 && !*pem, "%s", err.msg);
	rf_gate_send_ready(pair[1], BOX + 1, NULL, &err);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1000, &buf, &pem, &err) == -EBADMSG, "another box's");
	rf_fail_say(&why, -EACCES, "not this one");
	rf_wire_refuse(pair[1], BOX, &why, &err);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1000, &buf, &pem, &err) == -EACCES &&
			 strcmp(err.msg, "not this one") == 0,
		 "%s", err.msg);
	close(pair[1]);
	RF_CHECK(rf_gate_await(pair[0], BOX, 1000, &buf, &pem, &err) == -ECONNRESET, "%s", err.msg);
}

RF_TEST(sockets_arrive_in_their_order)
{
	/* clang-format off */
	static const struct { enum rf_wire_type type; size_t fds; uint32_t port; } cases[] = {
		{ RF_WIRE_GATE_LINES, RF_LINE_COUNT, 0 },
		{ RF_WIRE_GATE_PORT, 1, 443 },
		{ RF_WIRE_GATE_PUBLISH, 1, 65535 },
		{ RF_WIRE_GATE_STOCK, RF_GATE_STOCK, 0 },
	};
	/* clang-format on */
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;
	int pair[2], fds[RF_GATE_STOCK];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	for (size_t i = 0; i < RF_LEN(fds); i++)
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	RF_CHECK(rf_gate_give_lines(pair[0], BOX, fds, &err) == 0 &&
			 rf_gate_give_port(pair[0], BOX, 443, fds[0], &err) == 0 &&
			 rf_gate_publish(pair[0], BOX, 65535, fds[0], &err) == 0 &&
			 rf_gate_give_stock(pair[0], BOX, fds, &err) == 0,
		 "%s", err.msg);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct stat a, b;

		RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_TENANT, &buf, &message, &err) == 1,
			   "%s", err.msg);
		RF_CHECK(message.type == cases[i].type && message.fd_count == cases[i].fds &&
				 rf_wire_u32(&message) == cases[i].port,
			 "case %zu", i);
		for (size_t k = 0; k < message.fd_count; k++)
			RF_CHECK(fstat(message.fds[k], &a) == 0 && fstat(fds[k], &b) == 0 &&
					 a.st_ino == b.st_ino,
				 "case %zu: descriptor %zu", i, k);
	}
}

RF_TEST(events_then_the_end)
{
	static const struct rf_gate_counts counts = { 1, 2, 3, 4, 5, 6, 7, 8 };
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_gate_news news;
	struct rf_err err = RF_ERR_INIT, why = RF_ERR_INIT;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	rf_fail_say(&why, -EINVAL, "no policy");
	rf_gate_send_event(pair[1], BOX, &event, &err);
	rf_wire_refuse(pair[1], BOX, &why, &err);
	rf_gate_send_done(pair[1], BOX, &counts, &err);
	rf_gate_send_ready(pair[1], BOX, "", &err);
	RF_REQUIRE(rf_gate_next(pair[0], &buf, &news, &err) == 1, "%s", err.msg);
	RF_CHECK(news.box == BOX && !news.is_done && !news.is_refused &&
			 news.event.kind == RF_GATE_REQUEST &&
			 news.event.verdict == RF_GATE_DENIED && news.event.port == 443 &&
			 news.event.status == 403 && news.event.time_ms == 1 &&
			 news.event.up_bytes == 2 && news.event.down_bytes == 3 &&
			 news.event.duration_us == 4,
		 "numbers");
	RF_CHECK(strcmp(news.event.host, event.host) == 0 &&
			 strcmp(news.event.address, event.address) == 0 &&
			 strcmp(news.event.method, "GET") == 0 &&
			 strcmp(news.event.path, event.path) == 0 &&
			 strcmp(news.event.credential, "github") == 0 &&
			 strcmp(news.event.rule, event.rule) == 0 &&
			 strcmp(news.event.reason, event.reason) == 0 &&
			 strcmp(news.event.remedy, event.remedy) == 0,
		 "texts");
	RF_CHECK(rf_gate_next(pair[0], &buf, &news, &err) == 1 && news.is_refused &&
			 strcmp(news.why.msg, "no policy") == 0,
		 "%s", err.msg);
	RF_CHECK(rf_gate_next(pair[0], &buf, &news, &err) == 1 && news.is_done &&
			 memcmp(&news.counts, &counts, sizeof(counts)) == 0,
		 "%s", err.msg);
	RF_CHECK(rf_gate_next(pair[0], &buf, &news, &err) == -EBADMSG, "READY, unasked");
	RF_CHECK(rf_gate_next(pair[0], &buf, &news, &err) == -EAGAIN, "nothing");
	close(pair[1]);
	RF_CHECK(rf_gate_next(pair[0], &buf, &news, &err) == 0, "the end");
}

RF_TEST(a_message_tells_some_events)
{
	struct rf_gate_event second = event;
	RF_AUTO_BUF struct rf_buf body;
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_gate_news news;
	struct rf_err err = RF_ERR_INIT;
	int pair[2];

	rf_buf_init(&body, RF_WIRE_PACKET);
	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	second.host = "second.example";
	rf_gate_pack_event(&event, &body);
	rf_gate_pack_event(&second, &body);
	rf_wire_send(pair[1], RF_WIRE_GATE_EVENT, BOX, body.data, body.len, NULL, 0, &err);
	rf_wire_send(pair[1], RF_WIRE_GATE_EVENT, BOX, body.data, body.len - 1, NULL, 0, &err);
	RF_REQUIRE(rf_gate_next(pair[0], &buf, &news, &err) == 1, "%s", err.msg);
	RF_CHECK(strcmp(news.event.host, event.host) == 0, "the first");
	RF_CHECK(rf_gate_more(&news, &err) == 1 && strcmp(news.event.host, second.host) == 0,
		 "the second");
	RF_CHECK(rf_gate_more(&news, &err) == 0, "and no more");
	RF_REQUIRE(rf_gate_next(pair[0], &buf, &news, &err) == 1, "%s", err.msg);
	RF_CHECK(rf_gate_more(&news, &err) == -EBADMSG, "a second one that is cut");
}

RF_TEST(a_request_that_was_held_arrives_whole)
{
	static char message[200 * 1024]; /* longer than a packet, with NULs */
	struct rf_gate_held held = { .place = { "api.example", 8443, true },
				     .method = "POST",
				     .path = "/v1",
				     .message = message,
				     .len = sizeof(message) };
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_held_list list = { 0 };
	struct rf_gate_news news;
	struct rf_err err = RF_ERR_INIT;
	int pair[2];

	memcpy(message, "POST /v1", 8);
	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	RF_REQUIRE(rf_gate_send_held(pair[1], BOX, &held, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_gate_next(pair[0], &buf, &news, &err) == 1 && news.is_held, "%s", err.msg);
	RF_REQUIRE(rf_held_add(&list, &news.held) == 0, "kept");
	rf_buf_clear(&buf);
	RF_CHECK(list.count == 1 && list.items[0].state == RF_HELD_KEPT, "listed");
	held = list.items[0].request;
	RF_CHECK(strcmp(held.place.host, "api.example") == 0 && held.place.port == 8443 &&
			 held.place.is_tls && strcmp(held.method, "POST") == 0 &&
			 strcmp(held.path, "/v1") == 0,
		 "where it goes");
	RF_CHECK(held.len == sizeof(message) && memcmp(held.message, message, held.len) == 0,
		 "its bytes");
	rf_held_done(&list);
	RF_CHECK(rf_gate_send_held(
			 pair[1], BOX,
			 &(struct rf_gate_held){ .place.host = "a", .method = "POST", .path = "/" },
			 &err) == 0 &&
			 rf_gate_next(pair[0], &buf, &news, &err) == -EBADMSG,
		 "one without bytes");
}

RF_TEST(a_request_that_waits_arrives_whole_and_is_answered)
{
	static char message[200 * 1024];
	const struct rf_gate_asked asked = {
		.wait_ms = 3600000,
		.held = { { "api.example", 8443, true }, "DELETE", "/v1", message, sizeof(message) }
	};
	const struct rf_gate_taken taken = { "0123456789abcdef", "" };
	struct rf_wire_message got = RF_WIRE_NOTHING;
	struct rf_gate_asked heard;
	struct rf_gate_taken answer;
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;
	const char *name;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	RF_REQUIRE(rf_gate_send_asked(pair[1], 7, &asked, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[0], RF_WIRE_GATE, &buf, &got, &err) == 1 && got.id == 7 &&
			   got.type == RF_WIRE_GATE_ASKED,
		   "%s", err.msg);
	RF_REQUIRE(rf_gate_read_asked(got.body, got.len, &heard, &err) == 0, "%s", err.msg);
	RF_CHECK(heard.wait_ms == 3600000 && strcmp(heard.held.method, "DELETE") == 0 &&
			 heard.held.len == sizeof(message),
		 "what waits");
	RF_CHECK(rf_gate_read_asked(got.body, 7, &heard, &err) == -EBADMSG, "one that is cut");
	rf_wire_done(&got);
	RF_REQUIRE(rf_gate_take(pair[0], 7, &taken, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_TENANT, &buf, &got, &err) == 1, "%s", err.msg);
	RF_CHECK(rf_gate_read_taken(got.body, got.len, &answer, &err) == 0 &&
			 strcmp(answer.id, taken.id) == 0 && !answer.reason[0],
		 "what it is called");
	rf_wire_done(&got);
	RF_REQUIRE(rf_gate_name(pair[0], BOX, "box-1", &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_TENANT, &buf, &got, &err) == 1, "%s", err.msg);
	RF_CHECK(rf_gate_read_name(got.body, got.len, &name, &err) == 0 &&
			 strcmp(name, "box-1") == 0,
		 "what the box is called");
	rf_wire_done(&got);
}

RF_TEST(a_list_of_held_requests_has_an_end)
{
	static char message[1024 * 1024];
	struct rf_gate_held small = { { "a", 80, false }, "PUT", "/", message, 10 },
			    big = { { "a", 80, false }, "PUT", "/", message, sizeof(message) };
	struct rf_held_list list = { 0 };
	int count = 0;

	while (rf_held_add(&list, &small) == 0)
		count++;
	RF_CHECK(count == RF_GATE_HELD_COUNT, "%d requests", count);
	rf_held_done(&list);
	for (count = 0; rf_held_add(&list, &big) == 0; count++)
		;
	RF_CHECK(count == 16, "%d MiB", count);
	rf_held_done(&list);
}

RF_TEST(a_socket_to_speak_on_arrives_with_its_place)
{
	const struct rf_gate_place place = { "::1", 65535, false };
	struct rf_gate_place read;
	RF_AUTO_BUF struct rf_buf buf;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
	struct rf_err err = RF_ERR_INIT;
	int pair[2];

	rf_buf_init(&buf, RF_WIRE_ROOM);
	open_pair(pair);
	RF_REQUIRE(rf_gate_speak(pair[0], BOX, &place, 0, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_wire_receive(pair[1], RF_WIRE_TENANT, &buf, &message, &err) == 1, "%s",
		   err.msg);
	RF_CHECK(message.type == RF_WIRE_GATE_SPEAK && message.fd_count == 1, "its socket");
	RF_CHECK(rf_gate_read_place(message.body, message.len, &read, &err) == 0 &&
			 strcmp(read.host, "::1") == 0 && read.port == 65535 && !read.is_tls,
		 "%s", err.msg);
	RF_CHECK(rf_gate_read_place(message.body, message.len - 1, &read, &err) == -EBADMSG, "cut");
}

RF_TEST(texts_of_an_event_are_cut_between_characters)
{
	char host[RF_GATE_HOST + 10], path[RF_GATE_PATH + 10];
	struct rf_gate_event longest = event, got;
	RF_AUTO_BUF struct rf_buf buf;
	struct rf_err err = RF_ERR_INIT;
	size_t used;

	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	memcpy(host + RF_GATE_HOST - 2, "\xc3\xa9", 2); /* one byte of it would still fit */
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	longest.host = host;
	longest.path = path;
	longest.remedy = NULL;
	rf_buf_init(&buf, RF_WIRE_PACKET);
	rf_gate_pack_event(&longest, &buf);
	RF_REQUIRE(rf_gate_read_event(buf.data, buf.len, &got, &used, &err) == 0, "%s", err.msg);
	RF_CHECK(strlen(got.host) == RF_GATE_HOST - 2 && strlen(got.path) == RF_GATE_PATH - 1 &&
			 !*got.remedy,
		 "%zu and %zu bytes", strlen(got.host), strlen(got.path));
}

RF_TEST(a_gateway_is_started_for_this_process_alone)
{
	static const char script[] = "#!/bin/sh\necho \"$*\" >\"$REPORT.new\"\n"
				     "mv \"$REPORT.new\" \"$REPORT\"\ncat <&3 >/dev/null\n"
				     "rm \"$REPORT\"\n";
	char folder[] = "/tmp/rf-gate-XXXXXX", program[64], report[64], text[64] = "";
	struct rf_err err = RF_ERR_INIT;
	int fd = -1, out;

	RF_REQUIRE(mkdtemp(folder), "%s", strerror(errno));
	snprintf(program, sizeof(program), "%s/gateway", folder);
	snprintf(report, sizeof(report), "%s/report", folder);
	setenv("REPORT", report, 1);
	out = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	RF_REQUIRE(out >= 0 && rf_fd_write(out, script, sizeof(script) - 1) == 0, "write");
	close(out);
	RF_REQUIRE(rf_gate_start(program, false, &fd, &err) == 0, "%s", err.msg);
	for (int i = 0; i < 500 && access(report, F_OK) < 0; i++)
		usleep(10000);
	RF_CHECK(rf_fd_read_text(AT_FDCWD, report, text, sizeof(text)) > 0 &&
			 strcmp(text, "--fd 3\n") == 0,
		 "%s", text);
	close(fd); /* at which it ends */
	for (int i = 0; i < 500 && access(report, F_OK) == 0; i++)
		usleep(10000);
	RF_CHECK(access(report, F_OK) < 0, "it lives on");
	unlink(program);
	rmdir(folder);
	RF_CHECK(rf_gate_start("/nowhere/gateway", true, &fd, &err) == -ENOENT &&
			 strstr(err.hint, "ringfort-gateway"),
		 "%s (%s)", err.msg, err.hint);
}
