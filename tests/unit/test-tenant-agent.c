/* The agents of a server's tenants: src/wire/tenant-agent.c. */
#include "wire/tenant-agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

#define HEAD "ringfort-agent 1\nname bot\ncreated 17\nworkspace own bot\n"
#define REST "\nlimits: { time: 1m }\n"

RF_TEST(a_file_is_read_as_a_whole_or_not_at_all)
{
	/* clang-format off */
	static const struct { const char *text; bool is_one; } cases[] = {
		{ HEAD REST, true },
		{ HEAD "description it \"reads\" mail\nlabel a=b\nlabel c=\n" REST, true },
		{ "ringfort-agent 1\nname bot\ncreated 17\nworkspace other\n" REST, true },
		{ "", false }, { "ringfort-agent 1\n", false }, { HEAD, false }, { HEAD "\n", false },
		{ "ringfort-agent 2\nname bot\ncreated 17\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\ncreated 17\nname bot\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\nname ../x\ncreated 17\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\nname bot\ncreated 017\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\nname bot\ncreated -1\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\nname bot\ncreated 1e3\nworkspace bot\n" REST, false },
		{ "ringfort-agent 1\nname bot\ncreated 17\nworkspace own own bot\n" REST, false },
		{ "ringfort-agent 1\nname bot\ncreated 17\nworkspace a/b\n" REST, false },
		{ HEAD "name boa\n" REST, false }, { HEAD "description \n" REST, false }, { HEAD "description a\033[1m\n" REST, false },
		{ HEAD "label a\n" REST, false }, { HEAD "label =b\n" REST, false }, { HEAD "label a b=c\n" REST, false },
		{ HEAD "label a=b\ndescription late\n" REST, false }, { HEAD "other x\n" REST, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_tenant_agent agent = { 0 };
		struct rf_err err = RF_ERR_INIT;
		RF_AUTO_BUF struct rf_buf again;
		int code =
			rf_tenant_agent_parse(cases[i].text, strlen(cases[i].text), &agent, &err);

		rf_buf_init(&again, RF_TENANT_AGENT_BYTES);
		RF_CHECK(cases[i].is_one ? code == 0 : code == -EBADMSG && err.hint[0],
			 "case %zu: %s", i, err.msg);
		if (code == 0)
			rf_tenant_agent_format(&agent, &again);
		RF_CHECK(code < 0 || strcmp(again.data, cases[i].text) == 0, "case %zu, again", i);
		rf_tenant_agent_done(&agent);
	}
}

static void clean(const char *folder)
{
	static const char *const left[] = { "/ringfort/tenants/t-acme/.agents",
					    "/ringfort/tenants/t-acme", "/ringfort/tenants",
					    "/ringfort", "" };
	char path[256];

	for (size_t i = 0; i < RF_LEN(left); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, left[i]);
		rmdir(path);
	}
}

