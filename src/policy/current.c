/*
 * Whether the current directory may be shown without having been named.
 *
 * A run from a project's folder should see the project.  A run from a home, from a system folder or
 * from where keys are kept would show far more than anyone meant, and it is easy to be there by
 * accident; so there the caller has to say it.
 */
#include "policy/current.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"

/* clang-format off */
static const char *const system_folders[] = {
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc",
	"/run", "/sbin", "/sys", "/usr", "/var",
};

/* Folders that are everyone's; what lies beneath them is someone's and may be shown. */
static const char *const shared_folders[] = { "/tmp", "/var/tmp" };

static const char *const secret_folders[] = {
	".ssh", ".gnupg", ".pki", ".password-store", ".vault", ".local/share/keyrings",      /* keys */
	".aws", ".azure", ".kube", ".minikube", ".oci", ".docker", ".terraform.d",           /* clouds */
	".config/gcloud", ".config/doctl", ".config/rclone",
	".config/gh", ".config/hub", ".config/glab-cli", ".config/op",                       /* tokens */
	".mozilla", ".thunderbird", ".config/chromium", ".config/google-chrome",             /* browsers */
	".bitcoin", ".ethereum", ".electrum",                                                /* wallets */
};
/* clang-format on */

bool rf_current_is_secret(const char *path)
{
	for (size_t i = 0; i < RF_LEN(secret_folders); i++) {
		size_t len = strlen(secret_folders[i]);

		/* Whole components only: each stands behind a slash and before a slash or the end. */
		for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/'))
			if (strncmp(p + 1, secret_folders[i], len) == 0 &&
			    (p[1 + len] == '/' || p[1 + len] == '\0'))
				return true;
	}
	return false;
}

/* True for ~/.config and the like: the folders of others' secrets lie right beneath. */
static bool holds_secrets(const char *path)
{
	size_t path_len = strlen(path);

	for (size_t i = 0; i < RF_LEN(secret_folders); i++) {
		const char *slash = strrchr(secret_folders[i], '/');
		size_t len = slash ? (size_t)(slash - secret_folders[i]) : 0;

		if (slash && path_len > len && path[path_len - len - 1] == '/' &&
		    strncmp(path + path_len - len, secret_folders[i], len) == 0)
			return true;
	}
	return false;
}

static const char *home_refusal(const char *cwd, const char *home)
{
	static const char homes[] = "/home/";
	size_t len = sizeof(homes) - 1;

	if (strcmp(home, "/") != 0 && strcmp(cwd, home) == 0)
		return "is your home";
	if (strcmp(cwd, "/root") == 0)
		return "is root's home";
	if (strncmp(cwd, homes, len) == 0 && !strchr(cwd + len, '/'))
		return "is a home";
	if (strcmp(cwd, "/home") == 0 || (strcmp(home, "/") != 0 && rf_path_is_beneath(home, cwd)))
		return "holds homes";
	return NULL;
}

const char *rf_current_refusal(const char *cwd, const char *home)
{
	const char *why;

	if (strcmp(cwd, "/") == 0)
		return "is the root of all files";
	why = home_refusal(cwd, home);
	if (why)
		return why;
	if (rf_current_is_secret(cwd))
		return "is or lies in a folder of credentials";
	if (holds_secrets(cwd))
		return "holds folders of credentials";
	for (size_t i = 0; i < RF_LEN(shared_folders); i++) {
		if (strcmp(cwd, shared_folders[i]) == 0)
			return "is shared by everyone";
		if (rf_path_is_beneath(cwd, shared_folders[i]))
			return NULL;
	}
	for (size_t i = 0; i < RF_LEN(system_folders); i++)
		if (rf_path_is_beneath(cwd, system_folders[i]))
			return "is or lies in a system folder";
	return NULL;
}
