/*
 * What a policy grants of files and programs, trimmed by runs that were learnt from: see trim.h.
 *
 * Such a run ran under a policy of its own (its network was in report mode), so what it did not use says something about a rule only
 * where it had that rule, too.
 */
#include "policy/trim-files.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/files.h"

static const struct rf_list *list_of(const struct rf_policy *policy, enum rf_key key)
{
	return &policy->values[key].list;
}

/* True if a run that was learnt from had what the rule shows. */
static bool was_shown(const struct rf_trim_use *use, const struct rf_list_item *rule)
{
	for (size_t i = 0; i < use->under_count; i++)
		if (rf_files_look(list_of(use->under[i], RF_KEY_READ),
				  list_of(use->under[i], RF_KEY_WRITE), rule->name,
				  rule->value ? rule->value : rule->name) != RF_FILES_NONE)
			return true;
	return false;
}

/* The most that was done with what a rule shows. */
static enum rf_files_right done_with(const struct rf_trim_use *use, const char *source)
{
	enum rf_files_right most = RF_FILES_NONE;

	for (size_t i = 0; i < use->learnt.count; i++) {
		const struct rf_trim_entry *entry = &use->learnt.entries[i];

		if (strncmp(entry->method, "files.", 6) != 0 || entry->name[0] != '/' ||
		    (!rf_path_is_beneath(entry->name, source) &&
		     !rf_path_is_beneath(source, entry->name)))
			continue;
		if (strcmp(entry->method, "files.write") == 0)
			return RF_FILES_WRITE;
		most = RF_FILES_READ;
	}
	return most;
}

static void put_count(char *text, size_t size, size_t count)
{
	snprintf(text, size, "%zu %s", count, count == 1 ? "entry" : "entries");
}

/* The rules of `key` that are left; those that were only read go to `reads`. */
static unsigned trim_rules(struct rf_policy *policy, enum rf_key key, const struct rf_trim_use *use,
			   struct rf_list *reads, struct rf_trim_row *row)
{
	struct rf_list *list = &policy->values[key].list, less = { .max = list->max };
	bool has_failed = false;
	size_t used = 0;

	*row = (struct rf_trim_row){ .key = rf_key_table[key].path };
	put_count(row->granted, sizeof(row->granted), list->count);
	for (size_t i = 0; i < list->count; i++) {
		const struct rf_list_item *rule = &list->items[i];
		enum rf_files_right right =
			was_shown(use, rule) ? done_with(use, rule->name) : RF_FILES_WRITE;

		used += right != RF_FILES_NONE;
		if (right == RF_FILES_NONE)
			rf_trim_name(row, "never used", rule->name);
		else if (key == RF_KEY_WRITE && right == RF_FILES_READ && reads)
			has_failed |= rf_list_unite(reads, rule->name, rule->value) < 0;
		else
			has_failed |= rf_list_unite(&less, rule->name, rule->value) < 0;
	}
	snprintf(row->used, sizeof(row->used), "%zu of them", used);
	if (has_failed || less.count == list->count) {
		rf_list_done(&less);
		return 0;
	}
	if (!row->note)
		row->note = "never written to: now in files.read";
	put_count(row->tighter, sizeof(row->tighter), less.count);
	rf_list_done(list);
	*list = less;
	if (less.count == 0)
		policy->set &= ~RF_KEY_BIT(key);
	return 1;
}

static bool is_told(const struct rf_trim_use *use, const char *key, const char *name)
{
	for (size_t i = 0; i < use->learnt.count; i++)
		if (strcmp(use->learnt.entries[i].method, key) == 0 &&
		    (!name || strcmp(use->learnt.entries[i].name, name) == 0))
			return true;
	return false;
}

static unsigned trim_current(struct rf_policy *policy, const struct rf_trim_use *use,
			     struct rf_trim_row *row)
{
	bool was_shown_it = false;

	for (size_t i = 0; i < use->under_count; i++)
		was_shown_it |= use->under[i]->values[RF_KEY_CURRENT].number == RF_CURRENT_READ;
	if (!was_shown_it || is_told(use, "files.current", NULL)) {
		row->note = was_shown_it ? NULL : "no run that was learnt from had it";
		return 0;
	}
	policy->values[RF_KEY_CURRENT].number = RF_CURRENT_NONE;
	snprintf(row->tighter, sizeof(row->tighter), "none");
	row->note = "never used";
	return 1;
}

