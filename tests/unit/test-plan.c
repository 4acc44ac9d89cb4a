/* From a policy to a plan: src/policy/plan.c and src/policy/place.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "harness.h"
#include "policy/plan.h"

static char *caller_env[] = { (char[]){ "LANG=de_DE.UTF-8" }, (char[]){ "SECRET=s3cret" },
			      (char[]){ "HOME=/home/ada" }, (char[]){ "ODD" }, NULL };
static char *argv[] = { (char[]){ "python3" }, (char[]){ "-c" }, (char[]){ "pass" }, NULL };

static struct rf_facts facts_at(const char *cwd)
{
	return (struct rf_facts){ .uid = 1001,
				  .gid = 1002,
				  .cwd = cwd,
				  .home = "/home/ada",
				  .env = caller_env,
				  .argv = argv };
}

static int try_plan(const char *text, const struct rf_facts *facts, struct rf_plan **ret,
		    struct rf_err *err)
{
	struct rf_policy *policy = NULL;
	int r = rf_policy_parse(text, strlen(text), "/srv/p", "/home/ada", &policy, err);

	if (r >= 0)
		r = rf_plan_make(policy, facts, ret, err);
	rf_policy_free(policy);
	return r;
}

static struct rf_plan *make_plan(const char *text, const char *cwd)
{
	struct rf_facts facts = facts_at(cwd);
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(try_plan(text, &facts, &plan, &err) == 0, "%s: %s", text, err.msg);
	return plan;
}

static const struct rf_place *find(const struct rf_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->place_count; i++)
		if (strcmp(plan->places[i].path, path) == 0)
			return &plan->places[i];
	return NULL;
}

static const char *env_of(const struct rf_plan *plan, const char *name)
{
	size_t len = strlen(name);

	for (char **e = plan->env; *e; e++)
		if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

RF_TEST(every_box_has_the_same_ground)
{
	/* clang-format off */
	static const struct { const char *path; enum rf_place_kind kind; unsigned rights; } cases[] = {
		{ "/usr",            RF_PLACE_HOST,    RF_RIGHT_READ | RF_RIGHT_EXEC },
		{ "/lib64",          RF_PLACE_SYSTEM,  RF_RIGHT_READ | RF_RIGHT_EXEC },
		{ "/etc/passwd",     RF_PLACE_TEXT,    RF_RIGHT_READ },
		{ "/etc/resolv.conf", RF_PLACE_TEXT,   RF_RIGHT_READ },
		{ "/etc/java-17-openjdk", RF_PLACE_SYSTEM, RF_RIGHT_READ },
		{ "/dev/null",       RF_PLACE_DEVICE,  RF_RIGHT_READ | RF_RIGHT_WRITE },
		{ "/dev/ptmx",       RF_PLACE_LINK,    RF_RIGHT_READ },
		{ "/proc",           RF_PLACE_PROC,    RF_RIGHT_READ | RF_RIGHT_WRITE },
		{ "/proc/kcore",     RF_PLACE_MASK,    0 },
		{ "/proc/sys",       RF_PLACE_LOCK,    RF_RIGHT_READ },
		{ "/tmp",            RF_PLACE_SCRATCH, RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_EXEC },
		{ "/home/box",       RF_PLACE_SCRATCH, RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_EXEC },
	};
	/* clang-format on */
	static const char *const absent[] = { "/etc/shadow",
					      "/etc/ssh",
					      "/etc/sudoers",
					      "/etc/ssl/private",
					      "/etc/ssl",
					      "/etc/pki",
					      "/opt",
					      "/root",
					      "/" };
	struct rf_plan *plan = make_plan("{}", "/home/ada");

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_place *place = find(plan, cases[i].path);

		RF_REQUIRE(place, "%s is missing", cases[i].path);
		RF_CHECK(place->kind == cases[i].kind && place->rights == cases[i].rights, "%s",
			 cases[i].path);
	}
	for (size_t i = 0; i < RF_LEN(absent); i++)
		RF_CHECK(!find(plan, absent[i]), "%s is there", absent[i]);
	RF_CHECK(strcmp(find(plan, "/etc/passwd")->source,
			"box:x:1001:1002:box:/home/box:/bin/sh\n"
			"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n") == 0,
		 "%s", find(plan, "/etc/passwd")->source);
	rf_plan_free(plan);
	rf_plan_free(NULL);
}