RF_TEST(a_file_counts_only_while_it_is_its_owners_alone)
{
	char folder[] = "/tmp/ringfort-agents-XXXXXX";
	struct rf_tenant_agent agent = { .name = "bot", .workspace = "bot", .created = 1 }, got;
	struct rf_err err = RF_ERR_INIT;
	int all;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		RF_SKIP("root's state is not to be written by a test");
	RF_REQUIRE(mkdtemp(folder), "a folder");
	setenv("XDG_STATE_HOME", folder, 1);
	agent.policy = strdup("limits: { time: 1m }\n");
	RF_CHECK(rf_tenant_agent_read("acme", "bot", &got, &err) == -ENOENT && err.hint[0], "none");
	all = rf_tenant_agent_open_all("acme", true);
	RF_REQUIRE(all >= 0 && rf_tenant_agent_write(all, &agent, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_tenant_agent_write(all, &agent, &err) == -EEXIST, "a second one");
	RF_CHECK(faccessat(all, ".new", F_OK, 0) < 0, "nothing is left of it");
	RF_REQUIRE(rf_tenant_agent_read("acme", "bot", &got, &err) == 0, "%s", err.msg);
	RF_CHECK(strcmp(got.policy, agent.policy) == 0, "its policy");
	rf_tenant_agent_done(&got);
	RF_CHECK(rf_tenant_agent_read("other", "bot", &got, &err) == -ENOENT, "another tenant");
	RF_CHECK(rf_tenant_agent_read("acme", "../.agents/bot", &got, &err) == -ENOENT, "no path");
	RF_CHECK(symlinkat("bot", all, "link") == 0 &&
			 rf_tenant_agent_read("acme", "link", &got, &err) < 0,
		 "a link is none");
	RF_CHECK(linkat(all, "bot", all, "boa", 0) == 0 &&
			 rf_tenant_agent_read("acme", "boa", &got, &err) == -EBADMSG,
		 "another's file is none");
	RF_CHECK(fchmodat(all, "bot", 0620, 0) == 0 &&
			 rf_tenant_agent_read("acme", "bot", &got, &err) == -EPERM,
		 "one that others can write is none");
	unlinkat(all, "link", 0);
	unlinkat(all, "boa", 0);
	unlinkat(all, "bot", 0);
	unlinkat(all, ".was-bot", 0);
	close(all);
	rf_tenant_agent_done(&agent);
	clean(folder);
}

RF_TEST(who_is_bounded_by_one_that_is_gone_is_refused)
{
	char folder[] = "/tmp/ringfort-agents-XXXXXX", name[RF_TENANCY_NAME];
	struct rf_tenant_agent agent = { .name = "bot", .workspace = "bot", .created = 1 }, got;
	struct rf_err err = RF_ERR_INIT;
	int all;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		RF_SKIP("root's state is not to be written by a test");
	RF_REQUIRE(mkdtemp(folder), "a folder");
	setenv("XDG_STATE_HOME", folder, 1);
	agent.policy = strdup("limits: { time: 1m }\n");
	RF_CHECK(rf_tenant_agent_find("acme", "bot", &got, &err) == 0, "nobody's: but a name");
	all = rf_tenant_agent_open_all("acme", true);
	RF_REQUIRE(all >= 0 && rf_tenant_agent_write(all, &agent, &err) == 0, "%s", err.msg);
	RF_REQUIRE(rf_tenant_agent_find("acme", "bot", &got, &err) == 1, "%s", err.msg);
	rf_tenant_agent_done(&got);
	RF_CHECK(rf_tenant_agent_remove(all, "bot") == 0, "it goes");
	RF_CHECK(rf_tenant_agent_find("acme", "bot", &got, &err) == -EPERM && err.hint[0], "gone");
	RF_REQUIRE(rf_tenant_agent_write(all, &agent, &err) == 0, "%s", err.msg);
	RF_CHECK(rf_tenant_agent_find("acme", "bot", &got, &err) == 1, "there again");
	rf_tenant_agent_done(&got);
	unlinkat(all, "bot", 0);
	RF_CHECK(rf_tenant_agent_find("acme", "bot", &got, &err) == -EPERM, "taken by hand");
	RF_CHECK(rf_tenant_agent_find("acme", "free", &got, &err) == 0, "another is but a name");
	/* Of so many that they are not known each for itself no name is free. */
	for (int i = 0; i < RF_TENANT_AGENT_KNOWN; i++) {
		snprintf(agent.name, sizeof(agent.name), "a%d", i);
		RF_REQUIRE(rf_tenant_agent_write(all, &agent, &err) == 0, "%s", err.msg);
		RF_REQUIRE(rf_tenant_agent_remove(all, agent.name) == 0, "%s", agent.name);
	}
	RF_CHECK(rf_tenant_agent_find("acme", agent.name, &got, &err) == -EPERM, "the last");
	RF_CHECK(rf_tenant_agent_find("acme", "free", &got, &err) == -EPERM, "and all others");
	for (int i = 0; i < RF_TENANT_AGENT_KNOWN; i++) {
		snprintf(name, sizeof(name), ".was-a%d", i);
		unlinkat(all, name, 0);
	}
	unlinkat(all, ".was-bot", 0);
	unlinkat(all, ".was", 0);
	close(all);
	rf_tenant_agent_done(&agent);
	clean(folder);
}
