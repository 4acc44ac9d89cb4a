/* The clerk and who asks it: src/server/clerk.c, clerk-pool.c, petition.c. */
#include "server/clerk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "harness.h"
#include "server/api-key.h"
#include "server/approval-ask.h"
#include "server/clerk-pool.h"
#include "server/petition.h"

/* ------------------------------------------------------------- a clerk, in a thread */

static void *serve(void *data)
{
	struct rf_err err = RF_ERR_INIT;

	return (void *)(intptr_t)rf_clerk_serve(*(int *)data, &err);
}

static int start_clerk(int *their_end, pthread_t *thread)
{
	int pair[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	*their_end = pair[1];
	RF_REQUIRE(pthread_create(thread, NULL, serve, their_end) == 0, "a thread");
	return pair[0];
}

static int connect_as(int clerk, const char *tenant, uint32_t scopes)
{
	const struct rf_clerk_terms terms = {
		.terms = { .key = "0123456789ab",
			   .tenant = tenant,
			   .ceiling = "version: 1\n",
			   .boxes = 7 },
		.scopes = scopes,
	};
	struct rf_err err = RF_ERR_INIT;
	int fd = -1;

	RF_REQUIRE(rf_clerk_terms_connect(clerk, &terms, &fd, &err) == 0, "%s", err.msg);
	return fd;
}

struct heard {
	struct rf_loop *loop;
	int left, code;
	char text[4096];
};

static void hear(void *data, struct rf_wire_message *answer, const struct rf_err *why)
{
	struct heard *heard = data;

	heard->code = answer ? 0 : why->code;
	snprintf(heard->text, sizeof(heard->text), "%s", answer ? answer->body : why->msg);
	if (--heard->left == 0)
		rf_loop_stop(heard->loop);
}

static const struct rf_clerk_ask who_am_i = { .question = RF_CLERK_KEY };

RF_TEST(a_question_is_answered_for_whom_the_connection_is)
{
	struct rf_err err = RF_ERR_INIT;
	struct heard heard = { .left = 3 };
	struct rf_petition_line line;
	struct rf_petition *asked;
	pthread_t thread;
	int their_end, clerk = start_clerk(&their_end, &thread);

	RF_REQUIRE(rf_loop_new(&heard.loop, &err) == 0, "%s", err.msg);
	rf_petition_init(&line);
	line.fd = connect_as(clerk, "acme", RF_SCOPE_READ);
	for (int i = 0; i < 3; i++)
		RF_REQUIRE(rf_petition_ask(&line, heard.loop, &who_am_i, NULL, 0, 20000, hear,
					   &heard, &asked, &err) == 0,
			   "%s", err.msg);
	rf_loop_run(heard.loop, &err);
	RF_CHECK(heard.code == 0 && strstr(heard.text, "\"tenant\": \"acme\"") &&
			 strstr(heard.text, "[\"read\"]") && strstr(heard.text, "\"boxes\": 7"),
		 "%s", heard.text);

	/* Its end is told to who waits; who asks next is refused at once. */
	heard.left = 1;
	close(clerk);
	pthread_join(thread, NULL);
	close(their_end);
	if (rf_petition_ask(&line, heard.loop, &who_am_i, NULL, 0, 20000, hear, &heard, &asked,
			    &err) == 0)
		rf_loop_run(heard.loop, &err);
	rf_petition_done(&line);
	rf_loop_free(heard.loop);
}

RF_TEST(what_is_no_question_ends_the_connection_and_no_other)
{
	/* clang-format off */
	static const struct { const char *what; uint32_t body[3]; size_t len; size_t fds; bool is_refused; } cases[] = {
		{ "an unknown question",     { 4000 },            4,  0, true },
		{ "question 0",              { 0 },               4,  0, true },
		{ "a body where none may be", { RF_CLERK_KEY, 1 }, 8, 0, true },
		{ "descriptors",             { RF_CLERK_KEY },    4,  2, true },
		{ "half a number",           { RF_CLERK_KEY },    2,  0, false },
	};
	/* clang-format on */
	struct rf_err err = RF_ERR_INIT;
	pthread_t thread;
	int their_end, clerk = start_clerk(&their_end, &thread);
	int other = connect_as(clerk, "other", RF_SCOPE_READ);

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		int fd = connect_as(clerk, "acme", RF_SCOPE_READ), got;
		RF_AUTO_BUF struct rf_buf in;
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;
		struct rf_wire_head head = { (uint32_t)cases[i].len, RF_WIRE_VERSION,
					     RF_WIRE_CLERK_ASK, 9 };
		char packet[64];

		rf_buf_init(&in, RF_WIRE_ROOM);
		fcntl(fd, F_SETFL, 0);
		memcpy(packet, &head, sizeof(head));
		memcpy(packet + sizeof(head), cases[i].body, cases[i].len);
		if (cases[i].fds)
			RF_CHECK(rf_wire_send(fd, RF_WIRE_CLERK_ASK, 9, cases[i].body, cases[i].len,
					      (int[]){ 0, 1 }, cases[i].fds, &err) == 0,
				 "%s", err.msg);
		else
			RF_CHECK(send(fd, packet, sizeof(head) + cases[i].len, 0) > 0, "send");
		got = rf_wire_receive(fd, RF_WIRE_CLERK, &in, &message, &err);
		RF_CHECK(cases[i].is_refused
				 ? got == 1 && message.type == RF_WIRE_REFUSED && message.id == 9
				 : got == 0,
			 "%s: %d", cases[i].what, got);
		close(fd);
	}
	RF_CHECK(rf_wire_send(other, RF_WIRE_CLERK_ASK, 1, (uint32_t[]){ RF_CLERK_KEY }, 4, NULL, 0,
			      &err) == 0,
		 "%s", err.msg);
	{
		RF_AUTO_BUF struct rf_buf in;
		RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;

		rf_buf_init(&in, RF_WIRE_ROOM);
		fcntl(other, F_SETFL, 0);
		RF_CHECK(rf_wire_receive(other, RF_WIRE_CLERK, &in, &message, &err) == 1 &&
				 message.type == RF_WIRE_CLERK_TOLD,
			 "the other goes on");
	}
	close(other);
	close(clerk);
	pthread_join(thread, NULL);
	close(their_end);
}

