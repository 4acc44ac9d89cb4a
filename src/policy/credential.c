/*
 * Well-known credentials: see credential.h.
 *
 * A row has to be a secret nearly always: a name that projects also use for harmless things would
 * break them (*.pem are mostly public certificates, .env.example is a template, .docker holds build
 * files as often as logins).  .npmrc and its like are settings, but are where tokens are kept.
 */
#include "policy/credential.h"

#include "base/fd.h"

/* clang-format off */
static const char *const at_top[] = {
	".env", ".env.local", ".env.dev", ".env.dev.local", ".env.development", ".env.development.local",
	".env.test.local", ".env.stage", ".env.staging", ".env.staging.local",
	".env.prod", ".env.prod.local", ".env.production", ".env.production.local",
	".env.secret", ".env.secrets", ".env.private", ".envrc",          /* variables of projects */
	".netrc", "_netrc", ".git-credentials", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd",
	".s3cfg", ".boto", ".vault-token", ".terraformrc", ".dockercfg",  /* logins of tools */
	".npmrc", ".yarnrc.yml", ".pypirc",                               /* tokens of registries */
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",                     /* keys */
	"credentials.json", "service-account.json", "service_account.json", "serviceAccountKey.json",
	".ssh", ".gnupg", ".pki", ".password-store", ".aws", ".azure", ".kube", ".oci",
	".mozilla", ".thunderbird", ".bitcoin", ".ethereum", ".electrum", /* folders in homes */
	NULL,
};
static const char *const in_config[] = {
	"gcloud", "doctl", "rclone", "gh", "hub", "glab-cli", "op", "chromium", "google-chrome", NULL,
};
static const char *const in_docker[] = { "config.json", NULL };
static const char *const in_cargo[] = { "credentials.toml", "credentials", NULL };
static const char *const in_git[] = { "credentials", NULL };
static const char *const in_gem[] = { "credentials", NULL };
static const char *const in_m2[] = { "settings.xml", "settings-security.xml", NULL };
static const char *const in_gradle[] = { "gradle.properties", NULL };
static const char *const in_terraform[] = { "credentials.tfrc.json", NULL };
static const char *const in_share[] = { "keyrings", NULL };

const struct rf_credential_folder rf_credential_table[] = {
	{ "",             at_top },
	{ ".config",      in_config },
	{ ".config/git",  in_git },
	{ ".docker",      in_docker },
	{ ".cargo",       in_cargo },
	{ ".gem",         in_gem },
	{ ".m2",          in_m2 },
	{ ".gradle",      in_gradle },
	{ ".terraform.d", in_terraform },
	{ ".local/share", in_share },
};
/* clang-format on */

const size_t rf_credential_count = RF_LEN(rf_credential_table);
