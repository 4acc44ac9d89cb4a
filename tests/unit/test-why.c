/* "May it do X?": src/policy/view.c and why.c, on a host that is made up. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/why.h"

#define R RF_RIGHT_READ
#define W RF_RIGHT_WRITE
#define X RF_RIGHT_EXEC

/* The host: every name that it has. */
/* clang-format off */
static const struct {
	const char *path;
	enum rf_view_kind kind;
	unsigned can;
	const char *target;
} files[] = {
	{ "/usr",             RF_VIEW_FOLDER, R | X,     NULL },
	{ "/usr/bin",         RF_VIEW_FOLDER, R | X,     NULL },
	{ "/usr/bin/tool",    RF_VIEW_FILE,   R | X,     NULL },
	{ "/usr/bin/data",    RF_VIEW_FILE,   R,         NULL },
	{ "/usr/bin/alias",   RF_VIEW_LINK,   0,         "tool" },
	{ "/bin",             RF_VIEW_LINK,   0,         "usr/bin" },
	{ "/p",               RF_VIEW_FOLDER, R | W | X, NULL },
	{ "/p/a",             RF_VIEW_FILE,   R | W,     NULL },
	{ "/p/secret",        RF_VIEW_FILE,   0,         NULL },
	{ "/p/shut",          RF_VIEW_FOLDER, R,         NULL },
	{ "/p/shut/in",       RF_VIEW_FILE,   R | W,     NULL },
	{ "/p/still",         RF_VIEW_FOLDER, R | X,     NULL },
	{ "/p/pipe",          RF_VIEW_OTHER,  R | W,     NULL },
	{ "/p/here",          RF_VIEW_LINK,   0,         "." },
	{ "/p/loop",          RF_VIEW_LINK,   0,         "loop" },
	{ "/p/out",           RF_VIEW_LINK,   0,         "/etc/shadow" },
	{ "/p/up",            RF_VIEW_LINK,   0,         "../usr/bin/tool" },
	{ "/p/deep",          RF_VIEW_FOLDER, R | W | X, NULL },
	{ "/p/deep/hole",     RF_VIEW_FOLDER, R | W | X, NULL },
	{ "/p/deep/hole/f",   RF_VIEW_FILE,   R | W,     NULL },
};

static struct rf_place places[] = {
	{ RF_PLACE_HOST,    "/usr",         "/usr",         R | X,     false, "programs",  "default" },
	{ RF_PLACE_SYSTEM,  "/bin",         "/bin",         R | X,     true,  "programs",  "default" },
	{ RF_PLACE_DIR,     "/etc",         NULL,           R,         false, "settings",  "default" },
	{ RF_PLACE_TEXT,    "/etc/passwd",  "x",            R,         false, "users",     "default" },
	{ RF_PLACE_SCRATCH, "/tmp",         NULL,           R | W | X, false, "temporary", "default" },
	{ RF_PLACE_PROC,    "/proc",        NULL,           R | W,     false, "processes", "default" },
	{ RF_PLACE_MASK,    "/proc/kcore",  NULL,           0,         true,  "memory",    "default" },
	{ RF_PLACE_LINK,    "/etc/mtab",    "/proc/mounts", R,         false, "mounts",    "default" },
	{ RF_PLACE_HOST,    "/p",           "/p",           R | W | X, false, "named",     "files.write" },
	{ RF_PLACE_HOST,    "/p/deep/hole", "/p/deep/hole", R | X,     false, "named",     "files.read" },
	{ RF_PLACE_HOST,    "/tmp/x/shown", "/p/deep",      R | X,     false, "named",     "files.read" },
};
/* clang-format on */

static char path_variable[] = "PATH=/nowhere:/bin", given[] = "GIVEN=1";
static char *env[] = { path_variable, given, NULL };
static struct rf_plan plan = {
	.places = places,
	.place_count = RF_LEN(places),
	.env = env,
	.workdir = "/p",
	.has_loopback = true,
};

