/* An API key: see api-key.h. */
#include "server/api-key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/jsonread.h"
#include "base/limits.h"

/* Boxes of the default kind, for up to an hour: no file of the host but programs, no network. */
const char rf_api_key_ceiling[] = "version: 1\n"
				  "files: { current: none, credentials: hide }\n"
				  "network: none\n"
				  "limits: { time: 1h, cpu_time: 1h }\n";

/* clang-format off */
static const struct { const char *name; enum rf_scope scope; } scopes[] = {
	{ "run", RF_SCOPE_RUN }, { "read", RF_SCOPE_READ }, { "admin", RF_SCOPE_ADMIN },
};
/* clang-format on */

void rf_api_key_done(struct rf_api_key *key)
{
	free(key->ceiling);
	*key = (struct rf_api_key){ 0 };
}

/* ------------------------------------------------------------- tokens */

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(const char *text, uint8_t *bytes, size_t count)
{
	bool is_hex = true;

	for (size_t i = 0; i < count; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		is_hex = is_hex && high >= 0 && low >= 0;
		bytes[i] = (uint8_t)(is_hex ? high << 4 | low : 0);
	}
	return is_hex;
}

static void put_hex(const uint8_t *bytes, size_t count, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

bool rf_api_key_take_token(const char *text, size_t len, char ret_id[RF_API_KEY_ID],
			   uint8_t ret_secret[RF_API_KEY_SECRET])
{
	const size_t mark = strlen(RF_API_KEY_MARK), id = RF_API_KEY_ID - 1;
	uint8_t number[(RF_API_KEY_ID - 1) / 2];

	if (len != RF_API_KEY_TOKEN - 1 || memcmp(text, RF_API_KEY_MARK, mark) != 0 ||
	    text[mark + id] != '_' || !take_hex(text + mark, number, sizeof(number)) ||
	    !take_hex(text + mark + id + 1, ret_secret, RF_API_KEY_SECRET))
		return false;
	memcpy(ret_id, text + mark, id);
	ret_id[id] = '\0';
	return true;
}

void rf_api_key_put_token(const char *id, const uint8_t secret[RF_API_KEY_SECRET],
			  char ret_token[RF_API_KEY_TOKEN])
{
	size_t len = (size_t)snprintf(ret_token, RF_API_KEY_TOKEN, RF_API_KEY_MARK "%s_", id);

	put_hex(secret, RF_API_KEY_SECRET, ret_token + len);
}

void rf_api_key_hash(const uint8_t secret[RF_API_KEY_SECRET], uint8_t ret_hash[RF_SHA256_BYTES])
{
	struct rf_sha256 sha;

	rf_sha256_init(&sha);
	rf_sha256_add(&sha, secret, RF_API_KEY_SECRET);
	rf_sha256_end(&sha, ret_hash);
}

bool rf_api_key_is_proven(const struct rf_api_key *key, const uint8_t secret[RF_API_KEY_SECRET])
{
	uint8_t hash[RF_SHA256_BYTES];
	volatile uint8_t differs = 0; /* all are looked at, wherever the first difference is */

	rf_api_key_hash(secret, hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		differs = (uint8_t)(differs | (hash[i] ^ key->hash[i]));
	return differs == 0;
}

/* ------------------------------------------------------------- words */

int rf_api_key_parse_scopes(const char *text, unsigned *ret_scopes, struct rf_err *err)
{
	unsigned found = 0;

	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < RF_LEN(scopes) &&
		       (strlen(scopes[i].name) != len || strncmp(scopes[i].name, at, len) != 0))
			i++;
		if (i == RF_LEN(scopes)) {
			rf_fail_say(err, -EINVAL, "no scope is called `%.*s`",
				    (int)(len < 40 ? len : 40), at);
			return rf_fail_hint(err, "run, read and admin; for example: run,read");
		}
		found |= scopes[i].scope;
		at += len + (at[len] == ',');
	}
	if (!found)
		return rf_fail_say(err, -EINVAL, "a key without a scope is good for nothing");
	*ret_scopes = found;
	return 0;
}

const char *rf_api_key_format_scopes(unsigned set, char *text)
{
	char *at = text;

	*at = '\0';
	for (size_t i = 0; i < RF_LEN(scopes); i++)
		if (set & scopes[i].scope)
			at += sprintf(at, "%s%s", at == text ? "" : ",", scopes[i].name);
	return text;
}

bool rf_api_key_is_name(const char *text)
{
	size_t len =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	return len > 0 && len < RF_TERMS_NAME && !text[len];
}

/* ------------------------------------------------------------- as JSON */

/* Those that are bounded: older keys have none. */
static void put_sum(struct rf_json *json, const char *name, uint64_t sum)
{
	if (sum)
		rf_json_int(json, name, (int64_t)sum);
}

static uint64_t *sum_of(const char *name, struct rf_terms_sums *sums)
{
	return strcmp(name, "memory") == 0    ? &sums->memory
	       : strcmp(name, "cpu") == 0     ? &sums->cpu
	       : strcmp(name, "disk") == 0    ? &sums->disk
	       : strcmp(name, "storage") == 0 ? &sums->storage
	       : strcmp(name, "files") == 0   ? &sums->files
					      : NULL;
}