/* What the walls rely on: whole rows, normal paths, nothing twice, and parents first. */
static void check_order(const struct rf_plan *plan)
{
	for (size_t i = 0; i < plan->place_count; i++) {
		const struct rf_place *p = &plan->places[i];

		RF_CHECK(p->path[0] == '/' && !strstr(p->path, "//") && p->why && p->rule, "%s",
			 p->path);
		for (size_t k = i + 1; k < plan->place_count; k++)
			RF_CHECK(!rf_path_is_beneath(p->path, plan->places[k].path),
				 "%s comes before %s", p->path, plan->places[k].path);
	}
}

RF_TEST(places_come_parents_first_and_none_twice)
{
	struct rf_plan *plan =
		make_plan("files: {read: [/z/y/x, /z-a, /z, ./w/r], write: [/z/y, ./w]}", "/srv/p");

	check_order(plan);
	RF_CHECK(find(plan, "/z/y")->rights & RF_RIGHT_WRITE, "/z/y is not writable");
	RF_CHECK(!(find(plan, "/z/y/x")->rights & RF_RIGHT_WRITE), "/z/y/x is writable");
	RF_CHECK(strcmp(find(plan, "/srv/p")->rule, "current") == 0, "the current directory");
	RF_CHECK(strcmp(plan->workdir, "/srv/p") == 0, "%s", plan->workdir);
	rf_plan_free(plan);
}

