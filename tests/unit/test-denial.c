/* What the kernel refused a box: src/jail/denial.c. */
#include "jail/denial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "harness.h"
#include "jail/filter.h"

#define STAMP    "audit(1794793246.775:175): "
#define OUR_UID  1879071176
#define OUR_TEXT "1879071176"
#define DOMAIN   STAMP "domain=11e7d5ea1 status=allocated mode=enforcing pid=14729 "
#define WHO      " exe=\"/usr/bin/ringfort\" comm=\"ringfort\""
#define ACCESS   STAMP "domain=11e7d5ea1 blockers="

static struct rf_denials *new_denials(void)
{
	struct rf_denials *denials = calloc(1, sizeof(*denials));

	RF_REQUIRE(denials, "no memory");
	denials->uid = OUR_UID;
	denials->calls = (struct rf_call_options){ .syscalls = RF_SYSCALLS_DEFAULT };
	return denials;
}

static void take(struct rf_denials *denials, unsigned type, const char *text)
{
	rf_denial_take(denials, type, text, strlen(text));
}

/* As at the start of every box: pid 1 has tried the sentinel, and the domain is known to be ours. */
static struct rf_denials *new_begun(void)
{
	struct rf_denials *denials = new_denials();

	take(denials, RF_DENIAL_ACCESS,
	     ACCESS "fs.read_file path=\"/.ringfort/sentinel\" dev=\"tmpfs\" ino=4");
	take(denials, RF_DENIAL_DOMAIN, DOMAIN "uid=" OUR_TEXT WHO);
	RF_REQUIRE(denials->domain == 0x11e7d5ea1 && denials->count == 0, "%zu", denials->count);
	return denials;
}

