/* What a request names beyond a ceiling: see beyond-ceiling.h. */
#include "policy/beyond-ceiling.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "policy/arena.h"
#include "policy/files.h"
#include "policy/key.h"
#include "policy/net-place.h"
#include "policy/pattern.h"
#include "policy/value.h"
#include "policy/words.h"

#define RULE_BYTES 160 /* of the words of a rule; a longer list is cut */

struct rf_beyond_ceiling {
	struct rf_arena *arena;
	struct rf_policy *met;
	rf_key_set keys; /* that are to be narrowed */
	struct rf_beyond_ceiling_item *items;
	size_t count, room;
};

/* What can be lost of a key, and how it shows in the meet. */
enum loss {
	LOSS_UNDECIDED, /* no row: a test fails */
	LOSS_NONE,      /* both sides' elements apply, or it is a matter of taste */
	LOSS_NUMBER,    /* another number */
	LOSS_TEXT,      /* another text */
	LOSS_ELEMENT,   /* an element that is not there */
	LOSS_FILE,      /* a path that is not shown, or with a lesser right */
	LOSS_RULE,      /* a rule that no rule of the meet covers */
	LOSS_PASSED,    /* a variable that is not passed */
	LOSS_SET,       /* a variable that is not set, or not to this content */
};

/* clang-format off */
#define NUMBERS(first, count) [(first) ... (first) + (count) - 1] = LOSS_NUMBER

__extension__ static const enum loss losses[] = {
	[RF_KEY_VERSION]     = LOSS_NONE,
	[RF_KEY_EXTENDS]     = LOSS_NONE, /* what a profile brings is not named by the request */
	[RF_KEY_ISOLATION]   = LOSS_NUMBER,
	[RF_KEY_WEAKER]      = LOSS_NUMBER,
	[RF_KEY_HOSTNAME]    = LOSS_NONE,
	[RF_KEY_WORKDIR]     = LOSS_NONE,
	[RF_KEY_AGENT]       = LOSS_TEXT,
	[RF_KEY_SYSCALLS]    = LOSS_NUMBER,
	[RF_KEY_SECCOMP]     = LOSS_NONE, /* one more takes away */
	NUMBERS(RF_KEY_LIMIT, RF_LIMIT_COUNT),
	[RF_KEY_REQUIRE]     = LOSS_NUMBER,
	[RF_KEY_READ]        = LOSS_FILE,
	[RF_KEY_WRITE]       = LOSS_FILE,
	[RF_KEY_CURRENT]     = LOSS_NUMBER,
	[RF_KEY_DENY]        = LOSS_NONE, /* one more takes away */
	[RF_KEY_CREDENTIALS] = LOSS_NUMBER,
	[RF_KEY_ATTRIBUTES]  = LOSS_NUMBER,
	[RF_KEY_CANARIES]    = LOSS_NONE, /* both sides' are planted */
	[RF_KEY_PASS]        = LOSS_PASSED,
	[RF_KEY_SET]         = LOSS_SET,
	[RF_KEY_LINK]        = LOSS_NUMBER,
	[RF_KEY_LOOPBACK]    = LOSS_NUMBER,
	[RF_KEY_UNIX]        = LOSS_NUMBER,
	[RF_KEY_NET_MODE]    = LOSS_NUMBER,
	[RF_KEY_NET_ALLOW]   = LOSS_RULE,
	[RF_KEY_NET_DENY]    = LOSS_NONE, /* one more takes away */
	[RF_KEY_NET_HOSTS]   = LOSS_ELEMENT,
	[RF_KEY_NET_PUBLISH] = LOSS_ELEMENT,
	[RF_KEY_NET_FILTER]  = LOSS_NUMBER,
	[RF_KEY_NET_MASK]    = LOSS_NONE, /* one more takes away */
	[RF_KEY_NET_ROOTS]   = LOSS_ELEMENT,
	[RF_KEY_NET_WRITES]  = LOSS_NUMBER,
	NUMBERS(RF_KEY_NET_LIMIT, RF_NET_LIMIT_COUNT),
	[RF_KEY_GRANTS]      = LOSS_ELEMENT,
	[RF_KEY_COMMANDS]    = LOSS_ELEMENT,
	[RF_KEY_AUDIT]       = LOSS_NUMBER,
	[RF_KEY_COUNTS]      = LOSS_NUMBER,
	NUMBERS(RF_KEY_QUOTA, RF_QUOTA_COUNT),
	NUMBERS(RF_KEY_ALARM, RF_ALARM_COUNT),
	NUMBERS(RF_KEY_ON_ALARM, RF_ALARM_COUNT),
	[RF_KEY_ALARM_BREAKER]  = LOSS_NUMBER,
	[RF_KEY_ALARM_ROLLBACK] = LOSS_NUMBER,
	[RF_KEY_FINAL]       = LOSS_NONE, /* binds the request's own sources */
};
/* clang-format on */
static_assert(RF_LEN(losses) == RF_KEY_COUNT, "every key has a row");