/* Whether a program of the list was started, by its name or by its path. */
static bool was_started(const struct rf_trim_use *use, const char *program)
{
	const char *slash = strrchr(program, '/');

	if (is_told(use, "commands", program) || (slash && is_told(use, "commands", slash + 1)))
		return true;
	for (size_t i = 0; i < use->learnt.count; i++) {
		const struct rf_trim_entry *entry = &use->learnt.entries[i];
		const char *name = strrchr(entry->name, '/');

		if (strcmp(entry->method, "commands") == 0 && name &&
		    strcmp(name + 1, program) == 0)
			return true;
	}
	return false;
}

/* True if a run that was learnt from could have started it. */
static bool could_start(const struct rf_trim_use *use, const char *program)
{
	for (size_t i = 0; i < use->under_count; i++)
		if (!(use->under[i]->set & RF_KEY_BIT(RF_KEY_COMMANDS)) ||
		    rf_list_find(list_of(use->under[i], RF_KEY_COMMANDS), program))
			return true;
	return false;
}

/* The programs that are left of a list, or (there is none: every program) that were started. */
static bool list_programs(const struct rf_policy *policy, const struct rf_trim_use *use,
			  struct rf_trim_row *row, struct rf_list *ret_less)
{
	const struct rf_list *list = list_of(policy, RF_KEY_COMMANDS);
	bool is_set = policy->set & RF_KEY_BIT(RF_KEY_COMMANDS), has_failed = false;

	for (size_t i = 0; !is_set && i < use->learnt.count; i++)
		if (strcmp(use->learnt.entries[i].method, "commands") == 0)
			has_failed |=
				rf_list_unite(ret_less, use->learnt.entries[i].name, NULL) < 0;
	for (size_t i = 0; is_set && i < list->count; i++) {
		const char *program = list->items[i].name;

		if (was_started(use, program) || !could_start(use, program))
			has_failed |= rf_list_unite(ret_less, program, NULL) < 0;
		else
			rf_trim_name(row, "never started", program);
	}
	return !has_failed && ret_less->count > 0 && (!is_set || ret_less->count < list->count);
}

static unsigned trim_programs(struct rf_policy *policy, const struct rf_trim_use *use,
			      struct rf_trim_row *row)
{
	struct rf_list *list = &policy->values[RF_KEY_COMMANDS].list, less = { .max = list->max };

	if (is_told(use, "commands", "*")) {
		row->note = "it runs what it made itself, which no list can name";
		return 0;
	}
	if (!list_programs(policy, use, row, &less)) {
		rf_list_done(&less);
		return 0;
	}
	snprintf(row->used, sizeof(row->used), "%zu programs", less.count);
	put_count(row->tighter, sizeof(row->tighter), less.count);
	rf_list_done(list);
	*list = less;
	policy->set |= RF_KEY_BIT(RF_KEY_COMMANDS);
	return 1;
}

unsigned rf_trim_files(struct rf_policy *policy, const struct rf_trim_use *use,
		       struct rf_trim_row rows[RF_TRIM_ROWS], size_t *count)
{
	struct rf_list reads = { 0 };
	unsigned tighter = 0;
	char granted[32];

	if (list_of(policy, RF_KEY_READ)->count > 0)
		tighter += trim_rules(policy, RF_KEY_READ, use, NULL, &rows[(*count)++]);
	if (list_of(policy, RF_KEY_WRITE)->count > 0)
		tighter += trim_rules(policy, RF_KEY_WRITE, use, &reads, &rows[(*count)++]);
	for (size_t i = 0; i < reads.count; i++)
		if (rf_list_unite(&policy->values[RF_KEY_READ].list, reads.items[i].name,
				  reads.items[i].value) == 0)
			policy->set |= RF_KEY_BIT(RF_KEY_READ);
	rf_list_done(&reads);
	for (size_t i = 0; i < 2; i++) {
		enum rf_key key = i == 0 ? RF_KEY_CURRENT : RF_KEY_COMMANDS;
		struct rf_trim_row *row = &rows[*count];

		if (!rf_trim_grant(policy, key, granted, sizeof(granted)))
			continue;
		*row = (struct rf_trim_row){ .key = rf_key_table[key].path };
		memcpy(row->granted, granted, sizeof(granted));
		(*count)++;
		tighter += key == RF_KEY_CURRENT ? trim_current(policy, use, row)
						 : trim_programs(policy, use, row);
	}
	return tighter;
}
