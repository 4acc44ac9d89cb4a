/* Reads HTTP/1.0 and HTTP/1.1: src/http/http1.c. */
#include <stdio.h>

#include "base/fd.h"
#include "harness.h"
#include "transcript.h"

#define END "\r\n"

struct sample {
	const char *bytes;
	const char *says; /* its transcript */
	bool is_response;
	struct rf_framing_asked asked;
};

/* clang-format off */
static const struct sample samples[] = {
	{ "GET /a/b?c=d HTTP/1.1" END "Host: Example.ORG:8080" END "X-Empty:" END "Y:  two words\t" END END,
	  "HEAD GET 0 [/a/b] [c=d] for example.org:8080 1.1 body 0/0 kept\n  Host=Example.ORG:8080\n  X-Empty=\n  Y=two words\nEND\n0 bytes left\n" },
	{ "GET / HTTP/1.0" END END,
	  "HEAD GET 0 [/] [] for :0 1.0 body 0/0\nEND\n0 bytes left\n" },
	{ "GET / HTTP/1.0" END "Host: a" END "Connection: keep-alive" END END "GET /",
	  "HEAD GET 0 [/] [] for a:0 1.0 body 0/0\n  Host=a\n  Connection=keep-alive\nEND\n5 bytes left\n" },
	{ "POST / HTTP/1.1" END "Host: a" END "Content-Length: 5" END END "hello"
	  "GET /2 HTTP/1.1" END "host: a" END "Connection: foo, ,CLOSE" END END "and more",
	  "HEAD POST 0 [/] [] for a:0 1.1 body 1/5 kept\n  Host=a\n  Content-Length=5\nDATA [hello]\nEND\n"
	  "HEAD GET 0 [/2] [] for a:0 1.1 body 0/0\n  host=a\n  Connection=foo, ,CLOSE\nEND\n8 bytes left\n" },
	{ "PUT / HTTP/1.1" END "Host: a" END "Transfer-Encoding: chunked" END END
	  "5;a;b=c;d=\"e\\\"f\"" END "hello" END "0000A" END "0123456789" END "000" END "X-Sum: 1" END "Y: 2" END END,
	  "HEAD PUT 0 [/] [] for a:0 1.1 body 2/0 kept\n  Host=a\n  Transfer-Encoding=chunked\nDATA [hello0123456789]\nEND\n  X-Sum=1\n  Y=2\n0 bytes left\n" },
	{ "PUT / HTTP/1.1" END "Host: a" END "Transfer-Encoding: chunked" END "Expect: 100-Continue" END END "0" END END,
	  "HEAD PUT 0 [/] [] for a:0 1.1 body 2/0 kept continue\n  Host=a\n  Transfer-Encoding=chunked\n  Expect=100-Continue\nEND\n0 bytes left\n" },
	{ "GET / HTTP/1.1" END "Host: a" END "Expect: 100-continue" END END,
	  "HEAD GET 0 [/] [] for a:0 1.1 body 0/0 kept\n  Host=a\n  Expect=100-continue\nEND\n0 bytes left\n" },
	{ "CONNECT a.example:443 HTTP/1.1" END "Host: a.example:443" END END "\x16\x03",
	  "HEAD CONNECT 2 [] [] for a.example:443 1.1 body 0/0 kept\n  Host=a.example:443\nEND\n2 bytes left\n" },
	{ "GET / HTTP/1.1" END "Host: a" END "Connection: Upgrade" END "Upgrade: websocket" END END "\x81",
	  "HEAD GET 0 [/] [] for a:0 1.1 body 0/0 kept upgrade\n  Host=a\n  Connection=Upgrade\n  Upgrade=websocket\nEND\n1 bytes left\n" },
	{ "GET / HTTP/1.1" END "Host: a" END "Upgrade: websocket" END END,
	  "HEAD GET 0 [/] [] for a:0 1.1 body 0/0 kept\n  Host=a\n  Upgrade=websocket\nEND\n0 bytes left\n" },
	{ "OPTIONS * HTTP/1.1" END "Host: a" END END,
	  "HEAD OPTIONS 3 [] [] for a:0 1.1 body 0/0 kept\n  Host=a\nEND\n0 bytes left\n" },
	{ "GET HTTP://A.example HTTP/1.1" END "Host: a.EXAMPLE.:80" END END,
	  "HEAD GET 1 [] [] for a.example:80 1.1 body 0/0 kept\n  Host=a.EXAMPLE.:80\nEND\n0 bytes left\n" },
	{ "GET https://a?q HTTP/1.1" END "Host: a" END END,
	  "HEAD GET 1 [] [q] for a:443 1.1 body 0/0 kept\n  Host=a\nEND\n0 bytes left\n" },
	{ "", "0 bytes left\n" },

	{ "HTTP/1.1 200 OK" END "Content-Length: 2" END END "hi" "HTTP/1.1 404" END "Content-Length: 0" END END,
	  "HEAD 200 [OK] 1.1 body 1/2 kept\n  Content-Length=2\nDATA [hi]\nEND\nHEAD 404 [] 1.1 body 0/0 kept\n  Content-Length=0\nEND\n0 bytes left\n", true },
	{ "HTTP/1.1 200 " END END "all the rest" END,
	  "HEAD 200 [] 1.1 body 3/0\nDATA [all the rest\r\n]\nEND\n0 bytes left\n", true },
	{ "HTTP/1.1 200 OK" END END, "HEAD 200 [OK] 1.1 body 3/0\nEND\n0 bytes left\n", true },
	{ "HTTP/1.1 200 OK" END "Transfer-Encoding: chunked" END "Connection: close" END END "1" END "x" END "0" END END "y",
	  "HEAD 200 [OK] 1.1 body 2/0\n  Transfer-Encoding=chunked\n  Connection=close\nDATA [x]\nEND\n1 bytes left\n", true },
	{ "HTTP/1.1 200 OK" END "Content-Length: 7" END END "HTTP/1.1 304 Not Modified" END "Content-Length: 9" END END,
	  "HEAD 200 [OK] 1.1 body 0/7 kept\n  Content-Length=7\nEND\nHEAD 304 [Not Modified] 1.1 body 0/9 kept\n  Content-Length=9\nEND\n0 bytes left\n",
	  true, { .is_head = true } },
	{ "HTTP/1.1 200 OK" END "Transfer-Encoding: chunked" END END, "HEAD 200 [OK] 1.1 body 0/0 kept\n  Transfer-Encoding=chunked\nEND\n0 bytes left\n",
	  true, { .is_head = true } },
	{ "HTTP/1.1 100 Continue" END END "HTTP/1.1 204 No Content" END END "HTTP/1.1 204 x" END "Content-Length: 0" END END,
	  "HEAD 100 [Continue] 1.1 body 0/0 kept\nEND\nHEAD 204 [No Content] 1.1 body 0/0 kept\nEND\nHEAD 204 [x] 1.1 body 0/0 kept\n  Content-Length=0\nEND\n0 bytes left\n", true },
	{ "HTTP/1.0 200 OK" END "Connection: keep-alive" END "Content-Length: 1" END END "1" "2",
	  "HEAD 200 [OK] 1.0 body 1/1\n  Connection=keep-alive\n  Content-Length=1\nDATA [1]\nEND\n1 bytes left\n", true },
	{ "HTTP/1.1 200 Established" END "Content-Length: 4" END END "\x16",
	  "HEAD 200 [Established] 1.1 body 4/4\n  Content-Length=4\nEND\n1 bytes left\n", true, { .is_connect = true } },
	{ "HTTP/1.1 403 No" END "Content-Length: 1" END END "1",
	  "HEAD 403 [No] 1.1 body 1/1 kept\n  Content-Length=1\nDATA [1]\nEND\n0 bytes left\n", true, { .is_connect = true } },
	{ "HTTP/1.1 101 Switching" END "Connection: upgrade" END "Upgrade: websocket" END END "\x81",
	  "HEAD 101 [Switching] 1.1 body 4/0 upgrade\n  Connection=upgrade\n  Upgrade=websocket\nEND\n1 bytes left\n", true, { .is_upgrade = true } },
	{ "HTTP/1.1 200 \xe2\x82\xac" END "X: \xff" END "Content-Length: 0" END END,
	  "HEAD 200 [\xe2\x82\xac] 1.1 body 0/0 kept\n  X=\xff\n  Content-Length=0\nEND\n0 bytes left\n", true },
	/* What is wrong is told after what was right. */
	{ "GET /1 HTTP/1.1" END "Host: a" END END "get /2 HTTP/1.1" END END,
	  "HEAD GET 0 [/1] [] for a:0 1.1 body 0/0 kept\n  Host=a\nEND\nBAD 400 in line 1: a method is made of upper-case letters and hyphens\n" },
	{ "GET / HTTP/1.1" END "Host: a" END " b" END END, "BAD 400 in line 3: a field begins with white space: folded lines are obsolete\n" },
	{ "POST / HTTP/1.1" END "Host: a" END "Content-Length: 5" END END "hell",
	  "HEAD POST 0 [/] [] for a:0 1.1 body 1/5 kept\n  Host=a\n  Content-Length=5\nDATA [hell]\nBAD 400 in line 0: the connection ended within a message\n" },
	{ "GET / HTTP/1.1" END "Ho", "BAD 400 in line 0: the connection ended within a message\n" },
};
/* clang-format on */

