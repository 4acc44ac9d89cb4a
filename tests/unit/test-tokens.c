/*
 * Rules for secrets of known form.
 *
 * Samples are put together when the test runs: a key in a source file, even an invented one, is what scanners of repositories look
 * for.  In a sample, `%n36` is 36 random characters of a class; the classes are this file's own, so that a mistake in the table's
 * is seen.
 */
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filter/charmap.h"
#include "filter/tokens.h"
#include "harness.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
static const struct { const char *rule, *sample; } samples[] = {
	{ "aws-access-key",     "AK" "IA%r16" },
	{ "aws-access-key",     "AS" "IA%r16" },
	{ "aws-secret-key",     "aws_secret" "_access_key = %B40" },
	{ "aws-secret-key",     "\"Secret" "AccessKey\": \"%B40" },
	{ "aws-secret-key",     "<Secret" "AccessKey>%B40" },
	{ "aws-session-token",  "\"Session" "Token\": \"%B100" },
	{ "gcp-api-key",        "AI" "za%b35" },
	{ "gcp-oauth",          "GOC" "SPX-%b28" },
	{ "gcp-oauth",          "ya" "29.%b40" },
	{ "azure-storage-key",  "Account" "Key=%B86==" },
	{ "azure-shared-key",   "SharedAccess" "Key=%B43=" },
	{ "azure-sas",          "?sv=2024-01-01&si" "g=%n43" },
	{ "digitalocean-token", "do" "p_v1_%h64" },
	{ "heroku-key",         "HR" "KU-AA%b58" },
	{ "fly-token",          "fm" "2_%B100" },
	{ "cloudflare-ca-key",  "v1" ".0-%h24-%h146" },
	{ "netlify-token",      "nf" "p_%n40" },
	{ "github-token",       "gh" "p_%n36" },
	{ "github-token",       "gh" "s_%n36" },
	{ "github-pat",         "github" "_pat_%n22_%n59" },
	{ "gitlab-token",       "gl" "pat-%b20" },
	{ "gitlab-token",       "gl" "ptt-%h40" },
	{ "atlassian-token",    "ATA" "TT3xFfGF0%b150" },
	{ "npm-token",          "np" "m_%n36" },
	{ "pypi-token",         "py" "pi-AgEIcHlwaS5vcmc%b50" },
	{ "rubygems-key",       "ruby" "gems_%h48" },
	{ "crates-token",       "ci" "o%n32" },
	{ "docker-token",       "dckr" "_pat_%b27" },
	{ "terraform-token",    "%n14.atlas" "v1.%b60" },
	{ "vault-token",        "hv" "s.%b24" },
	{ "doppler-token",      "dp" ".pt.%n43" },
	{ "postman-key",        "PM" "AK-%h24-%h34" },
	{ "age-key",            "AGE-SECRET" "-KEY-1%u58" },
	{ "openai-key",         "sk" "-proj-%b40" },
	{ "openai-key",         "sk" "-%n20T3Blbk" "FJ%n20" },
	{ "anthropic-key",      "sk" "-ant-api03-%b40" },
	{ "huggingface-token",  "hf" "_%n34" },
	{ "groq-key",           "gs" "k_%n52" },
	{ "xai-key",            "xa" "i-%n70" },
	{ "perplexity-key",     "pp" "lx-%n48" },
	{ "replicate-token",    "r" "8_%n37" },
	{ "databricks-token",   "da" "pi%h32" },
	{ "slack-token",        "xo" "xb-%d12-%d12-%n18" },
	{ "slack-token",        "xo" "xp-%d11-%d11-%d11-%h28" },
	{ "slack-token",        "xa" "pp-1-A%u10-%d13-%h60" },
	{ "slack-webhook",      "https://hooks.slack" ".com/services/T%u10/B%u10/%n24" },
	{ "discord-webhook",    "https://discord" ".com/api/webhooks/%d18/%b60" },
	{ "stripe-key",         "sk" "_live_%n16" },
	{ "stripe-key",         "wh" "sec_%n32" },
	{ "square-token",       "sq" "0atp-%b22" },
	{ "shopify-token",      "sh" "pat_%h32" },
	{ "twilio-key",         "S" "K%h32" },
	{ "sendgrid-key",       "S" "G.%b22.%b43" },
	{ "mailgun-key",        "ke" "y-%h32" },
	{ "brevo-key",          "xkey" "sib-%h64-%n16" },
	{ "linear-key",         "lin" "_api_%n40" },
	{ "notion-token",       "nt" "n_%n43" },
	{ "figma-token",        "fi" "gd_%b40" },
	{ "airtable-token",     "pa" "t%n14.%h64" },
	{ "newrelic-key",       "NR" "AK-%u27" },
	{ "grafana-token",      "gl" "sa_%n32_%h8" },
	{ "sentry-token",       "snt" "ryu_%h64" },
	{ "dynatrace-token",    "dt" "0c01.%u24.%u64" },
	{ "planetscale-token",  "psc" "ale_tkn_%b32" },
	{ "supabase-key",       "sb" "p_%h40" },
	{ "jwt",                "ey" "JhbGciOiJIUzI1NiJ9.ey" "J%b40.%b16" },
	{ "database-url",       "postgres:" "//app:%n12@db.internal/app" },
	{ "database-url",       "mongodb+srv:" "//app:%n12@cluster0" },
	{ "url-password",       "https:" "//deploy:%n20@git.internal/x.git" },
};