void rf_api_key_format(const struct rf_api_key *key, bool is_whole, struct rf_buf *out)
{
	char text[2 * RF_SHA256_BYTES + 1];
	struct rf_json json;

	rf_json_init(&json, out, true);
	rf_json_open_object(&json, NULL);
	rf_json_string(&json, "id", key->id);
	rf_json_string(&json, "name", key->name);
	rf_json_string(&json, "tenant", key->tenant);
	rf_json_string(&json, "scopes", rf_api_key_format_scopes(key->scopes, text));
	rf_json_int(&json, "boxes", key->boxes);
	rf_json_int(&json, "rate", key->rate);
	put_sum(&json, "memory", key->sums.memory);
	put_sum(&json, "cpu", key->sums.cpu);
	put_sum(&json, "disk", key->sums.disk);
	put_sum(&json, "storage", key->sums.storage);
	put_sum(&json, "files", key->sums.files);
	rf_json_int(&json, "created", key->created);
	if (is_whole) {
		put_hex(key->hash, sizeof(key->hash), text);
		rf_json_string(&json, "sha256", text);
	}
	rf_json_string(&json, "ceiling", key->ceiling);
	rf_json_close_object(&json);
	rf_buf_puts(out, "\n");
}

static bool read_number(const struct rf_jsonread_value *value, uint64_t most, uint64_t *ret_number)
{
	return value->type == RF_JSONREAD_NUMBER && rf_jsonread_u64(value, ret_number) == 0 &&
	       *ret_number <= most;
}

static bool read_text(const struct rf_jsonread_value *value, char *text, size_t size)
{
	return value->type == RF_JSONREAD_STRING &&
	       (size_t)snprintf(text, size, "%s", value->text) < size;
}

static bool read_member(const struct rf_jsonread_value *value, struct rf_api_key *key)
{
	char scopes_text[64], hash[2 * RF_SHA256_BYTES + 1];
	uint8_t id[(RF_API_KEY_ID - 1) / 2];
	struct rf_err ignored = RF_ERR_INIT;
	uint64_t number = 0;
	bool is_good = false;

	if (strcmp(value->name, "id") == 0)
		is_good = read_text(value, key->id, sizeof(key->id)) &&
			  strlen(key->id) == sizeof(key->id) - 1 &&
			  take_hex(key->id, id, sizeof(id));
	else if (strcmp(value->name, "name") == 0)
		is_good = read_text(value, key->name, sizeof(key->name));
	else if (strcmp(value->name, "tenant") == 0)
		is_good = read_text(value, key->tenant, sizeof(key->tenant)) &&
			  rf_api_key_is_name(key->tenant);
	else if (strcmp(value->name, "scopes") == 0)
		is_good = read_text(value, scopes_text, sizeof(scopes_text)) &&
			  rf_api_key_parse_scopes(scopes_text, &key->scopes, &ignored) == 0;
	else if (strcmp(value->name, "boxes") == 0) {
		is_good = read_number(value, RF_TERMS_BOXES, &number) && number > 0;
		key->boxes = (uint32_t)number;
	} else if (strcmp(value->name, "rate") == 0) {
		is_good = read_number(value, UINT32_MAX, &number);
		key->rate = (uint32_t)number;
	} else if (sum_of(value->name, &key->sums)) {
		is_good = read_number(value, INT64_MAX, &number) && number > 0;
		*sum_of(value->name, &key->sums) = number;
	} else if (strcmp(value->name, "created") == 0) {
		is_good = read_number(value, INT64_MAX, &number);
		key->created = (int64_t)number;
	} else if (strcmp(value->name, "sha256") == 0)
		is_good = read_text(value, hash, sizeof(hash)) &&
			  strlen(hash) == sizeof(hash) - 1 &&
			  take_hex(hash, key->hash, sizeof(key->hash));
	else if (strcmp(value->name, "ceiling") == 0 && value->type == RF_JSONREAD_STRING &&
		 strlen(value->text) <= RF_MAX_POLICY_BYTES) {
		free(key->ceiling);
		key->ceiling = strdup(value->text);
		is_good = key->ceiling != NULL;
	}
	return is_good;
}

int rf_api_key_read(const char *text, size_t len, struct rf_api_key *ret_key, struct rf_err *err)
{
	struct rf_api_key key = { 0 };
	struct rf_jsonread *json;
	const struct rf_jsonread_value *root, *at = NULL;
	size_t count = 0;
	bool is_good;

	if (rf_jsonread_parse(text, len, &json, err) < 0)
		return err->code;
	root = rf_jsonread_root(json);
	is_good = root->type == RF_JSONREAD_OBJECT;
	for (at = is_good ? root->first : NULL; at && is_good; at = at->next) {
		is_good = read_member(at, &key);
		count += !sum_of(at->name, &key.sums);
	}
	is_good = is_good && count == 9; /* no name is there twice */
	rf_jsonread_free(json);
	if (!is_good) {
		rf_api_key_done(&key);
		rf_fail_say(err, -EINVAL, "it is no API key");
		return rf_fail_hint(err, "remove it with `ringfort key rm`, and create another");
	}
	*ret_key = key;
	return 0;
}
