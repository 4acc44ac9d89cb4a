/* The sources of a policy: see chain.h. */
#include "policy/chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "policy/key.h"
#include "policy/profile.h"

void rf_chain_text_done(struct rf_chain_text *text)
{
	free(text->name);
	free(text->path);
	free(text->id);
	free(text->folder);
	free(text->text);
	*text = (struct rf_chain_text){ 0 };
}

static void free_link(struct rf_chain_link *link)
{
	free(link->name);
	free(link->path);
	free(link->id);
	rf_policy_free(link->policy);
}

void rf_chain_done(struct rf_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		free_link(&chain->links[i]);
	}
	chain->count = 0;
	free(chain->file);
	chain->file = NULL;
}

bool rf_chain_is_path(const char *name)
{
	static const char *const endings[] = { ".yaml", ".yml", ".json" };
	size_t len = strlen(name);

	if (strchr(name, '/') || strcmp(name, "~") == 0)
		return true;
	for (size_t i = 0; i < RF_LEN(endings); i++) {
		size_t ending = strlen(endings[i]);

		if (len > ending && strcmp(name + len - ending, endings[i]) == 0)
			return true;
	}
	return false;
}

int rf_chain_check_name(const char *name, struct rf_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(name);

	if (len > 0 && len <= 40 && strspn(name, letters) == len && !strchr("._-", name[0]))
		return 0;
	rf_fail_say(err, -EINVAL, "\"%.60s\" can't be the name of a profile", name);
	return rf_fail_hint(err, "a name is 1 to 40 of a-z, 0-9, `.`, `_` and `-`, a letter or "
				 "digit first; a file's path has a slash or ends in .yaml");
}

/* ------------------------------------------------------------- where errors are */

/* Remembers which file an error is about; one without a file is named in the story. */
static int blame(struct rf_chain *chain, const char *name, const char *path, struct rf_err *err)
{
	if (!path)
		return rf_fail_in(err, "profile %s", name);
	free(chain->file);
	chain->file = strdup(path);
	return err->code;
}

/* "a → b → a": how it came to `last`, as far as there is room. */
static void tell_way(const struct rf_chain *chain, size_t from, const char *last, char *text,
		     size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = from; i < chain->depth && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%.40s → ", chain->open[i]->name);
	if (len < size)
		snprintf(text + len, size - len, "%.40s", last);
}

static bool has(const struct rf_chain *chain, const struct rf_chain_text *text)
{
	for (size_t i = 0; i < chain->count; i++)
		if (strcmp(chain->links[i].id, text->id) == 0)
			return true;
	return false;
}

/* Refuses a text that is being read already, or that is too many steps away. */
static int check_way(struct rf_chain *chain, const struct rf_chain_text *text, struct rf_err *err)
{
	char way[200];

	for (size_t i = 0; i < chain->depth; i++) {
		if (strcmp(chain->open[i]->id, text->id) != 0)
			continue;
		tell_way(chain, i, text->name, way, sizeof(way));
		rf_fail_say(err, -ELOOP, "goes in a circle: %s", way);
		return rf_fail_hint(err, "take one of them out");
	}
	if (chain->depth == RF_LEN(chain->open) && !has(chain, text)) {
		tell_way(chain, 0, text->name, way, sizeof(way));
		rf_fail_say(err, -ELOOP, "goes deeper than %d: %s", RF_MAX_CHAIN_DEPTH, way);
		return rf_fail_hint(err, "name what is needed in one list");
	}
	return 0;
}

/* ------------------------------------------------------------- reading */

/* The built-in profiles alone, for those who bring no loader. */
static int load_built_in(const char *name, struct rf_chain_text *ret_text, struct rf_err *err)
{
	if (rf_chain_is_path(name)) {
		rf_fail_say(err, -EPERM, "\"%.60s\": a file can't be extended here", name);
		rf_fail_hint(err, "extend a built-in profile, or write the keys out");
		return -EPERM;
	}
	return rf_profile_load(name, ret_text, err);
}

