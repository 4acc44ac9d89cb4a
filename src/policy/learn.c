/* What a run was seen to need: see learn.h. */
#include "policy/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/key.h"
#include "policy/value.h"

void rf_learn_done(struct rf_learn *learn)
{
	for (size_t i = 0; i < learn->count; i++) {
		free(learn->seen[i].host);
		free(learn->seen[i].method);
		free(learn->seen[i].path);
	}
	free(learn->seen);
	*learn = (struct rf_learn){ 0 };
}

static int compare(const void *a, const void *b)
{
	const struct rf_learn_seen *x = a, *y = b;
	int r = strcmp(x->host, y->host);

	if (r == 0)
		r = (int)x->port - (int)y->port;
	if (r == 0)
		r = strcmp(x->path, y->path);
	return r ? r : strcmp(x->method, y->method);
}

static bool is_noted(const struct rf_learn *learn, const struct rf_learn_seen *one)
{
	for (size_t i = learn->count; i-- > 0;)
		if (compare(&learn->seen[i], one) == 0)
			return true;
	return false;
}

int rf_learn_note(struct rf_learn *learn, const char *host, uint16_t port, const char *method,
		  const char *path)
{
	struct rf_learn_seen one = {
		.host = strdup(host), .method = strdup(method), .path = strdup(path), .port = port
	};

	if (one.host && one.method && one.path && learn->count < RF_LEARN_SEEN &&
	    !is_noted(learn, &one)) {
		if (learn->count == learn->room) {
			size_t room = learn->room ? learn->room * 2 : 64;
			struct rf_learn_seen *seen = realloc(learn->seen, room * sizeof(*seen));

			if (seen) {
				learn->seen = seen;
				learn->room = room;
			}
		}
		if (learn->count < learn->room) {
			learn->seen[learn->count++] = one;
			return 0;
		}
	}
	learn->left_out += learn->count == RF_LEARN_SEEN;
	free(one.host);
	free(one.method);
	free(one.path);
	return 0;
}

/* --- Rules --- */

/* "host", "host:8080", "[2001:db8::1]:8080". */
static void put_place(const struct rf_learn_seen *one, char *text, size_t size)
{
	bool has_brackets = strchr(one->host, ':') != NULL;
	bool is_usual = one->port == 0 || one->port == 80 || one->port == 443;
	char number[16] = "";

	if (!is_usual)
		snprintf(number, sizeof(number), ":%u", one->port);
	snprintf(text, size, "%s%s%s%s", has_brackets ? "[" : "", one->host,
		 has_brackets ? "]" : "", number);
}

static int add_rule(struct rf_learn *learn, struct rf_policy *policy, const char *rule)
{
	struct rf_err err;

	if (rf_policy_set(policy, "network.allow", rule, "/", "/", &err) >= 0)
		return 0;
	learn->left_out++; /* a path that no rule can name, or too many */
	return 0;
}

/* The methods of a run of what was seen, each once, with commas between; "" if there are none. */
static void put_methods(const struct rf_learn_seen *seen, size_t count, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		bool is_there = false;

		for (size_t j = 0; j < i && !is_there; j++)
			is_there = strcmp(seen[j].method, seen[i].method) == 0;
		if (!is_there && seen[i].method[0] && len < size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? "," : "",
						seen[i].method);
	}
}

/* How much of two paths is the same, up to and with a slash. */
static size_t common(const char *a, const char *b, size_t most)
{
	size_t slash = 0;

	for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			slash = i + 1;
	return slash;
}