RF_TEST(the_current_directory_is_shown_where_that_is_harmless)
{
	/* clang-format off */
	static const struct { const char *text, *cwd, *workdir, *rule; int notes; } cases[] = {
		{ "{}",                          "/srv/p",        "/srv/p",     "current",     0 },
		{ "{}",                          "/tmp/x",        "/tmp/x",     "current",     0 },
		{ "files: {current: none}",      "/srv/p",        "/home/box",  NULL,          0 },
		{ "{}",                          "/home/ada",     "/home/box",  NULL,          1 },
		{ "{}",                          "/",             "/home/box",  NULL,          1 },
		{ "{}",                          "/home/ada/.aws", "/home/box", NULL,          1 },
		{ "{}",                          "/run/ringfort", "/home/box",  NULL,          1 },
		{ "{}",                          "/home/ada/.local/state/ringfort/x", "/home/box", NULL, 1 },
		{ "{}",                          "(unreachable)/x", "/home/box", NULL,         1 },
		{ "{}",                          NULL,            "/home/box",  NULL,          0 },
		{ "{}",                          "/usr/share",    "/usr/share", NULL,          0 }, /* there anyway */
		{ "files: {write: [/srv/p]}",    "/srv/p",        "/srv/p",     "files.write", 0 },
		{ "files: {write: [/srv]}",      "/srv/p",        "/srv/p",     NULL,          0 },
		{ "files: {read: [~]}",          "/home/ada",     "/home/ada",  "files.read",  0 },
		{ "files: {read: [/x:/srv/p]}",  "/srv/p",        "/home/box",  "files.read",  0 },
		{ "workdir: /tmp",               "/srv/p",        "/tmp",       "current",     0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_plan *plan = make_plan(cases[i].text, cases[i].cwd);
		const struct rf_place *place = cases[i].cwd ? find(plan, cases[i].cwd) : NULL;
		int notes = 0;

		while (plan->notes[notes])
			notes++;
		RF_CHECK(strcmp(plan->workdir, cases[i].workdir) == 0, "case %zu: in %s", i,
			 plan->workdir);
		RF_CHECK(cases[i].rule ? place && strcmp(place->rule, cases[i].rule) == 0 : !place,
			 "case %zu: %s", i, place ? place->rule : "not shown");
		RF_CHECK(notes == cases[i].notes, "case %zu: %d notes", i, notes);
		rf_plan_free(plan);
	}
}

RF_TEST(the_note_says_how_to_show_it_all_the_same)
{
	struct rf_plan *plan = make_plan("{}", "/home/ada");

	RF_REQUIRE(plan->notes[0], "no note");
	RF_CHECK(strcmp(plan->notes[0], "the current directory /home/ada is your home and is not "
					"shown; use --read . to show it") == 0,
		 "%s", plan->notes[0]);
	rf_plan_free(plan);
}

RF_TEST(rules_that_would_break_the_box_are_refused)
{
	/* clang-format off */
	static const struct { const char *text, *msg; } cases[] = {
		{ "files: {read: [/]}",             "files.read: / can't be shown" },
		{ "files: {read: [/:/host]}",       "files.read: / can't be shown" },
		{ "files: {read: [/proc/1:/x]}",    "files.read: /proc/1 can't be shown" },
		{ "files: {read: [/sys:/x]}",       "files.read: /sys can't be shown" },
		{ "files: {write: [/dev/sda:/x]}",  "files.write: /dev/sda can't be shown" },
		{ "files: {read: [/x:/]}",          "files.read: / would cover /usr, which every box has" },
		{ "files: {read: [/x:/proc]}",      "files.read: /proc would cover /proc, which every box has" },
		{ "files: {read: [/x:/proc/self]}", "files.read: /proc/self would cover /proc, which every box has" },
		{ "files: {write: [/x:/usr/lib]}",  "files.write: /usr/lib would cover /usr, which every box has" },
		{ "files: {read: [/x:/etc/passwd]}", "files.read: /etc/passwd would cover /etc, which every box has" },
		{ "files: {read: [/x:/dev/shm/y]}", "files.read: /dev/shm/y would cover /dev, which every box has" },
		{ "files: {write: [/tmp]}",         "files.write: /tmp would cover /tmp, which every box has" },
		{ "files: {read: [/var]}",          "files.read: /var would cover /var, which every box has" },
		{ "files: {read: [/home]}",         "files.read: /home would cover /home, which every box has" },
		{ "files: {read: [/run/ringfort/boxes]}", "files.read: /run/ringfort/boxes holds Ringfort's own state" },
		{ "network: {link: host, loopback: off}", "network: a link to the host needs loopback on" },
	};
	/* clang-format on */
	struct rf_facts facts = facts_at("/srv/p");

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_plan *plan = NULL;

		RF_CHECK(try_plan(cases[i].text, &facts, &plan, &err) < 0 && !plan, "accepted: %s",
			 cases[i].text);
		RF_CHECK(strcmp(err.msg, cases[i].msg) == 0, "%s: %s", cases[i].text, err.msg);
		rf_plan_free(plan);
	}
}

RF_TEST(rules_in_the_free_parts_of_the_box_are_kept)
{
	static const char *const texts[] = {
		"files: {read: [/x:/tmp/x]}",      "files: {read: [/x:/home/box/x]}",
		"files: {write: [/x:/run/x]}",     "files: {read: [/var/log]}",
		"files: {read: [/home/ada/x]}",    "files: {read: [/opt]}",
		"files: {write: [/x:/var/tmp/x]}", "files: {read: [/etc/hosts:/hosts]}",
	};

	for (size_t i = 0; i < RF_LEN(texts); i++) {
		struct rf_plan *plan = make_plan(texts[i], "/srv/p");

		check_order(plan);
		rf_plan_free(plan);
	}
}

