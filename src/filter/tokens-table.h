/*
 * The rules of tokens.c, as a table.  Included there alone.
 *
 * A shape is read from left to right.  Letters stand for themselves; `<X10-20>` is a run of 10 to 20 characters of class X, as long as
 * it can be, and `<X10>` of exactly 10; `{` is where the secret begins, which is the first run unless it is said.  Behind the last run comes no
 * character of its class.  The classes:
 *
 *   d  0-9                  n  0-9 A-Z a-z           p  what a password in a URL may have
 *   h  0-9 a-f              w  n and _               s  what stands between a name and its value
 *   x  0-9 a-f A-F          b  w and -               v  b and .
 *   u  0-9 A-Z              B  n and + /             e  B and % = - _
 *   r  A-Z 2-7 (base32)     c  lower-case bech32     y  what a user's name in a URL may have
 *
 * Every shape begins with two characters or more that are fixed, the first of them a letter or digit, and its first twelve characters are
 * none of space, quotes, brackets <> and {}, backslash (tokens.c finds its places by that).
 */
#ifndef RF_FILTER_TOKENS_TABLE_H
#define RF_FILTER_TOKENS_TABLE_H

#include <stddef.h>

#define RF_TOKENS_SHAPES 12

/* How what was found is looked at: see looks_real(). */
enum token_look {
	LOOK_NONE,   /* the shape is enough */
	LOOK_RANDOM, /* as a random text looks */
	LOOK_JWT,    /* its head is the JSON that it has to be */
	LOOK_PASS,   /* a password, and not a place for one */
};

struct token_rule {
	const char *name, *what;
	enum token_look look;
	const char *shapes[RF_TOKENS_SHAPES];
};

