/* Rules from a footprint: src/policy/learn-files.c, src/policy/footprint.c. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness.h"
#include "policy/footprint.h"
#include "policy/learn-files.h"

static char *argv[] = { (char[]){ "true" }, NULL };
static char *env[] = { NULL };

static struct rf_plan *plan_of(const char *text, const char *cwd)
{
	struct rf_facts facts = {
		.uid = 1001, .gid = 1001, .cwd = cwd, .home = "/home/ada", .env = env, .argv = argv
	};
	struct rf_policy *policy = rf_policy_new(RF_COMMAND_RUN), *over = NULL;
	struct rf_err err = RF_ERR_INIT;
	struct rf_plan *plan = NULL;

	RF_REQUIRE(
		policy && rf_policy_parse(text, strlen(text), "/", "/home/ada", &over, &err) == 0 &&
			rf_policy_merge(policy, over, &err) == 0 &&
			rf_plan_make(policy, &facts, &plan, &err) == 0,
		"%s", err.msg);
	rf_policy_free(policy);
	rf_policy_free(over);
	return plan;
}

struct lesson {
	struct rf_footprint seen;
	const char *policy, *cwd; /* that it ran under, and where */
	bool has_failed;
	bool (*comes_along)(void *data, const struct rf_list *names, const char *path);
};

/* Writes the rules behind the remarks, and forgets what was seen. */
static void write_down(struct lesson *lesson, struct rf_buf *out)
{
	struct rf_plan *plan = plan_of(lesson->policy, lesson->cwd);
	struct rf_policy *policy = rf_policy_new_empty();
	struct rf_learn_files learn = { .footprint = &lesson->seen,
					.plan = plan,
					.home = "/home/ada",
					.has_failed = lesson->has_failed,
					.comes_along = lesson->comes_along };
	struct rf_err err = RF_ERR_INIT;

	rf_buf_init(out, RF_MAX_POLICY_BYTES);
	RF_REQUIRE(policy && rf_learn_files(&learn, policy, out, &err) == 0, "%s", err.msg);
	rf_policy_format(policy, out);
	rf_policy_free(policy);
	rf_plan_free(plan);
	rf_footprint_done(&lesson->seen);
}

static void check(struct lesson *lesson, const char *expected)
{
	RF_AUTO_BUF struct rf_buf out;

	write_down(lesson, &out);
	RF_CHECK(strcmp(out.data, expected) == 0, "%s", out.data);
}

#define WIDE "files: {read: [/data, /srv/m:/models], write: [/out]}\n"

RF_TEST(what_was_used_of_a_grant_is_what_is_left_of_it)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work" };

	rf_footprint_note(&lesson.seen, "/data/a", NULL, RF_USE_READ);
	rf_footprint_note(&lesson.seen, "/data", NULL, RF_USE_LOOK | RF_USE_FOLDER);
	rf_footprint_note(&lesson.seen, "/models/big.bin", NULL, RF_USE_LOOK);
	rf_footprint_note(&lesson.seen, "/models/big.bin", NULL, RF_USE_READ);
	rf_footprint_note(&lesson.seen, "/out/log", NULL, RF_USE_WRITE);
	rf_footprint_note(&lesson.seen, "/usr/lib/x", NULL, RF_USE_READ); /* every box has it */
	check(&lesson, "files:\n  read:\n    - /data/a\n    - "
		       "\"/srv/m/big.bin:/models/big.bin\"\n"
		       "  write:\n    - /out/log\n  current: none\n");
}

RF_TEST(what_is_made_in_a_folder_makes_it_writable_with_all_in_it)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work" };

	rf_footprint_note(&lesson.seen, "/out/a", NULL, RF_USE_READ);
	rf_footprint_note(&lesson.seen, "/out/sub", NULL, RF_USE_MAKE | RF_USE_FOLDER);
	rf_footprint_note(&lesson.seen, "/out/sub/x", NULL, RF_USE_WRITE);
	rf_footprint_note(&lesson.seen, "/out/sub/y", NULL, RF_USE_READ); /* no hole in it */
	check(&lesson, "files:\n  read:\n    - /out/a\n  write:\n    - /out/sub\n  "
		       "current: none\n");
}

static void note_many(struct lesson *lesson, const char *folder, int count, unsigned how)
{
	char path[128];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/f%d", folder, i);
		rf_footprint_note(&lesson->seen, path, how & RF_USE_OUTSIDE ? path : NULL, how);
	}
}