/* What looks like one to who does not look twice. */
static const char *const harmless[] = {
	"gh" "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	"gh" "p_abcdefghijklmnopqrstuvwxyz0123456789",
	"AK" "IAIOSFODNN7EXAMPLE",
	"AK" "IAAAAAAAAAAAAAAAAA",
	"AK" "IA_NOT_A_KEY_AT_ALL",
	"sk" "_live_your_key_goes_here_please",
	"sk" "-proj-this-is-the-name-of-a-css-class-and-not-a-key",
	"postgres:" "//localhost:5432/app",
	"postgres:" "//user:password@localhost/app",
	"postgres:" "//$USER:$PASSWORD@localhost/app",
	"postgres:" "//app:%s@localhost/app",
	"https:" "//example.org:8443/path@2x.png",
	"https:" "//user:********@example.org/",
	"eyJub3QiOiJhIGp3dCJ9.eyJub3QiOiJhIGp3dCJ9.aaaaaaaaaaaaaaaaaaaa",
	"key-value-store-of-the-whole-application",
	"npm_config_registry_and_more_of_that_kind",
	"secret_manager_client_with_a_very_long_name_in_it",
	"aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY_OF_THE_TEST_ACCOUNT']",
	"SharedAccessKey=${{ secrets.AZURE_SHARED_ACCESS_KEY_OF_THE_BUS_ }}=",
	"hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
	"SKIP_EVERYTHING_THAT_DOES_NOT_BELONG_HERE",
	"patternsandmore.thisisnotatokenbutjustaverylongword0123456789abcdef",
};
/* clang-format on */

static uint64_t state = 1;

static unsigned roll(unsigned below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % below;
}

static const char *alphabet(char name)
{
	static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	switch (name) {
	case 'd':
		return "0123456789";
	case 'h':
		return "0123456789abcdef";
	case 'u':
		return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	case 'r':
		return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	case 'b':
		return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
	case 'B':
		return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/";
	default:
		return all;
	}
}

/* Writes a sample; `less` characters fewer in its last random run, or that run all of `same`. */
static size_t write_sample(char *out, const char *sample, unsigned less, char same)
{
	const char *last = strrchr(sample, '%');
	size_t size = 0;

	for (const char *at = sample; *at;) {
		char *end;
		unsigned long count;
		const char *letters;

		if (*at != '%') {
			out[size++] = *at++;
			continue;
		}
		count = strtoul(at + 2, &end, 10) - (at == last ? less : 0);
		letters = alphabet(at[1]);
		for (unsigned long i = 0; i < count; i++)
			out[size++] = at == last && same ? same
							 : letters[roll((unsigned)strlen(letters))];
		/* A run of random letters is not where a digit is left to chance. */
		if (count > 3 && !(at == last && same))
			out[size - 2] = letters[strlen(letters) > 30 && letters[0] == 'A' ? 27 : 7];
		at = end;
	}
	out[size] = '\0';
	return size;
}

struct seen {
	unsigned count, rule;
	size_t at, len;
};

static void on_found(void *context, size_t at, size_t len, unsigned rule)
{
	struct seen *seen = context;

	seen->count++;
	seen->rule = rule;
	seen->at = at;
	seen->len = len;
}