static int load(struct rf_chain *chain, const char *name, const struct rf_chain_text *from,
		struct rf_chain_text *ret_text, struct rf_err *err)
{
	if (chain->load)
		return chain->load(chain->context, name, from, ret_text, err);
	return load_built_in(name, ret_text, err);
}

static int enter(struct rf_chain *chain, const struct rf_chain_text *text, struct rf_err *err);

/* Adds what a policy extends, in order; an error stands where the name does. */
static int add_extended(struct rf_chain *chain, const struct rf_chain_text *text,
			const struct rf_policy *policy, struct rf_err *err)
{
	const struct rf_list *names = &policy->values[RF_KEY_EXTENDS].list;

	for (size_t i = 0; i < names->count; i++) {
		struct rf_chain_text next = { 0 };
		int code = load(chain, names->items[i].name, text, &next, err);

		if (code >= 0)
			code = check_way(chain, &next, err);
		if (code < 0) { /* found while reading this text, so it is about this one */
			rf_fail_in(err, "extends");
			err->line = policy->extends_at[i].line;
			err->column = policy->extends_at[i].column;
			blame(chain, text->name, text->path, err);
		} else {
			code = enter(chain, &next, err);
		}
		rf_chain_text_done(&next);
		if (code < 0)
			return code;
	}
	return 0;
}

static int append(struct rf_chain *chain, const struct rf_chain_text *text,
		  struct rf_policy *policy, struct rf_err *err)
{
	struct rf_chain_link *link = &chain->links[chain->count];

	if (chain->count == RF_LEN(chain->links))
		return rf_fail_say(err, -E2BIG, "built from more than %d profiles and files",
				   RF_MAX_CHAIN);
	*link = (struct rf_chain_link){
		.name = strdup(text->name),
		.path = text->path ? strdup(text->path) : NULL,
		.id = strdup(text->id),
	};
	if (!link->name || !link->id || (text->path && !link->path)) {
		free_link(link);
		return rf_fail(err, -ENOMEM, "keep a policy");
	}
	link->policy = policy;
	chain->count++;
	return 0;
}

/* Reads a text: first what it extends, then it is a link itself. */
static int enter(struct rf_chain *chain, const struct rf_chain_text *text, struct rf_err *err)
{
	struct rf_policy *policy = NULL;
	int code;

	if (has(chain, text))
		return 0;
	if (rf_policy_parse(text->text, text->len, text->folder, chain->home, &policy, err) < 0)
		return blame(chain, text->name, text->path, err);
	chain->open[chain->depth++] = text;
	code = add_extended(chain, text, policy, err);
	chain->depth--;
	/* Done with: nobody who merges this policy must ask what it extends. */
	rf_list_done(&policy->values[RF_KEY_EXTENDS].list);
	policy->values[RF_KEY_EXTENDS].list = (struct rf_list){ 0 };
	policy->set &= ~RF_KEY_BIT(RF_KEY_EXTENDS);
	if (code >= 0)
		code = append(chain, text, policy, err);
	if (code < 0)
		rf_policy_free(policy);
	return code;
}

int rf_chain_add_text(struct rf_chain *chain, struct rf_chain_text *text, struct rf_err *err)
{
	int code = enter(chain, text, err);

	rf_chain_text_done(text);
	return code;
}

int rf_chain_add(struct rf_chain *chain, const char *name, struct rf_err *err)
{
	struct rf_chain_text text = { 0 };

	if (load(chain, name, NULL, &text, err) < 0)
		return err->code;
	return rf_chain_add_text(chain, &text, err);
}

int rf_chain_merge(struct rf_chain *chain, struct rf_policy *base, struct rf_err *err)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct rf_chain_link *link = &chain->links[i];

		if (rf_policy_merge(base, link->policy, err) < 0)
			return blame(chain, link->name, link->path, err);
	}
	return 0;
}