static struct transcript how_of(const struct sample *sample)
{
	return (struct transcript){
		.room = 64,
		.is_response = sample->is_response,
		.asked = sample->asked,
	};
}

RF_TEST(messages_become_events)
{
	for (size_t i = 0; i < RF_LEN(samples); i++) {
		RF_AUTO_BUF struct rf_buf out;
		struct transcript how = how_of(&samples[i]);

		rf_buf_init(&out, 1 << 20);
		transcript_write(&out, &how, samples[i].bytes, strlen(samples[i].bytes));
		RF_CHECK(strcmp(out.data, samples[i].says) == 0, "sample %zu:\n%s\ninstead of\n%s",
			 i, out.data, samples[i].says);
	}
}

static size_t cut_evenly(void *data, size_t left)
{
	size_t len = *(size_t *)data;

	return len < left ? len : left;
}

/* One piece up to a place, then the rest. */
static size_t cut_once(void *data, size_t left)
{
	size_t len = *(size_t *)data;

	*(size_t *)data = SIZE_MAX;
	return len < left ? len : left;
}

/* Random pieces of 1 to 16 bytes; the state is the seed. */
static size_t cut_randomly(void *data, size_t left)
{
	uint32_t *state = data;
	size_t len;

	*state = *state * 1664525u + 1013904223u;
	len = (*state >> 24) % 16 + 1;
	return len < left ? len : left;
}

