/* What a gateway that was broken into could still do. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lockdown.h"
#include "harness.h"

RF_TEST(a_locked_process_reaches_servers_and_nothing_of_this_machine)
{
	static const struct {
		int family;
		bool is_left;
	} families[] = { { AF_INET, true },  { AF_INET6, true },   { AF_NETLINK, true },
			 { AF_UNIX, false }, { AF_PACKET, false }, { AF_VSOCK, false } };
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_lockdown_raise(&err) == 0, "%s", err.msg);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		int fd = socket(families[i].family,
				families[i].family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0);

		/* A machine may have no IPv6; what is denied is denied on all. */
		RF_CHECK((fd >= 0) == families[i].is_left || families[i].family == AF_INET6,
			 "family %d", families[i].family);
		if (fd >= 0)
			close(fd);
	}
	/* Nothing is there: who says so has looked. */
	RF_CHECK(chmod("/none", 0777) < 0 && errno == EPERM, "another mode");
	RF_CHECK(chown("/none", 0, 0) < 0 && errno == EPERM, "another owner");
	/* cppcheck-suppress invalidFunctionArg */
	RF_CHECK(fchmod(-1, 0777) < 0 && errno == EPERM, "another mode of an open file");
	RF_CHECK(kill(getppid(), 0) < 0 && errno == EPERM, "a signal");
}