static struct seen scan(const char *text, size_t len)
{
	struct seen seen = { 0 };

	RF_CHECK(rf_tokens_scan(text, len, 0, true, on_found, &seen) == len,
		 "everything is decided");
	return seen;
}

RF_TEST(every_rule_finds_its_sample_and_masks_what_is_secret_of_it)
{
	bool is_seen[RF_TOKENS_MAX] = { false };

	for (size_t i = 0; i < LEN(samples); i++)
		for (unsigned round = 0; round < 50; round++) {
			char text[1024] = "text before, ";
			size_t before = strlen(text);
			size_t len = before + write_sample(text + before, samples[i].sample, 0, 0);

			memcpy(text + len, "\" after", 8);
			struct seen seen = scan(text, len + 7);

			RF_REQUIRE(seen.count == 1, "%s: %u found in %s", samples[i].rule,
				   seen.count, text);
			RF_CHECK(!strcmp(rf_tokens_name(seen.rule), samples[i].rule), "%s is %s",
				 text, rf_tokens_name(seen.rule));
			RF_CHECK(seen.at >= before && seen.at + seen.len <= len && seen.len >= 12,
				 "%s: masked are %zu bytes at %zu", text, seen.len, seen.at);
			is_seen[seen.rule] = true;
		}
	for (unsigned rule = 0; rule < rf_tokens_count(); rule++)
		RF_CHECK(is_seen[rule] || rule == rf_tokens_key_rule(), "%s has a sample",
			 rf_tokens_name(rule));
	RF_CHECK(rf_tokens_count() >= 40, "there are %u", rf_tokens_count());
}

RF_TEST(a_sample_that_is_a_letter_short_or_in_a_word_or_a_placeholder_is_none)
{
	for (size_t i = 0; i < LEN(samples); i++) {
		const char *sample = samples[i].sample;
		bool is_password =
			strstr(samples[i].rule, "-url") || strstr(samples[i].rule, "url-");
		char text[1024];
		size_t len;

		if (!is_password) {
			len = write_sample(text, sample, 1, 0);
			RF_CHECK(scan(text, len).count == 0, "too short: %s", text);
		}
		len = write_sample(text, sample, 0, 'x');
		if (strcmp(samples[i].rule, "jwt") != 0)
			RF_CHECK(scan(text, len).count == 0, "a placeholder: %s", text);
		/* Those that begin with something else come after a mark of their own. */
		if (strchr("%\"<?ha", sample[0]) || is_password)
			continue;
		text[0] = 'Z';
		len = 1 + write_sample(text + 1, sample, 0, 0);
		RF_CHECK(scan(text, len).count == 0, "in a word: %s", text);
	}
}

RF_TEST(what_only_looks_like_a_secret_stays)
{
	for (size_t i = 0; i < LEN(harmless); i++) {
		struct seen seen = scan(harmless[i], strlen(harmless[i]));

		RF_CHECK(seen.count == 0, "%s is taken for %s", harmless[i],
			 rf_tokens_name(seen.rule));
	}
}

RF_TEST(a_secret_behind_an_escape_is_found)
{
	static const char *const before[] = { "\\n", "\\t", "%20", "%0A", "=", "/", "_" };

	for (size_t i = 0; i < LEN(before); i++) {
		char text[256];
		size_t size = (size_t)snprintf(text, sizeof(text), "%s", before[i]);

		size += write_sample(text + size,
				     "gh"
				     "p_%n36",
				     0, 0);
		RF_CHECK(scan(text, size).count == 1, "%s", text);
	}
}