/* clang-format off */
static const struct token_rule rules[] = {
	/* Clouds. */
	{ "aws-access-key", "AWS access key id", LOOK_RANDOM,
	  { "AKIA<r16>", "ASIA<r16>", "ABIA<r16>", "ACCA<r16>" } },
	{ "aws-secret-key", "AWS secret access key behind its name", LOOK_RANDOM,
	  { "aws_secret_access_key<s1-8><B40>", "AWS_SECRET_ACCESS_KEY<s1-8><B40>",
	    "SecretAccessKey<s1-8><B40>", "secretAccessKey<s1-8><B40>", "secret_access_key<s1-8><B40>" } },
	{ "aws-session-token", "AWS session token behind its name", LOOK_RANDOM,
	  { "aws_session_token<s1-8><e100-4096>", "AWS_SESSION_TOKEN<s1-8><e100-4096>",
	    "SessionToken<s1-8><e100-4096>", "sessionToken<s1-8><e100-4096>" } },
	{ "gcp-api-key", "Google API key", LOOK_RANDOM, { "AIza<b35>" } },
	{ "gcp-oauth", "Google OAuth client secret or token", LOOK_RANDOM,
	  { "GOCSPX-<b28>", "ya29.<v40-1024>" } },
	{ "azure-storage-key", "Azure storage account key", LOOK_RANDOM,
	  { "AccountKey=<B86>==" } },
	{ "azure-shared-key", "Azure shared access key", LOOK_RANDOM,
	  { "SharedAccessKey=<B43>=" } },
	{ "azure-sas", "Azure shared access signature", LOOK_RANDOM,
	  { "sig=<e43-80>" } },
	{ "digitalocean-token", "DigitalOcean token", LOOK_RANDOM,
	  { "dop_v1_<h64>", "doo_v1_<h64>", "dor_v1_<h64>" } },
	{ "heroku-key", "Heroku API key", LOOK_RANDOM, { "HRKU-AA<b58>" } },
	{ "fly-token", "Fly.io token", LOOK_RANDOM, { "fm2_<e100-2048>", "fo1_<b43>" } },
	{ "cloudflare-ca-key", "Cloudflare origin CA key", LOOK_RANDOM, { "v1.0-<h24>-<h146>" } },
	{ "netlify-token", "Netlify token", LOOK_RANDOM, { "nfp_<n40>" } },
	/* Code. */
	{ "github-token", "GitHub token", LOOK_RANDOM,
	  { "ghp_<n36-251>", "gho_<n36-251>", "ghu_<n36-251>", "ghs_<n36-251>", "ghr_<n36-251>" } },
	{ "github-pat", "GitHub fine-grained token", LOOK_RANDOM, { "github_pat_<n22>_<n59>" } },
	{ "gitlab-token", "GitLab token", LOOK_RANDOM,
	  { "glpat-<v20-300>", "gldt-<b20-64>", "glrt-<v20-300>", "glptt-<h40>", "glcbt-<b20-90>",
	    "glsoat-<b20-64>", "glft-<b20-64>", "glagent-<b50-64>", "gloas-<h64>" } },
	{ "atlassian-token", "Atlassian API token", LOOK_RANDOM,
	  { "ATATT3xFfGF0<e150-250>", "ATCTT3xFfGN0<e150-250>" } },
	{ "npm-token", "npm token", LOOK_RANDOM, { "npm_<n36>" } },
	{ "pypi-token", "PyPI token", LOOK_RANDOM,
	  { "pypi-AgEIcHlwaS5vcmc<b50-1000>", "pypi-AgENdGVzdC5weXBpLm9yZw<b50-1000>" } },
	{ "rubygems-key", "RubyGems key", LOOK_RANDOM, { "rubygems_<h48>" } },
	{ "crates-token", "crates.io token", LOOK_RANDOM, { "cio<n32>" } },
	{ "docker-token", "Docker Hub token", LOOK_RANDOM, { "dckr_pat_<b27>", "dckr_oat_<b32>" } },
	{ "terraform-token", "Terraform Cloud token", LOOK_RANDOM, { "atlasv1.<b60-70>" } },
	{ "vault-token", "HashiCorp Vault token", LOOK_RANDOM,
	  { "hvs.<b24-200>", "hvb.<b90-400>", "hvr.<b90-400>" } },
	{ "doppler-token", "Doppler token", LOOK_RANDOM,
	  { "dp.pt.<n43>", "dp.ct.<n40-44>", "dp.sa.<n40-44>", "dp.scim.<n40-44>", "dp.audit.<n40-44>" } },
	{ "postman-key", "Postman API key", LOOK_RANDOM, { "PMAK-<h24>-<h34>" } },
	{ "age-key", "age secret key", LOOK_RANDOM, { "AGE-SECRET-KEY-1<u58>" } },
	/* Models. */
	{ "openai-key", "OpenAI API key", LOOK_RANDOM,
	  { "sk-proj-<b40-200>", "sk-svcacct-<b40-200>", "sk-admin-<b40-200>",
	    "sk-{<n20>T3BlbkFJ<n20>" } },
	{ "anthropic-key", "Anthropic API key", LOOK_RANDOM, { "sk-ant-<n3-8>-{<b40-200>" } },
	{ "huggingface-token", "Hugging Face token", LOOK_RANDOM, { "hf_<n34-40>" } },
	{ "groq-key", "Groq API key", LOOK_RANDOM, { "gsk_<n52>" } },
	{ "xai-key", "xAI API key", LOOK_RANDOM, { "xai-<n70-90>" } },
	{ "perplexity-key", "Perplexity API key", LOOK_RANDOM, { "pplx-<n48>" } },
	{ "replicate-token", "Replicate API token", LOOK_RANDOM, { "r8_<n37>" } },
	{ "databricks-token", "Databricks token", LOOK_RANDOM, { "dapi<h32>", "dapi{<h32>-<d1>" } },
	/* Messages and money. */
	{ "slack-token", "Slack token", LOOK_RANDOM,
	  { "xoxb-<d10-14>-<d10-14>-<n18-40>", "xoxp-<d10-14>-<d10-14>-<d10-14>-<h28-40>",
	    "xoxa-2-<d10-14>-<d10-14>-<d10-14>-<h28-40>", "xapp-<d1>-<u9-14>-<d10-14>-<h60-68>",
	    "xoxe.xoxp-1-<b140-200>", "xoxe-1-<b140-200>", "xoxr-<d10-14>-<n18-60>" } },
	{ "slack-webhook", "Slack webhook", LOOK_RANDOM,
	  { "hooks.slack.com/services/T<u8-12>/B<u8-12>/{<n24>" } },
	{ "discord-webhook", "Discord webhook", LOOK_RANDOM,
	  { "discord.com/api/webhooks/<d17-20>/{<b60-80>", "discordapp.com/api/webhooks/<d17-20>/{<b60-80>" } },
	{ "stripe-key", "Stripe key", LOOK_RANDOM,
	  { "sk_live_<n16-247>", "rk_live_<n16-247>", "sk_test_<n16-247>", "rk_test_<n16-247>",
	    "whsec_<B32-64>" } },
	{ "square-token", "Square token", LOOK_RANDOM, { "sq0atp-<b22>", "sq0csp-<b43>" } },
	{ "shopify-token", "Shopify token", LOOK_RANDOM,
	  { "shpat_<x32>", "shpca_<x32>", "shppa_<x32>", "shpss_<x32>" } },
	{ "twilio-key", "Twilio API key", LOOK_RANDOM, { "SK<h32>" } },
	{ "sendgrid-key", "SendGrid API key", LOOK_RANDOM, { "SG.<b22>.<b43>" } },
	{ "mailgun-key", "Mailgun API key", LOOK_RANDOM, { "key-<h32>" } },
	{ "brevo-key", "Brevo API key", LOOK_RANDOM, { "xkeysib-<h64>-<n16>" } },
	/* Work and watching. */
	{ "linear-key", "Linear API key", LOOK_RANDOM, { "lin_api_<n40>", "lin_oauth_<h64>" } },
	{ "notion-token", "Notion token", LOOK_RANDOM, { "ntn_<n43-50>", "secret_<n43>" } },
	{ "figma-token", "Figma token", LOOK_RANDOM, { "figd_<b40-48>" } },
	{ "airtable-token", "Airtable token", LOOK_RANDOM, { "pat<n14>.{<h64>" } },
	{ "newrelic-key", "New Relic key", LOOK_RANDOM, { "NRAK-<u27>" } },
	{ "grafana-token", "Grafana token", LOOK_RANDOM, { "glsa_<n32>_<x8>", "glc_<e60-400>" } },
	{ "sentry-token", "Sentry token", LOOK_RANDOM, { "sntryu_<h64>", "sntrys_<e80-400>" } },
	{ "dynatrace-token", "Dynatrace token", LOOK_RANDOM, { "dt0c01.<u24>.{<u64>" } },
	{ "planetscale-token", "PlanetScale token", LOOK_RANDOM,
	  { "pscale_tkn_<v32-64>", "pscale_pw_<v32-64>", "pscale_oauth_<v32-64>" } },
	{ "supabase-key", "Supabase key", LOOK_RANDOM, { "sbp_<h40>", "sb_secret_<b31-40>" } },
	/* What is nobody's in particular. */
	{ "jwt", "JSON Web Token", LOOK_JWT,
	  { "{eyJ<b10-2048>.eyJ<b10-8192>.<b16-2048>" } },
	{ "database-url", "Password in a database's address", LOOK_PASS,
	  { "postgres://<y0-64>:{<p3-256>@", "postgresql://<y0-64>:{<p3-256>@",
	    "mysql://<y0-64>:{<p3-256>@", "mariadb://<y0-64>:{<p3-256>@",
	    "mongodb://<y0-64>:{<p3-256>@", "mongodb+srv://<y0-64>:{<p3-256>@",
	    "redis://<y0-64>:{<p3-256>@", "rediss://<y0-64>:{<p3-256>@",
	    "amqp://<y0-64>:{<p3-256>@", "amqps://<y0-64>:{<p3-256>@",
	    "mssql://<y0-64>:{<p3-256>@", "clickhouse://<y0-64>:{<p3-256>@" } },
	{ "url-password", "Password in an address", LOOK_PASS,
	  { "https://<y1-64>:{<p6-256>@", "http://<y1-64>:{<p6-256>@",
	    "ftp://<y1-64>:{<p6-256>@", "ssh://<y1-64>:{<p6-256>@" } },
	{ "private-key", "Private key (PEM, OpenSSH, PGP)", LOOK_NONE, { NULL } },
};
/* clang-format on */

#endif