/* A front that was taken over asks whatever it likes, on the connections that it has. */
RF_TEST(who_decides_about_approvals_is_the_connections_to_say)
{
	/* clang-format off */
	static const struct { uint32_t scopes; enum rf_clerk_question question; int code; } cases[] = {
		{ RF_SCOPE_READ,                RF_CLERK_DECIDE,   -EPERM  },
		{ RF_SCOPE_RUN,                 RF_CLERK_DECIDE,   -EPERM  },
		{ RF_SCOPE_READ | RF_SCOPE_RUN, RF_CLERK_DECIDE,   -EPERM  },
		{ RF_SCOPE_ADMIN,               RF_CLERK_DECIDE,   -ENOENT }, /* it may, and there is none of this name */
		{ RF_SCOPE_OPERATOR,            RF_CLERK_DECIDE,   -ENOENT },
		{ RF_SCOPE_OPERATOR,            RF_CLERK_BREAKER,  -EPERM  }, /* it is good for nothing else */
		{ RF_SCOPE_OPERATOR,            RF_CLERK_AUDIT,    -EPERM  },
		{ RF_SCOPE_OPERATOR,            RF_CLERK_PASSAGE,  -EPERM  },
	};
	/* clang-format on */
	const struct rf_approval_ask_decision decision = { .id = "0123456789abcdef",
							   .is_approved = true };
	struct rf_err err = RF_ERR_INIT;
	RF_AUTO_BUF struct rf_buf body;
	pthread_t thread;
	int their_end, clerk = start_clerk(&their_end, &thread);

	rf_buf_init(&body, 4096);
	rf_approval_ask_put_decision(&decision, &body);
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_clerk_ask ask = { cases[i].question, body.data, body.len };
		struct heard heard = { .left = 1 };
		struct rf_petition_line line;
		struct rf_petition *asked;

		RF_REQUIRE(rf_loop_new(&heard.loop, &err) == 0, "%s", err.msg);
		rf_petition_init(&line);
		line.fd = connect_as(clerk, "acme", cases[i].scopes);
		RF_REQUIRE(rf_petition_ask(&line, heard.loop, &ask, NULL, 0, 20000, hear, &heard,
					   &asked, &err) == 0,
			   "%s", err.msg);
		rf_loop_run(heard.loop, &err);
		RF_CHECK(heard.code == cases[i].code, "scopes %u: %d %s", cases[i].scopes,
			 heard.code, heard.text);
		rf_petition_done(&line);
		rf_loop_free(heard.loop);
	}
	close(clerk);
	pthread_join(thread, NULL);
	close(their_end);
}