RF_TEST(who_only_looks_writes_nothing_of_the_host_but_in_layers)
{
	static const char *const none[] = { NULL };
	const struct rf_layers layers = { "/pool", "upper", none };
	const struct rf_place work = { .kind = RF_PLACE_HOST,
				       .path = "/srv/w",
				       .source = "/srv/w",
				       .rule = "workspace",
				       .layers = &layers };
	struct rf_facts facts = facts_at("/srv/p");
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	facts.layered = &work;
	facts.only_looks = true;
	RF_REQUIRE(try_plan("files: {read: [/r], write: [/x:/run/x, /y]}", &facts, &plan, &err) ==
			   0,
		   "%s", err.msg);
	for (size_t i = 0; i < plan->place_count; i++)
		RF_CHECK(plan->places[i].kind != RF_PLACE_HOST || plan->places[i].layers ||
				 !(plan->places[i].rights & RF_RIGHT_WRITE),
			 "%s", plan->places[i].path);
	RF_CHECK(find(plan, "/run/x") && find(plan, "/y"), "they do not show any more");
	RF_CHECK(find(plan, "/srv/w") && find(plan, "/srv/w")->rights & RF_RIGHT_WRITE,
		 "its own layer is read-only");
	rf_plan_free(plan);
}

RF_TEST(two_sources_at_one_place_are_named_with_their_rules)
{
	struct rf_policy *base = rf_policy_new(RF_COMMAND_RUN), *over = rf_policy_new_empty();
	struct rf_facts facts = facts_at("/srv/p");
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(rf_policy_set(base, "files.read", "/a:/x", "/", "/", &err) == 0 &&
			   rf_policy_set(over, "files.write", "/b:/x", "/", "/", &err) == 0 &&
			   rf_policy_merge(base, over, &err) == 0,
		   "%s", err.msg);
	RF_CHECK(rf_plan_make(base, &facts, &plan, &err) == -EINVAL, "accepted");
	RF_CHECK(strstr(err.msg, "/a (files.read)") && strstr(err.msg, "/b (files.write)") &&
			 strstr(err.msg, "would both show at /x"),
		 "%s", err.msg);
	rf_policy_free(base);
	rf_policy_free(over);
}

RF_TEST(our_own_state_is_hidden_in_what_is_shown)
{
	struct rf_plan *plan = make_plan("files: {read: [~, ~/.local, /var/lib:/v]}", "/srv/p");
	const struct rf_place *mine = find(plan, "/home/ada/.local/state/ringfort");

	RF_CHECK(mine && mine->kind == RF_PLACE_HIDE && mine->is_optional, "in the home");
	RF_CHECK(find(plan, "/v/ringfort") && find(plan, "/v/ringfort")->kind == RF_PLACE_HIDE,
		 "in /var/lib");
	check_order(plan);
	rf_plan_free(plan);
}

RF_TEST(the_environment_is_ours_then_passed_then_set)
{
	struct rf_plan *plan = make_plan(
		"env: {pass: [LANG, HOME, NOT_THERE], set: {HOME: /x, A: '1'}}", "/srv/p");

	RF_CHECK(strcmp(env_of(plan, "PATH"), "/usr/local/bin:/usr/bin:/bin") == 0, "PATH");
	RF_CHECK(strcmp(env_of(plan, "LANG"), "de_DE.UTF-8") == 0, "LANG");
	RF_CHECK(strcmp(env_of(plan, "HOME"), "/x") == 0, "HOME");
	RF_CHECK(strcmp(env_of(plan, "A"), "1") == 0, "A");
	RF_CHECK(strcmp(env_of(plan, "PWD"), "/srv/p") == 0, "PWD");
	RF_CHECK(!env_of(plan, "SECRET") && !env_of(plan, "NOT_THERE"), "more than was passed");
	RF_CHECK(plan->argv[0] && strcmp(plan->argv[2], "pass") == 0 && !plan->argv[3], "argv");
	rf_plan_free(plan);
}

RF_TEST(nobody_is_root_inside)
{
	struct rf_facts facts = facts_at("/srv/p");
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	facts.uid = facts.gid = 0;
	RF_REQUIRE(try_plan("{}", &facts, &plan, &err) == 0, "%s", err.msg);
	RF_CHECK(plan->uid == 1000 && plan->gid == 1000, "%u:%u", plan->uid, plan->gid);
	rf_plan_free(plan);
}