RF_TEST(a_private_key_is_told_from_a_public_one_and_from_talk_of_one)
{
	/* clang-format off */
	static const struct { const char *text; int found; } cases[] = {
		{ "-----BEGIN " "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0", 1 },
		{ "-----BEGIN RSA " "PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0", 1 },
		{ "-----BEGIN RSA " "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", 1 },
		{ "-----BEGIN OPENSSH " "PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAA", 1 },
		{ "-----BEGIN PGP " "PRIVATE KEY BLOCK-----\n\nlQOYBGYAAAABCAC7AAAAAAAA", 1 },
		{ "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0", 0 },
		{ "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0", 0 },
		{ "-----BEGIN " "PRIVATE KEY----- is how a key begins", 0 },
		{ "-----BEGIN " "PRIVATE KEY-----\n...\n", 0 },
		{ "-----BEGIN " "PRIVATE KEY-----\"\nif (x)", 0 },
		{ "-----BEGIN " "PRIV", -1 },
		{ "-----BEGIN " "PRIVATE KEY-----\nMII", -1 },
		{ "-----BEGIN a very long text in small letters that never has the end of such a line", 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < LEN(cases); i++) {
		size_t text = 0;
		int found = rf_tokens_key(cases[i].text, strlen(cases[i].text), false, &text);

		RF_CHECK(found == cases[i].found, "%s: %d", cases[i].text, found);
		RF_CHECK(rf_tokens_key(cases[i].text, strlen(cases[i].text), true, &text) ==
				 (found > 0),
			 "%s at the end", cases[i].text);
	}
}

/* --- ordinary text: what this machine's packages brought --- */

#define ORDINARY_BYTES (100L * 1024 * 1024)

static struct {
	size_t bytes, files;
	unsigned alarms;
	char last[512];
} ordinary;

static void on_alarm(void *context, size_t at, size_t len, unsigned rule)
{
	const char *name = rf_tokens_name(rule);

	/* These have real ones in their tests and manuals: keys for local servers, addresses with a password. */
	if (!strcmp(name, "jwt") || !strcmp(name, "url-password") || !strcmp(name, "database-url"))
		return;
	ordinary.alarms++;
	snprintf(ordinary.last, sizeof(ordinary.last), "%s in %s at %zu", name,
		 (const char *)context, at);
}

static int look_at_file(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	FILE *file;
	char *text;
	size_t len;

	if (type != FTW_F || stat->st_size > 4 * 1024 * 1024)
		return 0;
	file = fopen(path, "re");
	text = malloc((size_t)stat->st_size + 1);
	if (file && text) {
		len = fread(text, 1, (size_t)stat->st_size, file);
		rf_tokens_scan(text, len, 0, true, on_alarm, (void *)(uintptr_t)path);
		ordinary.bytes += len;
		ordinary.files++;
	}
	free(text);
	if (file)
		fclose(file);
	return ordinary.bytes > ORDINARY_BYTES;
}

RF_TEST(ordinary_text_gives_no_alarms)
{
	static const char *const trees[] = { "/usr/include", "/usr/lib/python3", "/usr/share/doc",
					     "/usr/share/nodejs", "/usr/share/perl" };

	for (size_t i = 0; i < LEN(trees); i++)
		nftw(trees[i], look_at_file, 32, FTW_PHYS);
	if (ordinary.bytes < 1024 * 1024)
		RF_SKIP("this machine has no trees of text");
	RF_CHECK(ordinary.alarms <= 1, "%u alarms in %zu files of %zu bytes, the last one %s",
		 ordinary.alarms, ordinary.files, ordinary.bytes, ordinary.last);
}

RF_TEST(vectors_and_bytes_see_the_same_places)
{
	struct rf_charmap_anchors anchors = { 0 };
	char *data = malloc(5000);

	rf_charmap_enter(&anchors, 0, "ghp");
	rf_charmap_enter(&anchors, 1, "SK0");
	rf_charmap_enter(&anchors, 7, "eyJ");
	for (unsigned round = 0; round < 2000; round++) {
		size_t len = roll(5000), from = len ? roll((unsigned)(len < 200 ? len : 200)) : 0;
		struct rf_charmap plain, best;
		bool is_more = true;

		for (size_t i = 0; i < len; i++)
			data[i] = (char)(round % 4 ? "ghp_SKeyJ\\%n aZ0-"[roll(18)]
						   : (char)roll(256));
		rf_charmap_init(&plain, &anchors, data, len, from);
		rf_charmap_init(&best, &anchors, data, len, from);
		plain.is_plain = true;
		while (is_more) {
			is_more = rf_charmap_next(&plain);
			RF_REQUIRE(rf_charmap_next(&best) == is_more, "round %u", round);
			RF_REQUIRE(!is_more || (plain.count == best.count && plain.at == best.at &&
						!memcmp(plain.starts, best.starts,
							plain.count * sizeof(plain.starts[0]))),
				   "round %u at %zu", round, plain.at);
		}
	}
	free(data);
}
