/* A program's output as a body: src/server/raw.c, where the output can't be had. */
#include "server/raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "result/result.h"
#include "server/front.h"
#include "server/outflow.h"

static unsigned aborts, later; /* cuts of the connection; calls behind one */

static void count_abort(struct rf_exchange *x)
{
	(void)x;
	aborts++;
}

static int fail_init(struct rf_outflow *flow, struct rf_api_call *call, int *fd, uint64_t most,
		     void (*on_end)(struct rf_api_call *call), struct rf_err *err)
{
	(void)call;
	(void)fd;
	(void)most;
	(void)on_end;
	memset(flow, 0, sizeof(*flow));
	return rf_fail_say(err, -ENOSPC, "no more can be watched");
}

static void count_flow(struct rf_outflow *flow)
{
	(void)flow;
	later += aborts > 0;
}

static int count_finish(struct rf_exchange *x, struct rf_fields trailer)
{
	(void)x;
	(void)trailer;
	later += aborts > 0;
	return 0;
}

static void begin_nothing(struct rf_api_call *call, unsigned status, const char *type,
			  uint64_t length, struct rf_fields fields)
{
	(void)call;
	(void)status;
	(void)type;
	(void)length;
	(void)fields;
}

static int no_end(struct rf_job *job, int stream)
{
	(void)job;
	(void)stream;
	return -1;
}

static const struct rf_result *plain_result(const struct rf_job *job)
{
	static const struct rf_result result;

	(void)job;
	return &result;
}

static bool is_not_refused(const struct rf_job *job)
{
	(void)job;
	return false;
}

#define rf_exchange_abort       count_abort
#define rf_exchange_finish      count_finish
#define rf_outflow_init         fail_init
#define rf_outflow_end          count_flow
#define rf_outflow_go_on        count_flow
#define rf_api_call_begin_bytes begin_nothing
#define rf_job_take_end         no_end
#define rf_job_result           plain_result
#define rf_job_is_refused       is_not_refused
#include "server/raw.c"

static struct rf_front front;

RF_TEST(nothing_is_written_when_the_connection_was_cut)
{
	struct rf_api_call call = { .front = &front };
	const struct raw *raw;

	RF_REQUIRE(rf_raw_begin(&call), "no memory");
	raw = call.extra;
	rf_raw_ops.on_started(&call);
	RF_CHECK(aborts == 1, "%u cuts", aborts);
	RF_CHECK(!raw->flow.is_counted, "an output that never was is written to");
	on_room(&call);
	rf_raw_ops.on_end(&call);
	RF_CHECK(later == 0 && aborts == 1, "%u calls behind it", later);
	free(call.extra);
}

RF_TEST(nor_when_its_end_is_the_first_that_is_heard)
{
	struct rf_api_call call = { .front = &front };

	RF_REQUIRE(rf_raw_begin(&call), "no memory");
	rf_raw_ops.on_end(&call);
	RF_CHECK(aborts == 1 && later == 0, "%u cuts, %u calls behind it", aborts, later);
	free(call.extra);
}