bool rf_beyond_ceiling_decides(const char *key)
{
	int i = rf_key_find(key);

	return i >= 0 && losses[i] != LOSS_UNDECIDED;
}

/* One comparison. */
struct comparison {
	const struct rf_policy *ceiling, *named, *met;
	struct rf_net_ceiling *rules; /* of the ceiling, about the network */
	struct rf_beyond_ceiling *out;
};

static const struct rf_list *list_of(const struct rf_policy *policy, enum rf_key key)
{
	return &policy->values[key].list;
}

/* ------------------------------------------------------------- what bounds it, in words */

static void put_list(const struct rf_policy *policy, enum rf_key key, struct rf_buf *out)
{
	const struct rf_list *list = list_of(policy, key);

	rf_buf_printf(out, "%s: ", rf_key_table[key].path);
	for (size_t i = 0; i < list->count; i++) {
		rf_buf_puts(out, i ? ", " : "");
		if (out->len > RULE_BYTES) {
			rf_buf_puts(out, "...");
			return;
		}
		rf_words_element(key, &list->items[i], out);
	}
	if (list->count == 0)
		rf_buf_puts(out, "nothing");
}

/* A ceiling that lets everything pass has no rules to name. */
static void put_network(const struct rf_policy *ceiling, struct rf_buf *out)
{
	uint64_t link = ceiling->values[RF_KEY_LINK].number;
	uint64_t mode = ceiling->values[RF_KEY_NET_MODE].number;

	if (link == RF_LINK_NONE)
		rf_buf_puts(out, "network: none");
	else if (link == RF_LINK_HOST)
		rf_buf_puts(out, "network: host");
	else if (mode != RF_NET_ENFORCE)
		rf_buf_printf(out, "network.mode: %s, which leads to public addresses",
			      rf_key_choice_name(RF_KEY_NET_MODE, mode));
	else
		put_list(ceiling, RF_KEY_NET_ALLOW, out);
}

static void put_rule(const struct comparison *c, enum rf_key key, struct rf_buf *out)
{
	switch (losses[key]) {
	case LOSS_NUMBER: /* the ceiling's was the stricter one, so the meet has it */
		rf_buf_printf(out, "%s: ", rf_key_table[key].path);
		if (c->met->set & RF_KEY_BIT(key))
			rf_words_scalar(c->met, key, out);
		else
			rf_buf_puts(out, rf_key_choice_name(key, c->met->values[key].number));
		break;
	case LOSS_TEXT:
		rf_buf_printf(out, "%s: ", rf_key_table[key].path);
		rf_words_scalar(c->ceiling, key, out);
		break;
	case LOSS_FILE:
		put_list(c->ceiling, RF_KEY_WRITE, out);
		if (key == RF_KEY_READ) {
			rf_buf_puts(out, "; ");
			put_list(c->ceiling, RF_KEY_READ, out);
		}
		break;
	case LOSS_SET: /* it may choose the content of those that the ceiling passes */
		put_list(c->ceiling, RF_KEY_PASS, out);
		break;
	case LOSS_RULE:
		put_network(c->ceiling, out);
		break;
	default:
		put_list(c->ceiling, key, out);
		break;
	}
}

