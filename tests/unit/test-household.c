/* What the processes of a server are told: src/server/household.c. */
#include "server/household.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

/* A connection to a process of the server's, and its end of it. */
static void connect_to(int *ret_ours, int *ret_its)
{
	int pair[2];

	RF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a connection");
	*ret_ours = pair[0];
	*ret_its = pair[1];
}

RF_TEST(that_a_key_is_withdrawn_is_told_to_each_also_where_another_is_gone)
{
	for (int gone = 0; gone < 2; gone++) {
		struct landlord l = { 0 };
		int ends[2];
		char got[64];

		connect_to(&l.warden, &ends[0]);
		connect_to(&l.clerk, &ends[1]);
		rf_fd_done(&ends[gone]);
		rf_household_withdraw(&l, "k1");
		RF_CHECK(recv(ends[!gone], got, sizeof(got), MSG_DONTWAIT) > 0, "case %d", gone);
		rf_fd_done(&ends[!gone]);
		rf_fd_done(&l.warden);
		rf_fd_done(&l.clerk);
	}
}