RF_TEST(a_front_that_reads_nothing_keeps_nobody_waiting)
{
	struct rf_err err = RF_ERR_INIT;
	pthread_t thread;
	int their_end, clerk = start_clerk(&their_end, &thread);
	int deaf = connect_as(clerk, "deaf", RF_SCOPE_READ);
	int other = connect_as(clerk, "other", RF_SCOPE_READ);
	RF_AUTO_BUF struct rf_buf in;
	RF_AUTO_WIRE struct rf_wire_message message = RF_WIRE_NOTHING;

	rf_buf_init(&in, RF_WIRE_ROOM);
	for (uint64_t i = 0; i < 20000; i++)
		if (rf_wire_send(deaf, RF_WIRE_CLERK_ASK, i, (uint32_t[]){ RF_CLERK_KEY }, 4, NULL,
				 0, &err) == -EPIPE)
			break;
	RF_CHECK(rf_wire_send(other, RF_WIRE_CLERK_ASK, 1, (uint32_t[]){ RF_CLERK_KEY }, 4, NULL, 0,
			      &err) == 0,
		 "%s", err.msg);
	fcntl(other, F_SETFL, 0);
	RF_CHECK(rf_wire_receive(other, RF_WIRE_CLERK, &in, &message, &err) == 1, "an answer");
	close(deaf);
	close(other);
	close(clerk);
	pthread_join(thread, NULL);
	close(their_end);
}

/* ------------------------------------------------------------- the pool */

#define TASKS 40

static atomic_int working[2], most[2];
static struct rf_loop *loop;
static int left;

static void work(struct rf_clerk_task *task)
{
	int which = task->tenant[0] == 'b';
	int now = atomic_fetch_add(&working[which], 1) + 1, before = atomic_load(&most[which]);

	while (now > before && !atomic_compare_exchange_weak(&most[which], &before, now))
		;
	usleep(1000);
	atomic_fetch_sub(&working[which], 1);
}

static void done(struct rf_clerk_task *task)
{
	(void)task;
	if (--left == 0)
		rf_loop_stop(loop);
}

static void linger(struct rf_clerk_task *task)
{
	(void)task;
	usleep(50000);
}

static int told, dropped;

static void tell(struct rf_clerk_task *task)
{
	(void)task;
	told++;
}

static void drop(struct rf_clerk_task *task)
{
	(void)task;
	dropped++;
}

RF_TEST(the_end_of_a_pool_gives_every_task_back)
{
	static struct rf_clerk_task tasks[5];
	const struct rf_clerk_pool_size size = { .threads = 2, .per_tenant = 2, .line = 5 };
	struct rf_clerk_pool *pool;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_loop_new(&loop, &err) == 0 &&
			   rf_clerk_pool_new(loop, &size, &pool, &err) == 0,
		   "%s", err.msg);
	for (size_t i = 0; i < RF_LEN(tasks); i++) {
		tasks[i] = (struct rf_clerk_task){
			.tenant = "amber", .work = linger, .done = tell, .drop = drop
		};
		RF_REQUIRE(rf_clerk_pool_put(pool, &tasks[i], &err) == 0, "%s", err.msg);
	}
	usleep(10000); /* so that some are begun, as a rule */
	RF_CHECK(rf_clerk_pool_end(pool, 5000) == 0, "it ends");
	RF_CHECK(told + dropped == (int)RF_LEN(tasks) && dropped >= 3, "%d told, %d dropped", told,
		 dropped);
	rf_loop_free(loop);
}

RF_TEST(one_tenant_has_its_share_of_the_threads_and_of_the_line)
{
	static struct rf_clerk_task tasks[2][TASKS + 8];
	const struct rf_clerk_pool_size size = { .threads = 5, .per_tenant = 2, .line = TASKS };
	struct rf_clerk_pool *pool;
	struct rf_err err = RF_ERR_INIT;
	int refused = 0;

	RF_REQUIRE(rf_loop_new(&loop, &err) == 0 &&
			   rf_clerk_pool_new(loop, &size, &pool, &err) == 0,
		   "%s", err.msg);
	for (int i = 0; i < TASKS + 8; i++)
		for (int tenant = 0; tenant < 2; tenant++) {
			tasks[tenant][i] = (struct rf_clerk_task){
				.tenant = tenant ? "blue" : "amber", .work = work, .done = done
			};
			if (rf_clerk_pool_put(pool, &tasks[tenant][i], &err) == 0)
				left++;
			else
				refused += err.code == -EAGAIN;
		}
	RF_CHECK(left + refused == 2 * (TASKS + 8), "%d and %d", left, refused);
	rf_loop_run(loop, &err);
	RF_CHECK(left == 0 && most[0] > 0 && most[0] <= 2 && most[1] > 0 && most[1] <= 2,
		 "%d left; %d and %d at once", left, (int)most[0], (int)most[1]);
	RF_CHECK(rf_clerk_pool_end(pool, 5000) == 0, "it ends");
	rf_loop_free(loop);
}