/* ------------------------------------------------------------- one item */

/* `rule`: in words, or NULL: the ceiling's of the same key. */
static int add_item(const struct comparison *c, enum rf_key key, const char *asked,
		    const char *rule)
{
	struct rf_beyond_ceiling *out = c->out;
	RF_AUTO_BUF struct rf_buf words;

	rf_buf_init(&words, 64 * 1024);
	rf_buf_puts(&words, "");
	if (!rule)
		put_rule(c, key, &words);
	if (out->count == out->room) {
		size_t room = out->room ? 2 * out->room : 8;
		struct rf_beyond_ceiling_item *items =
			reallocarray(out->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		out->items = items;
		out->room = room;
	}
	if (words.len > RULE_BYTES + 64)
		memcpy(words.data + RULE_BYTES + 60, "...", 4);
	out->keys |= RF_KEY_BIT(key);
	out->items[out->count++] = (struct rf_beyond_ceiling_item){
		.key = rf_key_table[key].path,
		.asked = rf_arena_copy(out->arena, asked),
		.rule = rf_arena_copy(out->arena, rule ? rule : words.data),
	};
	return words.has_failed || out->arena->has_failed ? -ENOMEM : 0;
}

static int add_scalar(const struct comparison *c, enum rf_key key)
{
	RF_AUTO_BUF struct rf_buf words;

	rf_buf_init(&words, 64 * 1024);
	rf_buf_puts(&words, "");
	rf_words_scalar(c->named, key, &words);
	return words.has_failed ? -ENOMEM : add_item(c, key, words.data, NULL);
}

static int add_element(const struct comparison *c, enum rf_key key,
		       const struct rf_list_item *element, const char *rule)
{
	RF_AUTO_BUF struct rf_buf words;

	rf_buf_init(&words, 64 * 1024);
	rf_buf_puts(&words, "");
	rf_words_element(key, element, &words);
	return words.has_failed ? -ENOMEM : add_item(c, key, words.data, rule);
}

/* ------------------------------------------------------------- numbers and texts */

static int compare_number(const struct comparison *c, enum rf_key key)
{
	const struct rf_policy *named = c->named, *met = c->met;
	const rf_key_set network = RF_KEY_BIT(RF_KEY_NET_ALLOW) | RF_KEY_BIT(RF_KEY_NET_PUBLISH) |
				   RF_KEY_BIT(RF_KEY_NET_MODE);

	if (rf_key_number(met, key) == named->values[key].number)
		return 0;
	/* The host's network has no mode. */
	if (key == RF_KEY_NET_MODE && met->values[RF_KEY_LINK].number == RF_LINK_HOST)
		return 0;
	c->out->keys |= RF_KEY_BIT(key);
	/* A gateway that rules bring along goes with these, and they are what was named. */
	if (key == RF_KEY_LINK && named->values[key].number == RF_LINK_GATEWAY &&
	    named->set & network)
		return 0;
	return add_scalar(c, key);
}

static int compare_text(const struct comparison *c, enum rf_key key)
{
	const char *text = c->met->values[key].text;

	return text && strcmp(text, c->named->values[key].text) == 0 ? 0 : add_scalar(c, key);
}

/* ------------------------------------------------------------- lists */

/* The ceiling's pattern that hides a path, or NULL.  One that the request has is its own doing. */
static const char *hidden_by(const struct comparison *c, const char *path)
{
	const struct rf_list *deny = list_of(c->ceiling, RF_KEY_DENY);

	for (size_t i = 0; i < deny->count; i++) {
		struct rf_pattern pattern;

		if (rf_list_find(list_of(c->named, RF_KEY_DENY), deny->items[i].name))
			continue;
		rf_pattern_init(&pattern, deny->items[i].name);
		if (rf_pattern_covers(&pattern, path))
			return deny->items[i].name;
	}
	return NULL;
}

static int compare_file(const struct comparison *c, enum rf_key key,
			const struct rf_list_item *file)
{
	enum rf_files_right wanted = key == RF_KEY_WRITE ? RF_FILES_WRITE : RF_FILES_READ;
	const char *pattern = hidden_by(c, file->name);

	if (pattern)
		return add_element(c, key, file,
				   rf_arena_printf(c->out->arena, "files.deny: %s", pattern));
	if (rf_files_look(list_of(c->met, RF_KEY_READ), list_of(c->met, RF_KEY_WRITE), file->name,
			  file->value) >= wanted)
		return 0;
	return add_element(c, key, file, NULL);
}

static int compare_rule(const struct comparison *c, enum rf_key key,
			const struct rf_list_item *rule)
{
	static const char deny[] = "network.deny";
	struct rf_err ignored = RF_ERR_INIT; /* it was read before, as a rule */
	char bound[RF_NET_BOUND];
	bool covers = false;
	int code = rf_net_ceiling_covers(c->rules, rule->name, &covers, bound, &ignored);

	if (code < 0 || covers)
		return code;
	return add_element(c, key, rule, strncmp(bound, deny, strlen(deny)) == 0 ? bound : NULL);
}

static int compare_element(const struct comparison *c, enum rf_key key,
			   const struct rf_list_item *element)
{
	const char *name = element->name;
	bool is_kept = true;

	switch (losses[key]) {
	case LOSS_FILE:
		return compare_file(c, key, element);
	case LOSS_RULE:
		return compare_rule(c, key, element);
	case LOSS_PASSED: /* a content of its own overrules that it is passed */
		is_kept = rf_list_find(list_of(c->met, RF_KEY_PASS), name) ||
			  rf_list_find(list_of(c->named, RF_KEY_SET), name);
		break;
	default:
		is_kept = rf_list_has(list_of(c->met, key), name, element->value);
		break;
	}
	return is_kept ? 0 : add_element(c, key, element, NULL);
}

static int compare_key(const struct comparison *c, enum rf_key key)
{
	const struct rf_list *list = list_of(c->named, key);
	int code = 0;

	switch (losses[key]) {
	case LOSS_UNDECIDED:
	case LOSS_NONE:
		return 0;
	case LOSS_NUMBER:
		return compare_number(c, key);
	case LOSS_TEXT:
		return compare_text(c, key);
	default:
		for (size_t i = 0; i < list->count && code == 0; i++)
			code = compare_element(c, key, &list->items[i]);
		return code;
	}
}

/* ------------------------------------------------------------- the whole */

int rf_beyond_ceiling_new(const struct rf_policy *ceiling, const struct rf_policy *named,
			  struct rf_beyond_ceiling **ret_beyond, struct rf_err *err)
{
	struct rf_beyond_ceiling *out = calloc(1, sizeof(*out));
	struct rf_policy part = *named; /* shares what it points to, and is only read */
	struct comparison c = { .ceiling = ceiling, .named = &part, .out = out };
	int code;

	if (!out || !(out->arena = rf_arena_new())) {
		free(out);
		return rf_fail(err, -ENOMEM, "compare with a ceiling");
	}
	part.set &= ~RF_KEY_BIT(RF_KEY_EXTENDS);
	code = rf_policy_meet(ceiling, &part, &out->met, err);
	if (code == 0)
		code = rf_net_ceiling_new(ceiling, &part, &c.rules, err);
	c.met = out->met;
	for (int i = 0; i < RF_KEY_COUNT && code == 0; i++)
		if (part.set & RF_KEY_BIT(i)) {
			code = compare_key(&c, (enum rf_key)i);
			if (code < 0)
				rf_fail(err, code, "compare with a ceiling");
		}
	rf_net_ceiling_free(c.rules);
	if (code < 0) {
		rf_beyond_ceiling_free(out);
		return code;
	}
	*ret_beyond = out;
	return 0;
}

void rf_beyond_ceiling_free(struct rf_beyond_ceiling *beyond)
{
	if (!beyond)
		return;
	rf_arena_free(beyond->arena);
	rf_policy_free(beyond->met);
	free(beyond->items);
	free(beyond);
}

const struct rf_beyond_ceiling_item *rf_beyond_ceiling_item(const struct rf_beyond_ceiling *beyond,
							    size_t i)
{
	return i < beyond->count ? &beyond->items[i] : NULL;
}

static void clear(struct rf_policy *policy, int key)
{
	size_t max = policy->values[key].list.max;

	rf_list_done(&policy->values[key].list);
	policy->values[key].list = (struct rf_list){ .max = max };
	policy->set &= ~RF_KEY_BIT(key);
}

static bool is_hidden(const struct rf_list *deny, const char *path)
{
	for (size_t i = 0; i < deny->count; i++) {
		struct rf_pattern pattern;

		rf_pattern_init(&pattern, deny->items[i].name);
		if (rf_pattern_covers(&pattern, path))
			return true;
	}
	return false;
}

/* A meet keeps the rule of a file that a pattern hides; who names one would be refused for it. */
static int join_shown(struct rf_policy *policy, const struct rf_policy *met, enum rf_key key)
{
	const struct rf_list *files = list_of(met, key), *deny = list_of(met, RF_KEY_DENY);
	int code = 0;

	for (size_t i = 0; i < files->count && code >= 0; i++)
		if (!is_hidden(deny, files->items[i].name))
			code = rf_list_unite(&policy->values[key].list, files->items[i].name,
					     files->items[i].value);
	policy->set |= RF_KEY_BIT(key);
	return code;
}

int rf_beyond_ceiling_narrow(const struct rf_beyond_ceiling *beyond, struct rf_policy *policy,
			     struct rf_err *err)
{
	const rf_key_set files = RF_KEY_BIT(RF_KEY_READ) | RF_KEY_BIT(RF_KEY_WRITE);
	rf_key_set keys = beyond->keys;

	if (keys & files) /* what may not be written may still be read */
		keys |= files;
	if (keys & RF_KEY_BIT(RF_KEY_SET)) /* a content that is gone overruled that it is passed */
		keys |= RF_KEY_BIT(RF_KEY_PASS);
	for (int i = 0; i < RF_KEY_COUNT; i++) {
		if (!(keys & RF_KEY_BIT(i)))
			continue;
		clear(policy, i);
		if (beyond->met->set & RF_KEY_BIT(i) &&
		    (files & RF_KEY_BIT(i) ? join_shown : rf_value_join)(policy, beyond->met,
									 (enum rf_key)i) < 0)
			return rf_fail(err, -ENOMEM, "a policy");
	}
	/* Without a network there is nothing more to say of it. */
	if (keys & RF_KEY_BIT(RF_KEY_LINK) && policy->values[RF_KEY_LINK].number == RF_LINK_NONE)
		for (int i = RF_KEY_NET_MODE; i <= RF_KEY_GRANTS; i++)
			clear(policy, i);
	return 0;
}

int rf_beyond_ceiling_fail(const struct rf_beyond_ceiling *beyond, const char *whose,
			   struct rf_err *err)
{
	const struct rf_beyond_ceiling_item *item = rf_beyond_ceiling_item(beyond, 0);

	if (!item)
		return 0;
	rf_fail_say(err, -EPERM, "%s: %.48s is beyond %.72s (%.100s)", item->key, item->asked,
		    whose, item->rule);
	return rf_fail_hint(err, "leave it out, or ask for no more than that");
}