/* The rules of one host and port. */
static int add_host(struct rf_learn *learn, struct rf_policy *policy,
		    const struct rf_learn_seen *seen, size_t count)
{
	char place[300], methods[256], rule[1024];
	size_t paths = 0, beginning = SIZE_MAX;
	bool has_requests = false;

	for (size_t i = 0; i < count; i++)
		if (strcmp(seen[i].method, "TCP") ==
		    0) { /* which all else of this port passes by, too */
			snprintf(rule, sizeof(rule), "TCP %s:%u", seen[i].host, seen[i].port);
			return add_rule(learn, policy, rule);
		}
	put_place(seen, place, sizeof(place));
	for (size_t i = 0; i < count; i++)
		has_requests |= seen[i].method[0] != '\0';
	for (; count > 1 && has_requests && !seen->method[0]; seen++, count--)
		; /* the connection that its requests came by */
	if (!has_requests)
		return add_rule(learn, policy, place);
	for (size_t i = 0; i < count; i++) {
		paths += i == 0 || strcmp(seen[i - 1].path, seen[i].path) != 0;
		beginning =
			common(seen[0].path, seen[i].path,
			       beginning < strlen(seen[0].path) ? beginning : strlen(seen[0].path));
	}
	if (paths > RF_LEARN_PATHS) {
		put_methods(seen, count, methods, sizeof(methods));
		snprintf(rule, sizeof(rule), "%s %s%.*s**", methods, place, (int)beginning,
			 seen[0].path);
		return add_rule(learn, policy, rule);
	}
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && strcmp(seen[end].path, seen[i].path) == 0; end++)
			;
		put_methods(seen + i, end - i, methods, sizeof(methods));
		snprintf(rule, sizeof(rule), "%s %s%s", methods, place, seen[i].path);
		add_rule(learn, policy, rule);
	}
	return 0;
}

static bool is_same_host(const struct rf_learn_seen *a, const struct rf_learn_seen *b)
{
	return strcmp(a->host, b->host) == 0 && a->port == b->port;
}

/* What the base says beyond the defaults, without what is learnt anew. */
static int keep_own(const struct rf_policy *base, bool has_files, struct rf_policy *out)
{
	const rf_key_set files = RF_KEY_BIT(RF_KEY_READ) | RF_KEY_BIT(RF_KEY_WRITE) |
				 RF_KEY_BIT(RF_KEY_CURRENT) | RF_KEY_BIT(RF_KEY_COMMANDS);
	struct rf_policy *defaults = rf_policy_new(RF_COMMAND_RUN);
	int r = defaults ? 0 : -ENOMEM;

	for (int i = 0; i < RF_KEY_COUNT && r >= 0; i++) {
		enum rf_key key = (enum rf_key)i;
		const struct rf_key_value *a = &base->values[i], *b = &defaults->values[i];

		if (!(base->set & RF_KEY_BIT(i)) || key == RF_KEY_NET_MODE ||
		    key == RF_KEY_NET_ALLOW || key == RF_KEY_LINK || key == RF_KEY_FINAL ||
		    (has_files && files & RF_KEY_BIT(i)))
			continue;
		if (key != RF_KEY_VERSION && defaults->set & RF_KEY_BIT(i) &&
		    a->number == b->number && a->list.count == 0 &&
		    (!a->text || (b->text && strcmp(a->text, b->text) == 0)))
			continue;
		r = rf_value_join(out, base, key);
	}
	rf_policy_free(defaults);
	return r;
}

int rf_learn_policy(struct rf_learn *learn, const struct rf_policy *base,
		    struct rf_policy **ret_policy, struct rf_err *err)
{
	struct rf_policy *policy = rf_policy_new_empty();
	int r = policy ? keep_own(base, learn->has_files, policy) : -ENOMEM;

	if (learn->count)
		qsort(learn->seen, learn->count, sizeof(*learn->seen), compare);
	for (size_t i = 0, end; i < learn->count && r >= 0; i = end) {
		for (end = i;
		     end < learn->count && is_same_host(&learn->seen[i], &learn->seen[end]); end++)
			;
		r = add_host(learn, policy, learn->seen + i, end - i);
	}
	if (r < 0) {
		rf_policy_free(policy);
		return rf_fail(err, r, "write down what was learnt");
	}
	*ret_policy = policy;
	return 0;
}
