/* The deputy of a lesser box, acting as the box's user: src/jail/deputy.c, included for its statics. */
#include "jail/deputy.c"

#include <linux/capability.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"

#define BOX_UID 54321

static const char word[] = "/what/the/box/says";

/* A process of the box: says that it is up, and, asked, whether it can signal us; waits for its end. */
static pid_t start_box(int *ret_said, int *ret_go)
{
	pid_t deputy = getpid(), pid;
	int said[2], go[2];
	char byte = 0;

	RF_REQUIRE(pipe(said) == 0 && pipe(go) == 0, "pipes");
	pid = fork();
	RF_REQUIRE(pid >= 0, "fork");
	if (pid == 0) {
		close(said[0]);
		close(go[1]);
		if (setresgid(BOX_UID, BOX_UID, BOX_UID) < 0 ||
		    setresuid(BOX_UID, BOX_UID, BOX_UID) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
			_exit(1);
		if (write(said[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		byte = kill(deputy, 0) == 0 ? 'y' : 'n';
		if (write(said[1], &byte, 1) != 1 || read(go[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(said[1]);
	close(go[0]);
	RF_REQUIRE(read(said[0], &byte, 1) == 1, "the box is up");
	*ret_said = said[0];
	*ret_go = go[1];
	return pid;
}

RF_TEST(the_box_can_not_signal_who_acts_for_it)
{
	const struct rf_box box = { .is_root = true, .host_uid = BOX_UID, .host_gid = BOX_UID };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct before[2], now[2];
	char text[PATH_MAX] = "", byte = 0;
	uid_t uids[3];
	struct self self;
	int said, go, cwd, number, signal_now = 0;
	pid_t pid;

	if (geteuid() != 0)
		return;
	RF_REQUIRE(prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 &&
			   syscall(SYS_capget, &header, before) == 0,
		   "a start");
	pid = start_box(&said, &go);
	RF_REQUIRE(become_box(&box, &self) == 0, "errno %d", errno);
	RF_CHECK(getresuid(&uids[0], &uids[1], &uids[2]) == 0 && uids[0] != BOX_UID &&
			 uids[1] != BOX_UID && uids[2] != BOX_UID,
		 "it has the box's uid: %u %u %u", uids[0], uids[1], uids[2]);
	RF_CHECK(write(go, &byte, 1) == 1 && read(said, &byte, 1) == 1 && byte == 'n',
		 "the box can signal it");
	/* And it does what it is there for, without a capability. */
	RF_CHECK(rf_deputy_peek(pid, (uint64_t)(uintptr_t)word, text, sizeof(text)) > 0 &&
			 strcmp(text, word) == 0,
		 "it reads `%.40s`", text);
	RF_CHECK(rf_deputy_peek(pid, 8, text, sizeof(text)) == -EFAULT &&
			 rf_deputy_peek(pid, UINT64_MAX - 4, text, sizeof(text)) == -EFAULT,
		 "where nothing is");
	cwd = open_link(pid, AT_FDCWD);
	RF_CHECK(cwd >= 0, "the box's folder: %d", cwd);
	number = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
	RF_CHECK(number < 0, "it opens what the box could not");
	become_self(&self);
	RF_CHECK(syscall(SYS_capget, &header, now) == 0 && memcmp(before, now, sizeof(now)) == 0,
		 "its capabilities are not back");
	RF_CHECK(prctl(PR_GET_PDEATHSIG, &signal_now, 0, 0, 0) == 0 && signal_now == SIGTERM,
		 "its signal is not back");
	RF_CHECK(setfsuid((uid_t)-1) == 0 && setfsgid((gid_t)-1) == 0, "its ids are not back");
	close(go);
	RF_CHECK(waitpid(pid, NULL, 0) == pid, "its end");
}
