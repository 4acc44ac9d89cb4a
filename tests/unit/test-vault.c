/* Memory for secrets: src/gateway/vault.c. */
#include "gateway/vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Whether the mapping at `at` has a flag, as /proc/self/smaps tells it. */
static bool has_flag(const void *at, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool is_here = false, has = false;

	RF_REQUIRE(file, "no smaps");
	while (fgets(line, sizeof(line), file)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_here = (unsigned long)at >= from && (unsigned long)at < to;
		else if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag);
	}
	fclose(file);
	return has;
}

RF_TEST(secrets_are_kept_out_of_cores_and_children)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_vault *vault;
	struct rf_span secret;
	int status;
	pid_t pid;

	RF_REQUIRE(rf_vault_new(100, &vault, &err) == 0, "%s", err.msg);
	secret = rf_vault_keep(vault, RF_SPAN("a secret"));
	RF_REQUIRE(secret.at && strcmp(secret.at, "a secret") == 0 && secret.len == 8, "not kept");
	RF_CHECK(rf_vault_is_locked(vault), "it may be swapped");
	RF_CHECK(has_flag(secret.at, " dd"), "it may be dumped");
	RF_CHECK(has_flag(secret.at, " dc"), "children have it");
	RF_REQUIRE(rf_vault_seal(vault, &err) == 0, "%s", err.msg);
	pid = fork();
	RF_REQUIRE(pid >= 0, "no child");
	if (pid == 0)
		_exit(*(const volatile char *)secret.at); /* not there: a signal */
	RF_CHECK(waitpid(pid, &status, 0) == pid &&
			 !(WIFEXITED(status) && WEXITSTATUS(status) == 'a'),
		 "a child reads it");
	rf_vault_free(vault);
}

RF_TEST(a_full_vault_takes_no_more)
{
	struct rf_err err = RF_ERR_INIT;
	static char big[5000];
	struct rf_vault *vault;
	struct rf_span first;

	RF_REQUIRE(rf_vault_new(100, &vault, &err) == 0, "%s", err.msg);
	RF_CHECK(!rf_vault_keep(vault, (struct rf_span){ big, 4096 }).at, "too much at once");
	first = rf_vault_keep(vault, (struct rf_span){ big, 4090 });
	RF_CHECK(first.at, "what fits");
	RF_CHECK(!rf_vault_keep(vault, RF_SPAN("12345")).at, "a byte too much");
	RF_CHECK(rf_vault_keep(vault, RF_SPAN("1234")).at, "the last that fits");
	RF_CHECK(!rf_vault_keep(vault, RF_SPAN("")).at, "full");
	rf_vault_free(vault);
	rf_vault_free(NULL);
}