RF_TEST(profiles_of_all_sources_arrive_and_the_floor_needs_one)
{
	struct rf_facts facts = facts_at("/srv/p");
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = make_plan("{syscalls: floor, seccomp: [a.json, /b]}", "/srv/p");

	RF_CHECK(plan->syscalls == RF_SYSCALLS_FLOOR, "floor");
	RF_CHECK(plan->seccomp[0] && strcmp(plan->seccomp[0], "/srv/p/a.json") == 0 &&
			 plan->seccomp[1] && strcmp(plan->seccomp[1], "/b") == 0 &&
			 !plan->seccomp[2],
		 "profiles");
	rf_plan_free(plan);
	plan = make_plan("{}", "/srv/p");
	RF_CHECK(plan->seccomp && !plan->seccomp[0], "none");
	rf_plan_free(plan);
	plan = NULL;
	RF_CHECK(try_plan("syscalls: floor", &facts, &plan, &err) == -EINVAL &&
			 strstr(err.msg, "there is none") && strstr(err.hint, "seccomp"),
		 "%s", err.msg);
	rf_plan_free(plan);
}

RF_TEST(the_scalars_arrive)
{
	struct rf_plan *plan =
		make_plan("{weaker: allow, syscalls: strict, hostname: h, isolation: process,"
			  " limits: {pids: 7, time: none, require: hard},"
			  " network: {loopback: off}}",
			  "/srv/p");

	RF_CHECK(plan->may_be_weaker && plan->needs_hard && !plan->has_loopback, "switches");
	RF_CHECK(plan->syscalls == RF_SYSCALLS_STRICT && plan->isolation == RF_ISOLATION_PROCESS,
		 "choices");
	RF_CHECK(plan->limits[RF_LIMIT_PIDS] == 7 && plan->limits[RF_LIMIT_TIME] == RF_LIMIT_NONE,
		 "limits");
	RF_CHECK(plan->limits[RF_LIMIT_MEMORY] == 512ULL << 20, "a default");
	RF_CHECK(strstr(find(plan, "/etc/hosts")->source, "127.0.0.1 localhost h\n"), "hosts");
	rf_plan_free(plan);
}

RF_TEST(what_is_counted_arrives_and_needs_somebody_to_count_for)
{
	struct rf_plan *plan = make_plan("{}", "/srv/p");
	struct rf_facts facts = facts_at("/srv/p");
	struct rf_err err = RF_ERR_INIT;

	RF_CHECK(!plan->agent && !plan->needs_watch, "nobody, and nothing to keep");
	RF_CHECK(plan->quotas.figures[RF_QUOTA_FAILURES] == 5 &&
			 plan->quotas.figures[RF_QUOTA_OPEN] == 60000 &&
			 plan->quotas.figures[RF_QUOTA_CPU_DAY] == RF_LIMIT_NONE,
		 "the defaults");
	rf_plan_free(plan);
	plan = make_plan("agent: ci", "/srv/p");
	RF_CHECK(strcmp(plan->agent, "ci") == 0 && !plan->needs_watch, "an agent alone");
	rf_plan_free(plan);
	plan = make_plan(
		"{agent: ci, breaker: {counts: failures, of: 7}, budgets: {cpu_per_day: 1h}}",
		"/srv/p");
	RF_CHECK(plan->needs_watch && plan->quotas.counts_failures &&
			 plan->quotas.figures[RF_QUOTA_OF] == 7 &&
			 plan->quotas.figures[RF_QUOTA_RATE] == 50 &&
			 plan->quotas.figures[RF_QUOTA_CPU_DAY] == 3600000,
		 "what was set, and defaults");
	rf_plan_free(plan);
	RF_CHECK(try_plan("{agent: a, audit: off, breaker: {of: 7}}", &facts, &plan, &err) ==
				 -EINVAL &&
			 strstr(err.msg, "breaker.of counts runs"),
		 "of whom nobody is told");
	RF_CHECK(try_plan("{budgets: {cpu_per_day: 1h}, breaker: {of: 7}}", &facts, &plan, &err) ==
			 -EINVAL,
		 "for nobody");
	RF_CHECK(strcmp(err.msg, "breaker.of counts for an agent, and the policy does not say "
				 "which") == 0 &&
			 strstr(err.hint, "--agent"),
		 "%s (%s)", err.msg, err.hint);
}