static void compare(size_t sample, const struct transcript *how, const char *cut)
{
	RF_AUTO_BUF struct rf_buf out;

	rf_buf_init(&out, 1 << 20);
	transcript_write(&out, how, samples[sample].bytes, strlen(samples[sample].bytes));
	RF_CHECK(strcmp(out.data, samples[sample].says) == 0, "sample %zu, %s:\n%s", sample, cut,
		 out.data);
}

RF_TEST(how_bytes_are_cut_makes_no_difference)
{
	for (size_t i = 0; i < RF_LEN(samples); i++) {
		struct transcript how = how_of(&samples[i]);
		size_t all = strlen(samples[i].bytes);

		how.cut = cut_evenly;
		for (size_t len = 1; len <= all && len <= 40; len++) {
			how.data = &len;
			compare(i, &how, "cut evenly");
		}
		how.cut = cut_once;
		for (size_t at = 1; at < all; at++) {
			size_t place = at;

			how.data = &place;
			compare(i, &how, "cut once");
		}
		how.cut = cut_randomly;
		for (uint32_t seed = 0; seed < 200; seed++) {
			uint32_t state = seed;

			how.data = &state;
			compare(i, &how, "cut at random");
		}
	}
}

static enum rf_fault fault_of(const struct transcript *how, const char *bytes)
{
	RF_AUTO_BUF struct rf_buf out;
	enum rf_fault fault;

	rf_buf_init(&out, 1 << 20);
	fault = transcript_write(&out, how, bytes, strlen(bytes));
	return fault;
}

