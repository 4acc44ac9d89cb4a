/* Whether the current directory is shown: src/policy/current.c. */
#include <string.h>

#include "base/fd.h"
#include "harness.h"
#include "policy/current.h"

RF_TEST(a_project_is_shown_and_a_home_a_secret_or_a_system_folder_is_not)
{
	/* clang-format off */
	static const struct { const char *cwd, *home, *why; } cases[] = {
		{ "/home/ada/project",       "/home/ada",  NULL },
		{ "/home/ada/project/x",     "/home/ada",  NULL },
		{ "/root/project",           "/root",      NULL },
		{ "/srv/data",               "/home/ada",  NULL },
		{ "/opt/x",                  "/home/ada",  NULL },
		{ "/tmp/x",                  "/home/ada",  NULL },
		{ "/var/tmp/x",              "/home/ada",  NULL },
		{ "/mnt",                    "/",          NULL },
		{ "/users/x",                "/users/ada", NULL },
		{ "/home/ada/.sshrc",        "/home/ada",  NULL },
		{ "/home/ada/x.aws",         "/home/ada",  NULL },
		{ "/home/ada/.config/nvim",  "/home/ada",  NULL },
		{ "/",                       "/home/ada",  "is the root of all files" },
		{ "/home/ada",               "/home/ada",  "is your home" },
		{ "/root",                   "/root",      "is your home" },
		{ "/root",                   "/home/ada",  "is root's home" },
		{ "/home/bob",               "/home/ada",  "is a home" },
		{ "/home",                   "/home/ada",  "holds homes" },
		{ "/home",                   "/",          "holds homes" },
		{ "/users",                  "/users/ada", "holds homes" },
		{ "/home/ada/.ssh",          "/home/ada",  "is or lies in a folder of credentials" },
		{ "/home/ada/.aws/x",        "/home/ada",  "is or lies in a folder of credentials" },
		{ "/srv/backup/.gnupg/y/z",  "/home/ada",  "is or lies in a folder of credentials" },
		{ "/home/ada/.config/gcloud", "/home/ada", "is or lies in a folder of credentials" },
		{ "/tmp/.ssh",               "/home/ada",  "is or lies in a folder of credentials" },
		{ "/tmp",                    "/home/ada",  "is shared by everyone" },
		{ "/var/tmp",                "/home/ada",  "is shared by everyone" },
		{ "/etc",                    "/home/ada",  "is or lies in a system folder" },
		{ "/etc/nginx",              "/home/ada",  "is or lies in a system folder" },
		{ "/var",                    "/home/ada",  "is or lies in a system folder" },
		{ "/var/log",                "/home/ada",  "is or lies in a system folder" },
		{ "/run/user/1000",          "/home/ada",  "is or lies in a system folder" },
		{ "/proc/self",              "/home/ada",  "is or lies in a system folder" },
		{ "/usr/src/x",              "/home/ada",  "is or lies in a system folder" },
		{ "/boot",                   "/home/ada",  "is or lies in a system folder" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		const char *why = rf_current_refusal(cases[i].cwd, cases[i].home);

		RF_CHECK(cases[i].why ? why && strcmp(why, cases[i].why) == 0 : !why, "%s: %s",
			 cases[i].cwd, why ? why : "shown");
	}
}