RF_TEST(named_programs_take_the_right_to_execute_from_every_place)
{
	/* clang-format off */
	static const struct { const char *path; unsigned rights; } cases[] = {
		{ "/usr",       RF_RIGHT_READ },
		{ "/tmp",       RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_INERT },
		{ "/dev/shm",   RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_INERT },
		{ "/srv/read",  RF_RIGHT_READ },
		{ "/srv/write", RF_RIGHT_READ | RF_RIGHT_WRITE | RF_RIGHT_INERT },
		{ "/srv/write/hole", RF_RIGHT_READ },                   /* its own: nothing is written there */
		{ "/mnt/alias", RF_RIGHT_READ | RF_RIGHT_INERT },       /* of what is written elsewhere */
		{ "/mnt/part",  RF_RIGHT_READ | RF_RIGHT_INERT },
		{ "/srv/above", RF_RIGHT_READ },                        /* covered where it is written */
		{ "/mnt/above", RF_RIGHT_READ | RF_RIGHT_INERT },
	};
	/* clang-format on */
	struct rf_plan *plan =
		make_plan("commands: [git, /opt/x]\n"
			  "files:\n"
			  "  read: [/srv/read, '/srv/write:/mnt/alias', /srv/write/hole,\n"
			  "    '/srv/write/part:/mnt/part', /srv/above, '/srv/above:/mnt/above']\n"
			  "  write: [/srv/write, /srv/above/in]\n",
			  NULL);

	RF_CHECK(plan->commands && strcmp(plan->commands[0], "git") == 0 &&
			 strcmp(plan->commands[1], "/opt/x") == 0 && !plan->commands[2],
		 "the names are not there");
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const struct rf_place *place = find(plan, cases[i].path);

		RF_CHECK(place && place->rights == cases[i].rights, "%s: %u", cases[i].path,
			 place ? place->rights : 0);
	}
	rf_plan_free(plan);
	plan = make_plan("{}", NULL);
	RF_CHECK(!plan->commands && find(plan, "/usr")->rights & RF_RIGHT_EXEC, "without a list");
	rf_plan_free(plan);
}

RF_TEST(a_list_that_names_no_program_is_refused)
{
	struct rf_facts facts = facts_at(NULL);
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_CHECK(try_plan("commands: []", &facts, &plan, &err) == -EINVAL, "accepted");
	RF_CHECK(strstr(err.msg, "nothing could be run") && err.hint[0], "%s", err.msg);
}

RF_TEST(a_plan_owns_what_was_brought_along)
{
	/* Texts of a message that is gone when the plan is compared with others: in memory of their own, and overwritten. */
	static const enum rf_place_kind kinds[] = { RF_PLACE_TEXT, RF_PLACE_HOST };

	for (size_t i = 0; i < RF_LEN(kinds); i++) {
		char path[] = "/code/a", source[] = "/srv/a", why[] = "brought along",
		     rule[] = "code";
		const struct rf_place extra = {
			.kind = kinds[i], .path = path, .source = source, .why = why, .rule = rule
		};
		struct rf_facts facts = facts_at("/srv/p");
		struct rf_err err = RF_ERR_INIT;
		struct rf_plan *plan = NULL;
		const struct rf_place *place;

		facts.extras = &extra;
		facts.extra_count = 1;
		RF_REQUIRE(try_plan("{}", &facts, &plan, &err) == 0, "%s", err.msg);
		memset(path, 'x', sizeof(path) - 1);
		memset(source, 'x', sizeof(source) - 1);
		memset(why, 'x', sizeof(why) - 1);
		memset(rule, 'x', sizeof(rule) - 1);
		place = find(plan, "/code/a");
		RF_REQUIRE(place, "it is there");
		RF_CHECK(strcmp(place->source, "/srv/a") == 0 &&
				 strcmp(place->why, "brought along") == 0 &&
				 strcmp(place->rule, "code") == 0,
			 "%s %s %s", place->source, place->why, place->rule);
		rf_plan_free(plan);
	}
}