RF_TEST(many_of_a_folder_become_it_and_never_more_than_was_granted)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work" };

	note_many(&lesson, "/data", RF_LEARN_FILES_FEW, RF_USE_READ);
	note_many(&lesson, "/models/a", RF_LEARN_FILES_FEW + 1, RF_USE_READ);
	rf_footprint_note(&lesson.seen, "/models/b/x", NULL, RF_USE_READ);
	check(&lesson, "files:\n  read:\n    - /data/f0\n    - /data/f1\n    - "
		       "/data/f2\n    - /data/f3\n"
		       "    - /data/f4\n    - /data/f5\n    - /data/f6\n    - /data/f7\n    - "
		       "\"/srv/m/a:/models/a\"\n"
		       "    - \"/srv/m/b/x:/models/b/x\"\n  current: none\n");
	note_many(&lesson, "/data", 3 * RF_LEARN_FILES_RULES, RF_USE_READ);
	note_many(&lesson, "/out", 20, RF_USE_READ);
	check(&lesson, "files:\n  read:\n    - /data\n    - /out\n  current: none\n");
}

RF_TEST(too_many_rules_are_folded_until_they_are_few)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work" };
	char folder[64];
	RF_AUTO_BUF struct rf_buf out;
	size_t rules = 0;

	for (int i = 0; i < 400; i++) {
		snprintf(folder, sizeof(folder), "/data/g%d/h%d", i / 4, i);
		note_many(&lesson, folder, 3, RF_USE_READ);
	}
	write_down(&lesson, &out);
	for (const char *at = out.data; (at = strstr(at, "- /data")); at++)
		rules++;
	RF_CHECK(rules >= 1 && rules <= RF_LEARN_FILES_RULES, "%zu", rules);
}

RF_TEST(the_current_directory_stays_where_it_was_used_as_a_whole)
{
	struct lesson lesson = { .policy = "{}", .cwd = "/work" };

	rf_footprint_note(&lesson.seen, "/work", NULL, RF_USE_READ | RF_USE_FOLDER);
	rf_footprint_note(&lesson.seen, "/work/x", NULL, RF_USE_READ);
	check(&lesson, "{}\n");
	rf_footprint_note(&lesson.seen, "/work/x", NULL, RF_USE_READ);
	check(&lesson, "workdir: /work\nfiles:\n  read:\n    - /work/x\n  current: none\n");
	check(&lesson, "files:\n  current: none\n");
}

RF_TEST(what_it_did_not_have_is_granted_and_said)
{
	struct lesson lesson = { .policy = "{}", .cwd = "/work" };

	rf_footprint_note(&lesson.seen, "/srv/a", "/srv/a", RF_USE_READ | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/srv/link", "/srv/real", RF_USE_READ | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/work", NULL, RF_USE_MAKE | RF_USE_FOLDER);
	rf_footprint_note(&lesson.seen, "/etc/shadow", "/etc/shadow", RF_USE_READ | RF_USE_OUTSIDE);
	check(&lesson, "# Asked for, which is new: /srv/a\n# Asked for, which is new: /srv/real\n"
		       "# Asked to write, which is new: /work\nworkdir: "
		       "/work\nfiles:\n  read:\n    - /srv/a\n"
		       "    - \"/srv/real:/srv/link\"\n  write:\n    - /work\n  current: none\n");
}

RF_TEST(homes_the_root_and_credentials_are_named_and_not_granted)
{
	static const char *const never[] = { "/home/ada", "/home",          "/root",
					     "/home/eve", "/home/ada/.ssh", "/home/ada/.config" };
	struct lesson lesson = { .policy = "{}", .cwd = "/work" };
	RF_AUTO_BUF struct rf_buf out;

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		rf_footprint_note(&lesson.seen, never[i], never[i],
				  RF_USE_READ | RF_USE_FOLDER | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/", "/", RF_USE_READ | RF_USE_FOLDER | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/srv/app/.env", "/srv/app/.env",
			  RF_USE_READ | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/home/ada/.ssh/id_ed25519", "/home/ada/.ssh/id_ed25519",
			  RF_USE_READ | RF_USE_OUTSIDE);
	note_many(&lesson, "/home/ada", 30,
		  RF_USE_READ | RF_USE_OUTSIDE); /* files of it, and not it */
	write_down(&lesson, &out);
	RF_CHECK(strstr(out.data,
			"not allowed: /srv/app/.env, which is where credentials are kept") &&
			 strstr(out.data, "not allowed: /home/ada, which is your home"),
		 "%s", out.data);
	RF_CHECK(!strstr(out.data, "- /home/ada\n") && !strstr(out.data, "- /home\n") &&
			 !strstr(out.data, "- /root\n") && !strstr(out.data, "- /home/ada/.") &&
			 !strstr(out.data, "- /srv"),
		 "%s", out.data);
	RF_CHECK(strstr(out.data, "- /home/ada/f29\n") != NULL, "%s", out.data);
}