static void look(void *data, const struct rf_place *place, const char *path,
		 struct rf_view_sight *ret_sight)
{
	(void)data;
	(void)place;
	for (size_t i = 0; i < RF_LEN(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		ret_sight->kind = files[i].kind;
		ret_sight->can = files[i].can;
		if (files[i].target)
			snprintf(ret_sight->target, sizeof(ret_sight->target), "%s",
				 files[i].target);
	}
}

static const struct rf_view_host host = { look, NULL };

RF_TEST(a_path_is_followed_as_the_kernel_would_inside)
{
	/* clang-format off */
	static const struct { const char *path; enum rf_view_kind kind; const char *real; } cases[] = {
		{ "/",                       RF_VIEW_FOLDER,  "/" },
		{ "/p/a",                    RF_VIEW_FILE,    "/p/a" },
		{ "//p/./a",                 RF_VIEW_FILE,    "/p/a" },
		{ "/p/here/here/a",          RF_VIEW_FILE,    "/p/a" },
		{ "/p/../p/a",               RF_VIEW_FILE,    "/p/a" },
		{ "/../../p/a",              RF_VIEW_FILE,    "/p/a" },
		{ "/bin/alias",              RF_VIEW_FILE,    "/usr/bin/tool" },
		{ "/p/up",                   RF_VIEW_FILE,    "/usr/bin/tool" },
		{ "/p/out",                  RF_VIEW_NOTHING, "/etc/shadow" },
		{ "/p/loop",                 RF_VIEW_LOOP,    NULL },
		{ "/p/a/below",              RF_VIEW_NOTHING, NULL },
		{ "/p/a/..",                 RF_VIEW_NOTHING, NULL },
		{ "/p/deep/..",              RF_VIEW_FOLDER,  "/p" },
		{ "/p/shut/in",              RF_VIEW_CLOSED,  "/p/shut" },
		{ "/p/nothing",              RF_VIEW_NOTHING, "/p/nothing" },
		{ "/etc",                    RF_VIEW_FOLDER,  "/etc" },
		{ "/etc/passwd",             RF_VIEW_FILE,    "/etc/passwd" },
		{ "/etc/mtab",               RF_VIEW_KERNEL,  NULL },
		{ "/etc/shadow",             RF_VIEW_NOTHING, "/etc/shadow" },
		{ "/tmp",                    RF_VIEW_FOLDER,  "/tmp" },
		{ "/tmp/y",                  RF_VIEW_SCRATCH, "/tmp/y" },
		{ "/tmp/x",                  RF_VIEW_FOLDER,  "/tmp/x" },
		{ "/tmp/x/shown",            RF_VIEW_FOLDER,  "/tmp/x/shown" },
		{ "/tmp/x/shown/hole/f",     RF_VIEW_FILE,    "/tmp/x/shown/hole/f" },
		{ "/tmp/x/other",            RF_VIEW_SCRATCH, "/tmp/x/other" },
		{ "/proc/kcore",             RF_VIEW_HIDDEN,  "/proc/kcore" },
		{ "/proc/1/environ",         RF_VIEW_KERNEL,  NULL },
		{ "/root/.ssh/id",           RF_VIEW_NOTHING, NULL },
		{ "/p/deep/hole/f",          RF_VIEW_FILE,    "/p/deep/hole/f" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_view view;

		rf_view_walk(&plan, &host, cases[i].path, &view);
		RF_CHECK(view.kind == cases[i].kind, "%s: kind %d", cases[i].path, view.kind);
		RF_CHECK(!cases[i].real || strcmp(view.path, cases[i].real) == 0, "%s: at %s",
			 cases[i].path, view.path);
	}
}

RF_TEST(names_that_are_too_long_are_nothing)
{
	static char name[RF_FILES_PATH + 10];
	struct rf_view view;

	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	rf_view_walk(&plan, &host, name, &view);
	RF_CHECK(view.kind == RF_VIEW_NOTHING, "kind %d", view.kind);
	name[300] = '\0';
	rf_view_walk(&plan, &host, name, &view);
	RF_CHECK(view.kind == RF_VIEW_NOTHING, "kind %d", view.kind);
	memcpy(name, "/p/", 3);
	rf_view_walk(&plan, &host, name, &view);
	RF_CHECK(view.kind == RF_VIEW_NOTHING, "kind %d", view.kind);
}

enum verb {
	READ,
	WRITE,
	EXEC
};

RF_TEST(every_verdict_has_its_rule)
{
	/* clang-format off */
	static const struct { enum verb verb; const char *what; enum rf_why_verdict verdict; const char *rule, *flag; } cases[] = {
		{ READ,  "/p/a",            RF_WHY_YES,     "files.write", "" },
		{ READ,  "/p/secret",       RF_WHY_NO,      "mode",        "" },
		{ READ,  "/p/shut/in",      RF_WHY_NO,      "mode",        "" },
		{ READ,  "/p/loop",         RF_WHY_NO,      "links",       "" },
		{ READ,  "/p/nothing",      RF_WHY_NO,      "files.write", "" },
		{ READ,  "/etc/passwd",     RF_WHY_YES,     "default",     "" },
		{ READ,  "/etc/shadow",     RF_WHY_NO,      "default",     "--read /etc/shadow:/mnt/shadow" },
		{ READ,  "/srv/data",       RF_WHY_NO,      "default",     "--read /srv/data" },
		{ READ,  "/tmp/y",          RF_WHY_DEPENDS, "default",     "--read /tmp/y" },
		{ READ,  "/proc/kcore",     RF_WHY_NO,      "default",     "" },
		{ READ,  "/proc/self/maps", RF_WHY_DEPENDS, "default",     "" },
		{ WRITE, "/p/a",            RF_WHY_YES,     "files.write", "" },
		{ WRITE, "/p/new",          RF_WHY_YES,     "files.write", "" },
		{ WRITE, "/p/new/deeper",   RF_WHY_NO,      "files.write", "" },
		{ WRITE, "/p/secret",       RF_WHY_NO,      "mode",        "" },
		{ WRITE, "/p/still/new",    RF_WHY_NO,      "mode",        "" },
		{ WRITE, "/p/deep/hole/f",  RF_WHY_NO,      "files.read",  "--write /p/deep/hole" },
		{ WRITE, "/tmp/x/shown/n",  RF_WHY_NO,      "files.read",  "--write /p/deep:/tmp/x/shown" },
		{ WRITE, "/usr/bin/tool",   RF_WHY_NO,      "default",     "--write /usr/bin/tool:/mnt/tool" },
		{ WRITE, "/etc/passwd",     RF_WHY_NO,      "default",     "--write /etc/passwd:/mnt/passwd" },
		{ WRITE, "/tmp/y",          RF_WHY_YES,     "default",     "" },
		{ WRITE, "/tmp/y/z",        RF_WHY_DEPENDS, "default",     "" },
		{ WRITE, "/proc/kcore",     RF_WHY_NO,      "default",     "" },
		{ EXEC,  "tool",            RF_WHY_YES,     "default",     "" },
		{ EXEC,  "alias",           RF_WHY_YES,     "default",     "" },
		{ EXEC,  "data",            RF_WHY_NO,      "mode",        "" },
		{ EXEC,  "nothing",         RF_WHY_NO,      "env.set",     "" },
		{ EXEC,  "/p/up",           RF_WHY_YES,     "default",     "" },
		{ EXEC,  "/p/a",            RF_WHY_NO,      "mode",        "" },
		{ EXEC,  "/p/deep",         RF_WHY_NO,      "files.write", "" },
		{ EXEC,  "/etc/passwd",     RF_WHY_NO,      "default",     "" },
		{ EXEC,  "/opt/x/run",      RF_WHY_NO,      "default",     "--read /opt/x/run" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *what = cases[i].what;
		struct rf_why why = { 0 };

		(cases[i].verb == READ    ? rf_why_read
		 : cases[i].verb == WRITE ? rf_why_write
					  : rf_why_exec)(&plan, &host, what, &why);
		RF_CHECK(why.verdict == cases[i].verdict, "%d %s: %s (%s)", cases[i].verb, what,
			 rf_why_word(why.verdict), why.reason);
		RF_CHECK(strcmp(why.rule, cases[i].rule) == 0, "%d %s: rule %s", cases[i].verb,
			 what, why.rule);
		RF_CHECK(strcmp(why.flag, cases[i].flag) == 0, "%d %s: flag '%s'", cases[i].verb,
			 what, why.flag);
		RF_CHECK(!why.flag[0] == !why.line[0], "%s: a flag without a line", what);
		RF_CHECK(why.reason[0], "%s: no reason", what);
	}
}

static struct rf_why ask_host(const struct rf_plan *of, const char *name, uint16_t port)
{
	struct rf_host where = { 0 };
	struct rf_why why;

	RF_REQUIRE(rf_host_parse(rf_span_of(name), &where) == RF_FAULT_NONE, "%s", name);
	rf_why_connect(of, &where, port, &why);
	return why;
}

RF_TEST(the_network_is_as_the_plan_says)
{
	struct rf_plan open = plan, shut = plan;
	struct rf_why why;

	open.link = RF_LINK_HOST;
	shut.has_loopback = false;
	why = ask_host(&plan, "example.com", 443);
	RF_CHECK(why.verdict == RF_WHY_NO && strcmp(why.flag, "--net example.com") == 0, "%s",
		 why.flag);
	why = ask_host(&plan, "127.0.0.1", 0);
	RF_CHECK(why.verdict == RF_WHY_DEPENDS, "%s", why.reason);
	why = ask_host(&plan, "127.0.0.1.example.com", 0);
	RF_CHECK(why.verdict == RF_WHY_NO, "a name is no address: %s", why.reason);
	why = ask_host(&shut, "localhost", 0);
	RF_CHECK(why.verdict == RF_WHY_NO && strcmp(why.rule, "network.loopback") == 0, "%s",
		 why.rule);
	why = ask_host(&open, "example.com", 0);
	RF_CHECK(why.verdict == RF_WHY_YES, "%s", why.reason);
	rf_why_unix(&plan, &why);
	RF_CHECK(why.verdict == RF_WHY_NO && strcmp(why.flag, "--unix on") == 0, "%s", why.flag);
}

RF_TEST(what_the_gateway_would_say_is_told_with_the_rule)
{
	static const char text[] =
		"network: { allow: ['GET a.example/v1/**', 'b.example:22', '0.0.0.0/0:443', "
		"'172.16.0.0/12:443', e.example], deny: [c.example, 172.16.0.9], "
		"hosts: {e.example: 172.16.0.9} }";
	/* clang-format off */
	static const struct { const char *host; int port; const char *method, *path, *rule, *element, *flag; enum rf_why_verdict verdict; } cases[] = {
		{ "a.example", 443, "GET",  "/v1/x", "network.allow", "GET a.example/v1/**", "", RF_WHY_YES },
		{ "a.example", 443, "POST", "/v1/x", "network.allow", NULL, "--net 'POST a.example/v1/x'", RF_WHY_NO },
		{ "a.example", 443, "GET",  "/v2",   "network.allow", NULL, "--net 'GET a.example/v2'", RF_WHY_NO },
		{ "a.example", 443, NULL,   NULL,    "network.allow", "GET a.example/v1/**", "", RF_WHY_DEPENDS },
		{ "b.example", 22,  NULL,   NULL,    "network.allow", "b.example:22", "", RF_WHY_YES },
		{ "b.example", 23,  NULL,   NULL,    "network.allow", NULL, "--net b.example:23", RF_WHY_NO },
		{ "c.example", 443, NULL,   NULL,    "network.deny",  "c.example", "", RF_WHY_NO },
		{ "10.0.0.1",  8080, NULL,  NULL,    "network.allow", NULL, "--net 10.0.0.1:8080", RF_WHY_NO },
		{ "[2001:db8::1]", 8080, NULL, NULL, "network.allow", NULL, "--net [2001:db8::1]:8080", RF_WHY_NO },
		{ "1.1.1.1",    443, NULL,  NULL,    "network.allow", "0.0.0.0/0:443", "", RF_WHY_YES },
		{ "10.0.0.1",   443, NULL,  NULL,    "network.allow", NULL, "--net 10.0.0.1", RF_WHY_NO },
		{ "10.0.0.1",   443, "GET", "/",     "network.allow", NULL, "--net 10.0.0.1", RF_WHY_NO },
		{ "172.16.0.1", 443, NULL,  NULL,    "network.allow", "172.16.0.0/12:443", "", RF_WHY_YES },
		{ "e.example",  443, NULL,  NULL,    "network.deny",  "172.16.0.9", "", RF_WHY_NO },
	};
	/* clang-format on */
	struct rf_policy *policy = NULL;
	struct rf_plan gated = plan;
	struct rf_err err = RF_ERR_INIT;

	RF_REQUIRE(rf_policy_parse(text, strlen(text), "/", "/", &policy, &err) == 0 &&
			   rf_net_make(policy, &gated.net, &err) == 0,
		   "%s", err.msg);
	gated.link = RF_LINK_GATEWAY;
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_why why = ask_host(&gated, cases[i].host, (uint16_t)cases[i].port);

		if (cases[i].method) {
			struct rf_url_path path = { rf_span_of(cases[i].path), 0 };
			struct rf_host where;

			RF_REQUIRE(!rf_host_parse(rf_span_of(cases[i].host), &where), "host");
			rf_why_request(&gated, &where, (uint16_t)cases[i].port, true,
				       cases[i].method, &path, &why);
		}
		RF_CHECK(why.verdict == cases[i].verdict && strcmp(why.rule, cases[i].rule) == 0 &&
				 strcmp(why.flag, cases[i].flag) == 0,
			 "%s:%d: %s, %s, %s", cases[i].host, cases[i].port,
			 rf_why_word(why.verdict), why.rule, why.flag);
		RF_CHECK(cases[i].element
				 ? why.element && strcmp(why.element, cases[i].element) == 0
				 : !why.element,
			 "%s: %s", cases[i].host, why.element);
	}
	rf_net_free(gated.net);
	rf_policy_free(policy);
}

RF_TEST(a_variable_is_there_or_can_be_passed)
{
	struct rf_why why;

	rf_why_env(&plan, "GIVEN", &why);
	RF_CHECK(why.verdict == RF_WHY_YES, "%s", why.reason);
	rf_why_env(&plan, "GIVE", &why);
	RF_CHECK(why.verdict == RF_WHY_NO && strcmp(why.flag, "--pass GIVE") == 0, "%s", why.flag);
}