/* Each limit holds to the byte: the same message with one byte less passes. */
RF_TEST(everything_has_a_limit)
{
	static const struct rf_http1_limits limits = {
		.head = { .first_bytes = 20, .line_bytes = 30, .all_bytes = 100 },
		.trailer = { .first_bytes = 10, .line_bytes = 10, .all_bytes = 30 },
		.body = { .line_bytes = 8, .extension_bytes = 10, .body_bytes = 16 },
	};
#define HEAD   "GET / HTTP/1.1" END "Host: a" END
#define CHUNKS HEAD "Transfer-Encoding: chunked" END END
	/* clang-format off */
	static const struct { const char *fits, *breaks; enum rf_fault fault; int status; bool is_response; } cases[] = {
		{ "GET /234567 HTTP/1.1" END "Host: a" END END,
		  "GET /2345678 HTTP/1.1" END "Host: a" END END, RF_FAULT_START_LONG, 414 },
		{ HEAD "X: 890123456789012345678901234" END END,
		  HEAD "X: 8901234567890123456789012345" END END, RF_FAULT_FIELD_LONG, 431 },
		{ HEAD "A: 89012345678901234567" END "B: 89012345678901234567" END "C: 890123456789012345" END END,
		  HEAD "A: 89012345678901234567" END "B: 89012345678901234567" END "C: 8901234567890123456" END END, RF_FAULT_HEAD_LONG, 431 },
		{ HEAD "A:" END "B:" END "C:" END END,
		  HEAD "A:" END "B:" END "C:" END "D:" END END, RF_FAULT_FIELD_COUNT, 431 },
		{ HEAD "Content-Length: 16" END END "0123456789abcdef",
		  HEAD "Content-Length: 17" END END, RF_FAULT_BODY_LONG, 413 },
		{ CHUNKS "8" END "01234567" END "8" END "01234567" END "0" END END,
		  CHUNKS "8" END "01234567" END "9" END, RF_FAULT_BODY_LONG, 413 },
		{ CHUNKS "00000000" END END, CHUNKS "000000000" END END, RF_FAULT_CHUNK_LONG, 400 },
		{ CHUNKS "1;abcd" END "1" END "1;abc" END "2" END "0" END END,
		  CHUNKS "1;abcd" END "1" END "1;abcde" END "2" END "0" END END, RF_FAULT_CHUNK_LONG, 400 },
		{ CHUNKS "0" END "A: 4567890" END END, CHUNKS "0" END "A: 45678901" END END, RF_FAULT_TRAILER_LONG, 431 },
		{ CHUNKS "0" END "A: 45678" END "A: 45678" END "B: 456" END END,
		  CHUNKS "0" END "A: 45678" END "A: 45678" END "B: 4567" END END, RF_FAULT_TRAILER_LONG, 431 },
		{ CHUNKS "0" END "A:" END "B:" END "C:" END "D:" END END,
		  CHUNKS "0" END "A:" END "B:" END "C:" END "D:" END "E:" END END, RF_FAULT_FIELD_COUNT, 431 },
		{ "HTTP/1.1 200 OK" END END "0123456789abcdef",
		  "HTTP/1.1 200 OK" END END "0123456789abcdefg", RF_FAULT_BODY_LONG, 413, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++)
		for (size_t piece = 1; piece < 200; piece += 3) {
			struct transcript how = {
				.limits = &limits,
				.room = 4,
				.cut = cut_evenly,
				.data = &piece,
				.is_response = cases[i].is_response,
			};
			enum rf_fault fault = fault_of(&how, cases[i].fits);

			RF_CHECK(fault == RF_FAULT_NONE, "%zu: %s", i, rf_fault_words(fault));
			fault = fault_of(&how, cases[i].breaks);
			RF_CHECK(fault == cases[i].fault &&
					 rf_fault_status(fault) == cases[i].status,
				 "%zu: %s", i, rf_fault_words(fault));
		}
}

RF_TEST(a_line_without_end_is_refused_while_it_comes)
{
	static const struct rf_http1_limits limits = {
		.head = { .first_bytes = 100, .line_bytes = 100, .all_bytes = 1000 },
	};
	struct transcript how = { .limits = &limits, .room = 4, .has_no_end = true };
	char bytes[102];

	memset(bytes, 'A', sizeof(bytes));
	bytes[101] = '\0';
	RF_CHECK(fault_of(&how, bytes) == RF_FAULT_START_LONG, "no end of the first line");
	bytes[100] = '\0';
	RF_CHECK(fault_of(&how, bytes) == RF_FAULT_NONE, "it may still end here");
	RF_CHECK(fault_of(&how, "\x16\x03\x01") == RF_FAULT_CONTROL, "a TLS handshake");
	RF_CHECK(fault_of(&how, "GET / HTTP/1.1\n") == RF_FAULT_BARE_LF, "LF alone");
}

RF_TEST(behind_a_fault_nothing_is_read)
{
	struct rf_field fields[4];
	struct rf_http1 http;
	struct rf_err err = RF_ERR_INIT;
	size_t used;

	rf_http1_init(&http, &rf_http1_usual, fields, RF_LEN(fields));
	rf_http1_begin_request(&http);
	RF_CHECK(rf_http1_next(&http, RF_SPAN("GET / HTTP/1.1" END "Host : a" END END), &used) ==
			 RF_HTTP1_BAD,
		 "a space before the colon");
	rf_http1_begin_request(&http);
	RF_CHECK(rf_http1_next(&http, RF_SPAN("GET / HTTP/1.1" END "Host: a" END END), &used) ==
				 RF_HTTP1_BAD &&
			 used == 0,
		 "it went on");
	RF_CHECK(rf_http1_finish(&http, false) == RF_HTTP1_BAD, "it ended well");
	RF_CHECK(rf_http1_explain(&http, &err) < 0 && err.line == 2 &&
			 strstr(err.msg, "white space between"),
		 "%d: %s", err.line, err.msg);
}

RF_TEST(every_fault_has_words_and_a_status)
{
	static const int statuses[] = { 400, 413, 414, 417, 431, 501, 505 };

	for (int i = RF_FAULT_NONE + 1; i < RF_FAULT_COUNT; i++) {
		bool is_known = false;

		for (size_t k = 0; k < RF_LEN(statuses); k++)
			is_known |= rf_fault_status((enum rf_fault)i) == statuses[k];
		RF_CHECK(is_known, "fault %d has status %d", i, rf_fault_status((enum rf_fault)i));
		RF_CHECK(rf_fault_words((enum rf_fault)i) &&
				 strlen(rf_fault_words((enum rf_fault)i)) > 10,
			 "fault %d", i);
	}
	RF_CHECK(rf_fault_words(RF_FAULT_COUNT), "out of the table");
}