RF_TEST(what_was_only_looked_for_counts_where_the_run_failed)
{
	struct lesson lesson = { .policy = "{}", .cwd = "/work" };

	rf_footprint_note(&lesson.seen, "/srv/a", "/srv/a", RF_USE_LOOK | RF_USE_OUTSIDE);
	check(&lesson, "# Looked for, and not there: /srv/a\nfiles:\n  current: none\n");
	lesson.has_failed = true;
	rf_footprint_note(&lesson.seen, "/srv/a", "/srv/a", RF_USE_LOOK | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/srv", "/srv",
			  RF_USE_LOOK | RF_USE_FOLDER | RF_USE_OUTSIDE);
	check(&lesson, "# Asked for, which is new: /srv/a\n# Looked for, and not there: /srv\n"
		       "files:\n  read:\n    - /srv/a\n  current: none\n");
}

RF_TEST(a_name_that_a_box_chose_stays_within_its_remark)
{
	struct lesson lesson = { .policy = "{}", .cwd = "/work" };
	static const char name[] = "/srv/a\xe2\x80\xa8network: host\xe2\x80\xae";

	rf_footprint_note(&lesson.seen, name, name, RF_USE_LOOK | RF_USE_OUTSIDE);
	check(&lesson, "# Looked for, and not there: /srv/a?network: host?\n"
		       "files:\n  current: none\n");
}

static bool brings_cc1(void *data, const struct rf_list *names, const char *path)
{
	(void)data;
	return rf_list_find(names, "gcc") && strstr(path, "cc1");
}

RF_TEST(programs_are_named_unless_they_come_along_or_were_made)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work", .comes_along = brings_cc1 };

	rf_footprint_note(&lesson.seen, "/usr/lib/gcc/12/cc1", NULL, RF_USE_EXEC);
	rf_footprint_note(&lesson.seen, "/usr/bin/gcc", NULL, RF_USE_EXEC);
	rf_footprint_note(&lesson.seen, "/bin/sh", NULL, RF_USE_EXEC);
	rf_footprint_note(&lesson.seen, "/data/tool", NULL, RF_USE_EXEC | RF_USE_READ);
	check(&lesson, "files:\n  read:\n    - /data/tool\n  current: "
		       "none\ncommands:\n  - gcc\n  - sh\n"
		       "  - /data/tool\n");
	rf_footprint_note(&lesson.seen, "/usr/bin/gcc", NULL, RF_USE_EXEC);
	rf_footprint_note(&lesson.seen, "/tmp/a.out", NULL, RF_USE_EXEC);
	check(&lesson,
	      "# commands: not said, since it runs code from where it can write: /tmp/a.out\n"
	      "files:\n  current: none\n");
	rf_footprint_note(&lesson.seen, "/usr/bin/python3", NULL, RF_USE_EXEC);
	rf_footprint_note(&lesson.seen, "/out/lib/m.cpython-311.so", NULL, RF_USE_READ);
	check(&lesson, "# commands: not said, since it runs code from where it can write: "
		       "/out/lib/m.cpython-311.so\nfiles:\n  read:\n    - "
		       "/out/lib/m.cpython-311.so\n"
		       "  current: none\n");
}

RF_TEST(a_footprint_has_a_bound_and_says_that_it_was_passed)
{
	struct rf_footprint seen = { 0 };
	char path[32];

	for (int i = 0; i < RF_FOOTPRINT_MAX + 10; i++) {
		snprintf(path, sizeof(path), "/p/%d", i);
		rf_footprint_note(&seen, path, NULL, RF_USE_READ);
	}
	rf_footprint_note(&seen, "/p/7", NULL, RF_USE_WRITE);
	RF_CHECK(seen.count == RF_FOOTPRINT_MAX && seen.left_out == 10, "%zu", seen.left_out);
	RF_CHECK(seen.steps[7].how == (RF_USE_READ | RF_USE_WRITE), "%x", seen.steps[7].how);
	rf_footprint_done(&seen);
	rf_footprint_done(&seen);
}

RF_TEST(names_that_no_rule_can_say_are_left_out_and_said)
{
	struct lesson lesson = { .policy = WIDE, .cwd = "/work" };
	RF_AUTO_BUF struct rf_buf out;

	rf_footprint_note(&lesson.seen, "/data/a\nb", NULL, RF_USE_READ);
	rf_footprint_note(&lesson.seen, "/srv/evil\nfiles: {}", "/srv/evil\nfiles: {}",
			  RF_USE_READ | RF_USE_OUTSIDE);
	rf_footprint_note(&lesson.seen, "/tmp/x\nfiles: {}", NULL, RF_USE_EXEC);
	write_down(&lesson, &out);
	RF_CHECK(strstr(out.data, "# No rule can say it: files.read") &&
			 !strstr(out.data, "\nfiles: {}"),
		 "%s", out.data);
}