RF_TEST(what_landlock_refuses_is_told_with_its_remedy)
{
	/* clang-format off */
	static const struct { const char *text, *kind, *what, *rule, *remedy; } cases[] = {
		{ "fs.read_file path=\"/srv/x\" dev=\"vda\" ino=9",
		  "file", "/srv/x", "landlock: fs.read_file", "files: { read: [\"/srv/x\"] }" },
		{ "fs.read_dir path=\"/srv\"",
		  "file", "/srv", "landlock: fs.read_dir", "files: { read: [\"/srv\"] }" },
		{ "fs.write_file,fs.truncate path=\"/srv/x\"",
		  "file", "/srv/x", "landlock: fs.write_file,fs.truncate", "files: { write: [\"/srv/x\"] }" },
		{ "fs.execute path=\"/tmp/x\"",
		  "file", "/tmp/x", "landlock: fs.execute", "ringfort policy why exec /tmp/x" },
		{ "fs.write_file path=\"/proc/sys/x\"",
		  "file", "/proc/sys/x", "landlock: fs.write_file", "ringfort policy why write /proc/sys/x" },
		{ "net.connect_tcp daddr=127.0.0.1 dest=80",
		  "network", "127.0.0.1:80", "landlock: net.connect_tcp", "ringfort policy why connect 127.0.0.1:80" },
		{ "net.connect_tcp daddr= dest=x", "network", "unknown", "landlock: net.connect_tcp", "" },
		{ "net.bind_tcp saddr=::1 src=443", "network", "[::1]:443", "landlock: net.bind_tcp", "" },
		{ "net.bind_tcp src=443", "network", ":443", "landlock: net.bind_tcp", "" },
		{ "scope.signal opid=1 ocomm=\"systemd\"", "signal", "systemd", "landlock: scope.signal", "" },
		{ "ptrace opid=1 ocomm=73797320", "ptrace", "sys ", "landlock: ptrace", "" },
		{ "scope.abstract_unix_socket path=0072662D74657374",
		  "network", "@rf-test", "landlock: scope.abstract_unix_socket", "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_denials *denials = new_begun();
		const struct rf_denial *row = &denials->rows[0];
		char text[512];

		snprintf(text, sizeof(text), "%s%s", ACCESS, cases[i].text);
		take(denials, RF_DENIAL_ACCESS, text);
		RF_REQUIRE(denials->count == 1, "%s: %zu", cases[i].text, denials->count);
		RF_CHECK(strcmp(row->kind, cases[i].kind) == 0, "%s: %s", cases[i].text, row->kind);
		RF_CHECK(strcmp(row->what, cases[i].what) == 0, "%s: %s", cases[i].text, row->what);
		RF_CHECK(strcmp(row->rule, cases[i].rule) == 0, "%s: %s", cases[i].text, row->rule);
		RF_CHECK(strcmp(row->remedy, cases[i].remedy) == 0, "%s: %s", cases[i].text,
			 row->remedy);
		free(denials);
	}
}

RF_TEST(where_programs_are_named_the_remedy_names_one_more)
{
	struct rf_denials *denials = new_begun();

	denials->has_commands = true;
	take(denials, RF_DENIAL_ACCESS, ACCESS "fs.execute path=2F746D702F612022785C");
	RF_REQUIRE(denials->count == 1, "%zu", denials->count);
	RF_CHECK(strcmp(denials->rows[0].what, "/tmp/a \"x\\") == 0, "%s", denials->rows[0].what);
	RF_CHECK(strcmp(denials->rows[0].remedy, "commands: [\"/tmp/a \\\"x\\\\\"]") == 0, "%s",
		 denials->rows[0].remedy);
	free(denials);
}

RF_TEST(names_are_fit_to_be_shown)
{
	/* clang-format off */
	static const struct { const char *path, *what; bool has_remedy; } cases[] = {
		{ "2F746D702F612062",   "/tmp/a b",      true },
		{ "2F746D702FC3BC",     "/tmp/\xc3\xbc", true },
		{ "2F746D702FFF",       "/tmp/?",        false },
		{ "2F1B5B324A",         "/?[2J",         false },
		{ "2FC29B324A",         "/??2J",         false },
		{ "2F610062",           "/a?b",          false },
		{ "(null)",             "unknown",       false },
		{ "\"\"",               "unknown",       false },
		{ "\"",                 "unknown",       false },
		{ "2F7",                "unknown",       false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_denials *denials = new_begun();
		char text[512];

		snprintf(text, sizeof(text), "%sfs.read_file path=%s dev=\"x\"", ACCESS,
			 cases[i].path);
		take(denials, RF_DENIAL_ACCESS, text);
		RF_REQUIRE(denials->count == 1, "%s: %zu", cases[i].path, denials->count);
		RF_CHECK(strcmp(denials->rows[0].what, cases[i].what) == 0, "%s: %s", cases[i].path,
			 denials->rows[0].what);
		RF_CHECK((denials->rows[0].remedy[0] != '\0') == cases[i].has_remedy, "%s: %s",
			 cases[i].path, denials->rows[0].remedy);
		free(denials);
	}
}

RF_TEST(a_long_path_is_cut_and_has_no_remedy)
{
	struct rf_denials *denials = new_begun();
	char text[4000];

	snprintf(text, sizeof(text), "%sfs.read_file path=\"/%02000d\"", ACCESS, 0);
	take(denials, RF_DENIAL_ACCESS, text);
	RF_REQUIRE(denials->count == 1, "%zu", denials->count);
	RF_CHECK(strlen(denials->rows[0].what) == RF_DENIAL_WHAT - 1, "%s", denials->rows[0].what);
	RF_CHECK(!denials->rows[0].remedy[0], "%s", denials->rows[0].remedy);
	free(denials);
}

RF_TEST(what_is_not_of_this_box_is_not_listed)
{
	struct rf_denials *denials = new_denials();
	struct rf_denials *begun = new_begun();

	/* Another box's domain, before ours is known: by its uid, and without one when it ends. */
	take(denials, RF_DENIAL_ACCESS, STAMP "domain=7 blockers=fs.read_file path=\"/x\"");
	take(denials, RF_DENIAL_DOMAIN, STAMP "domain=7 status=allocated pid=1 uid=1879071177" WHO);
	take(denials, RF_DENIAL_DOMAIN, STAMP "domain=8 status=deallocated denials=1");
	take(denials, RF_DENIAL_DOMAIN,
	     STAMP "domain=9 status=allocated comm=\"uid=" OUR_TEXT "\"");
	take(denials, RF_DENIAL_ACCESS, STAMP "domain=7 blockers=fs.read_file path=\"/x\"");
	take(denials, RF_DENIAL_ACCESS, STAMP "domain=0 blockers=fs.read_file path=\"/x\"");
	take(denials, RF_DENIAL_SECCOMP,
	     STAMP "uid=12345 arch=c000003e syscall=165 code=0x80000000");
	RF_CHECK(denials->count == 0 && denials->domain == 0, "%zu", denials->count);

	/* A domain that the program made for itself. */
	take(begun, RF_DENIAL_ACCESS, STAMP "domain=11e7d5ea9 blockers=fs.read_file path=\"/x\"");
	take(begun, RF_DENIAL_DOMAIN, STAMP "domain=11e7d5ea9 status=allocated uid=" OUR_TEXT);
	take(begun, RF_DENIAL_ACCESS, STAMP "domain=11e7d5ea9 blockers=fs.read_file path=\"/x\"");
	RF_CHECK(begun->count == 0 && begun->domain == 0x11e7d5ea1, "%zu", begun->count);
	free(denials);
	free(begun);
}

RF_TEST(garbage_is_left)
{
	/* clang-format off */
	static const char *const cases[] = {
		"", "audit(", "audit(1:2)", "audit(1:2):", "audit(1:2): ", "audit(x): domain=11e7d5ea1",
		"domain=11e7d5ea1 blockers=fs.read_file path=\"/x\"",
		"audit(1:2):domain=11e7d5ea1 blockers=fs.read_file path=\"/x\"",
		ACCESS "", ACCESS " path=\"/x\"", ACCESS "fs.\x1b[2J path=\"/x\"", ACCESS "new.word path=\"/x\"",
		STAMP "domain=+11e7d5ea1 blockers=fs.read_file path=\"/x\"",
		STAMP "domain=11e7d5ea1x blockers=fs.read_file path=\"/x\"",
		STAMP "domain=1000000000000000011e7d5ea1 blockers=fs.read_file path=\"/x\"",
		STAMP "xdomain=11e7d5ea1 blockers=fs.read_file path=\"/x\"",
		ACCESS "fs.make_reg path=\"/proc/2\"", /* asked in passing, by open(O_CREAT) */
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_denials *denials = new_begun();

		take(denials, RF_DENIAL_ACCESS, cases[i]);
		take(denials, RF_DENIAL_DOMAIN, cases[i]);
		take(denials, RF_DENIAL_SECCOMP, cases[i]);
		take(denials, 1300, cases[i]);
		RF_CHECK(denials->count == 0, "%s: %s", cases[i], denials->rows[0].what);
		free(denials);
	}
}

/* A record of the filter, of a call with an errno unless told. */
static void take_call(struct rf_denials *denials, unsigned arch, long nr, const char *code)
{
	char text[512];

	snprintf(text, sizeof(text),
		 STAMP
		 "auid=4294967295 uid=" OUR_TEXT " gid=" OUR_TEXT " ses=4294967295 "
		 "subj=docker-default (enforce) pid=25917 comm=\"mount\" exe=\"/usr/bin/mount\" "
		 "sig=0 arch=%x syscall=%ld compat=0 ip=0x7fa5136c8e5a code=%s",
		 arch, nr, code);
	take(denials, RF_DENIAL_SECCOMP, text);
}

RF_TEST(a_refused_call_is_told_and_one_asked_for_in_passing_is_not)
{
	/* clang-format off */
	static const struct { long nr; bool is_told; } cases[] = {
		{ SYS_mount,          true },
		{ SYS_unshare,        true },
		{ SYS_clone,          true },  /* allowed, but not with those arguments */
		{ SYS_ioctl,          true },
		{ SYS_io_uring_setup, false }, /* absent */
		{ SYS_clone3,         false },
		{ SYS_sync,           false }, /* answered */
		{ SYS_prlimit64,      false }, /* for core limits */
		{ SYS_setrlimit,      false },
		{ 500,                false }, /* nobody knows it: absent */
		{ RF_FILTER_PROOF_NR, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_denials *denials = new_denials();

		take_call(denials, RF_FILTER_ARCH, cases[i].nr, "0x50000");
		take_call(denials, RF_FILTER_ARCH, cases[i].nr, "0x50000");
		RF_CHECK(denials->count == (cases[i].is_told ? 1 : 0), "%ld: %zu", cases[i].nr,
			 denials->count);
		free(denials);
	}
}

RF_TEST(what_the_filter_did_is_told)
{
	/* clang-format off */
	static const struct {
		unsigned arch; long nr; const char *code, *what, *rule, *remedy;
	} cases[] = {
		{ RF_FILTER_ARCH, SYS_mount, "0x50000", "mount", "seccomp", "ringfort policy why syscall mount" },
		{ RF_FILTER_ARCH, SYS_mount, "0x80000000", "mount", "seccomp: killed", "ringfort policy why syscall mount" },
		{ RF_FILTER_ARCH, SYS_flock, "0x30000", "flock", "seccomp: SIGSYS", "ringfort policy why syscall flock" },
		{ RF_FILTER_ARCH, 1073741863, "0x80000000", "number 1073741863", "seccomp: killed", "" },
		{ AUDIT_ARCH_I386, 20, "0x80000000", "number 20 of another architecture", "seccomp: killed", "" },
		{ RF_FILTER_ARCH, SYS_mount, "0x7ffc0000", NULL, NULL, NULL }, /* allowed, and logged */
		{ RF_FILTER_ARCH, SYS_mount, "0x7ff00000", NULL, NULL, NULL },
		{ RF_FILTER_ARCH, SYS_mount, "", NULL, NULL, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_denials *denials = new_denials();
		const struct rf_denial *row = &denials->rows[0];

		take_call(denials, cases[i].arch, cases[i].nr, cases[i].code);
		RF_CHECK(denials->count == (cases[i].what ? 1 : 0), "case %zu", i);
		if (denials->count && cases[i].what)
			RF_CHECK(strcmp(row->what, cases[i].what) == 0 &&
					 strcmp(row->rule, cases[i].rule) == 0 &&
					 strcmp(row->remedy, cases[i].remedy) == 0 &&
					 strcmp(row->kind, "syscall") == 0,
				 "case %zu: %s, %s, %s", i, row->what, row->rule, row->remedy);
		free(denials);
	}
}

RF_TEST(each_is_listed_once_and_a_flood_is_counted)
{
	struct rf_denials *denials = new_begun();

	for (int i = 0; i < RF_DENIAL_MAX + 5; i++) {
		char text[256];

		snprintf(text, sizeof(text), "%sfs.read_file path=\"/f%d\"", ACCESS, i);
		take(denials, RF_DENIAL_ACCESS, text);
		take(denials, RF_DENIAL_ACCESS, ACCESS "fs.read_file path=\"/f0\"");
	}
	RF_CHECK(denials->count == RF_DENIAL_MAX, "%zu", denials->count);
	RF_CHECK(denials->more == 5, "%llu", (unsigned long long)denials->more);
	free(denials);
}

RF_TEST(a_record_ends_where_it_ends)
{
	struct rf_denials *denials = new_begun();
	const char text[] = ACCESS "fs.read_file path=\"/x\"";

	rf_denial_take(denials, RF_DENIAL_ACCESS, text, sizeof(text)); /* with its NUL */
	RF_CHECK(denials->count == 1 && strcmp(denials->rows[0].what, "/x") == 0, "%s",
		 denials->rows[0].what);
	for (size_t len = 0; len < sizeof(text); len++) {
		char *cut = malloc(len ? len : 1);

		RF_REQUIRE(cut, "no memory");
		memcpy(cut, text, len);
		rf_denial_take(denials, RF_DENIAL_ACCESS, cut, len);
		free(cut);
	}
	free(denials);
}
