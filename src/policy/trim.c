/* A policy trimmed to what was used: see trim.h. */
#include "policy/trim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "policy/key.h"
#include "policy/net.h"
#include "policy/trim-files.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define SEC 1000ull
#define MIN (60 * SEC)
#define DAY (1440 * MIN)

#define ROOM_EXACT   2 /* times what was seen: what was measured */
#define ROOM_SAMPLED 4 /* and what was only looked at now and then */

/* ------------------------------------------------------------- round figures */

/* Times as people set them; more than a day is whole days. */
static const uint64_t times[] = {
	1 * SEC,  2 * SEC,   3 * SEC,   5 * SEC,   10 * SEC,  15 * SEC, 20 * SEC, 30 * SEC,
	1 * MIN,  2 * MIN,   3 * MIN,   5 * MIN,   10 * MIN,  15 * MIN, 20 * MIN, 30 * MIN,
	60 * MIN, 120 * MIN, 180 * MIN, 360 * MIN, 720 * MIN, DAY,
};

static uint64_t round_time(uint64_t ms)
{
	for (size_t i = 0; i < RF_LEN(times); i++)
		if (times[i] >= ms)
			return times[i];
	return (ms + DAY - 1) / DAY * DAY;
}

/* 1, 2, 3, 4, 6, 8, 12, 16 ...: what halves well. */
static uint64_t round_number(uint64_t number)
{
	uint64_t round = 1;

	while (round < number && round < UINT64_MAX / 4)
		round *= 2;
	return round >= 4 && round / 4 * 3 >= number ? round / 4 * 3 : round;
}

/* Two digits, as prices have them. */
static uint64_t round_money(uint64_t value)
{
	uint64_t step = 1;

	while (value / step >= 100)
		step *= 10;
	return (value + step - 1) / step * step;
}

static uint64_t round_up(enum rf_unit unit, uint64_t value)
{
	if (unit == RF_UNIT_MONEY)
		return round_money(value);
	return unit == RF_UNIT_MS ? round_time(value) : round_number(value);
}

/* ------------------------------------------------------------- figures */

/* How each limit is trimmed.  `least` is what no figure goes below: a machine that is busy, another library. */
/* clang-format off */
static const struct {
	uint64_t least;
	const char *unknown; /* why nothing is known of it */
} figures[RF_LIMIT_COUNT] = {
	[RF_LIMIT_MEMORY]     = { 16 * MIB, "not measured" },
	[RF_LIMIT_CPU]        = { 100,      "a run that is slower for it may time out" },
	[RF_LIMIT_CPU_TIME]   = { 1 * SEC,  "not measured" },
	[RF_LIMIT_TIME]       = { 5 * SEC,  "not measured" },
	[RF_LIMIT_PIDS]       = { 8,        "its runs were too short to be looked at" },
	[RF_LIMIT_OPEN_FILES] = { 0,        "not measured" },
	[RF_LIMIT_FILE_SIZE]  = { 0,        "not measured" },
	[RF_LIMIT_DISK]       = { 1 * MIB,  "not measured" },
	[RF_LIMIT_INODES]     = { 0,        "not measured" },
	[RF_LIMIT_OUTPUT]     = { 64 * KIB, "a warden does not see it" },
};

/* Budgets are an agent's, over an hour or a day. */
static const uint64_t least_of_quota[RF_QUOTA_COUNT] = {
	[RF_QUOTA_RUNS_HOUR]    = 10,       [RF_QUOTA_RUNS_DAY]     = 10,
	[RF_QUOTA_CPU_HOUR]     = 1 * MIN,  [RF_QUOTA_CPU_DAY]      = 1 * MIN,
	[RF_QUOTA_DENIALS_HOUR] = 10,       [RF_QUOTA_DENIALS_DAY]  = 10,
	[RF_QUOTA_TIMEOUTS_HOUR] = 5,       [RF_QUOTA_TIMEOUTS_DAY] = 5,
	[RF_QUOTA_REQUESTS_HOUR] = 100,     [RF_QUOTA_REQUESTS_DAY] = 100,
	[RF_QUOTA_BYTES_HOUR]   = 1 * MIB,  [RF_QUOTA_BYTES_DAY]    = 1 * MIB,
	[RF_QUOTA_MONEY_HOUR]   = 1,        [RF_QUOTA_MONEY_DAY]    = 1,
};
/* clang-format on */

static uint64_t with_room(enum rf_unit unit, const struct rf_trim_seen *seen, uint64_t least)
{
	uint64_t room = seen->is_exact ? ROOM_EXACT : ROOM_SAMPLED;
	uint64_t most = seen->most < UINT64_MAX / 16 ? seen->most * room : UINT64_MAX / 4;

	least *= room / ROOM_EXACT;
	return round_up(unit, most > least ? most : least);
}

/*
 * What is on the scratch file system is seen when a program ends, and it may have held more.  But all of it
 * was memory of the box: where that was measured, it was never more.
 */
static uint64_t disk_needed(const struct rf_trim_use *use, const char **note)
{
	const struct rf_trim_seen *disk = &use->limits[RF_LIMIT_DISK];
	const struct rf_trim_seen *memory = &use->limits[RF_LIMIT_MEMORY];
	uint64_t needed = with_room(RF_UNIT_BYTES, disk, figures[RF_LIMIT_DISK].least);

	if (!memory->is_known || !memory->is_exact) {
		*note = "seen when a run ended; it may have held more";
		return RF_LIMIT_NONE;
	}
	*note = "never more than a run's memory";
	return needed > memory->most ? needed : round_number(memory->most);
}

/* Nobody uses more processors than it has threads. */
static uint64_t cpu_needed(const struct rf_trim_use *use, const char **note)
{
	const struct rf_trim_seen *pids = &use->limits[RF_LIMIT_PIDS];

	*note = figures[RF_LIMIT_CPU].unknown;
	if (!pids->is_known || !pids->is_exact || pids->most > 1024)
		return RF_LIMIT_NONE;
	*note = "no more than it had threads";
	return 100 * (pids->most ? pids->most : 1);
}

static uint64_t needed_of(enum rf_limit limit, const struct rf_trim_use *use, const char **note)
{
	const struct rf_trim_seen *seen = &use->limits[limit];

	*note = NULL;
	if (!seen->is_known) {
		*note = figures[limit].unknown;
		return RF_LIMIT_NONE;
	}
	if (limit == RF_LIMIT_DISK)
		return disk_needed(use, note);
	if (limit == RF_LIMIT_CPU)
		return cpu_needed(use, note);
	if (!seen->is_exact)
		*note = "looked at now and then: more room";
	return with_room(rf_limit_table[limit].unit, seen, figures[limit].least);
}

void rf_trim_amount(enum rf_unit unit, uint64_t value, char *text, size_t size)
{
	static const char letters[] = "KMGTPE";
	double amount = (double)value;
	int i = -1;

	switch (unit) {
	case RF_UNIT_BYTES:
		for (; amount >= 1024 && letters[i + 1]; i++)
			amount /= 1024;
		if (i < 0)
			snprintf(text, size, "%" PRIu64, value);
		else
			snprintf(text, size, "%.1f%c", amount, letters[i]);
		break;
	case RF_UNIT_MS:
		if (value < SEC)
			snprintf(text, size, "%" PRIu64 "ms", value);
		else if (value < 2 * MIN)
			snprintf(text, size, "%.1fs", amount / (double)SEC);
		else if (value < 120 * MIN)
			snprintf(text, size, "%.1fm", amount / (double)MIN);
		else
			snprintf(text, size, "%.1fh", amount / (60 * (double)MIN));
		break;
	case RF_UNIT_PERCENT:
		snprintf(text, size, "%" PRIu64 "%%", value);
		break;
	case RF_UNIT_MONEY:
		rf_limit_write(&rf_quota_table[RF_QUOTA_MONEY_DAY], value, text, size);
		break;
	case RF_UNIT_RATE: /* nothing that is used has this unit */
	case RF_UNIT_COUNT:
		snprintf(text, size, "%" PRIu64, value);
		break;
	}
}

/* The row of a figure, and the figure itself, where `needed` is less than what is granted. */
static bool trim_figure(struct rf_policy *policy, enum rf_key key, const struct rf_trim_seen *seen,
			uint64_t needed, const char *note, struct rf_trim_row *row)
{
	const struct rf_limit_info *info = rf_key_figure(key);
	uint64_t granted = rf_key_number(policy, key);

	*row = (struct rf_trim_row){ .key = rf_key_table[key].path,
				     .of_granted = granted,
				     .of_used = seen->most,
				     .is_figure = seen->is_known,
				     .note = note };
	rf_limit_write(info, granted, row->granted, sizeof(row->granted));
	if (seen->is_known)
		rf_trim_amount(info->unit, seen->most, row->used, sizeof(row->used));
	if (seen->was_reached) {
		row->note = "a run ended at it";
		return false;
	}
	if (needed != RF_LIMIT_NONE && needed >= granted)
		row->note = NULL; /* it is what it should be */
	if (needed < info->min || needed >= granted)
		return false;
	policy->values[key].number = needed;
	policy->set |= RF_KEY_BIT(key);
	rf_limit_write(info, needed, row->tighter, sizeof(row->tighter));
	return true;
}

/* ------------------------------------------------------------- what is no figure */

static bool is_used(const struct rf_trim_list *used, const char *name)
{
	for (size_t i = 0; i < used->count; i++)
		if (strcmp(used->entries[i].name, name) == 0)
			return true;
	return false;
}

static bool is_used_with(const struct rf_trim_list *used, const char *name, const char *method)
{
	for (size_t i = 0; i < used->count; i++)
		if (strcmp(used->entries[i].name, name) == 0 &&
		    strcmp(used->entries[i].method, method) == 0)
			return true;
	return false;
}

/* The methods that a rule was used with; 0 if something was seen that has none, or that no rule can name. */
static uint32_t methods_of(const struct rf_trim_list *used, const char *rule)
{
	uint32_t methods = 0;

	for (size_t i = 0; i < used->count; i++) {
		uint32_t bit = rf_net_method_bit(rf_span_of(used->entries[i].method));

		if (strcmp(used->entries[i].name, rule) != 0)
			continue;
		if (!bit)
			return 0;
		methods |= bit;
	}
	return methods;
}

/* A rule as it would do: as it is, with fewer methods, or "": not at all. */
static void trim_rule(const char *text, const struct rf_trim_list *used,
		      char tighter[RF_NET_RULE_TEXT])
{
	struct rf_net_rule_room room;
	struct rf_net_rule rule;
	struct rf_err err;
	uint32_t methods;

	snprintf(tighter, RF_NET_RULE_TEXT, "%s", text);
	if (rf_net_rule_parse(text, false, &room, &rule, &err) < 0)
		return;
	if (!is_used(used, rule.text)) {
		tighter[0] = '\0';
		return;
	}
	if (rule.is_tcp && !is_used_with(used, rule.text, "TCP")) {
		rule.is_tcp = false;
		if (rf_net_rule_format(&rule, tighter) < 0)
			snprintf(tighter, RF_NET_RULE_TEXT, "%s", text);
		return;
	}
	methods = methods_of(used, rule.text);
	if (!rule.methods || !methods || !(rule.methods & ~methods))
		return;
	rule.methods &= methods;
	if (!rule.methods || rf_net_rule_format(&rule, tighter) < 0)
		snprintf(tighter, RF_NET_RULE_TEXT, "%s", text);
}

/* What an entry becomes: a copy of it, something less, or "". */
static void trim_entry(enum rf_key key, const struct rf_list_item *item,
		       const struct rf_trim_list *used, char tighter[RF_NET_RULE_TEXT])
{
	if (key == RF_KEY_NET_ALLOW)
		trim_rule(item->name, used, tighter);
	else
		snprintf(tighter, RF_NET_RULE_TEXT, "%s",
			 is_used(used, item->name) ? item->name : "");
}

void rf_trim_name(struct rf_trim_row *row, const char *words, const char *name)
{
	static const char more[] = ", ...";
	size_t len = strlen(row->detail), room = sizeof(row->detail) - len;

	if (!len)
		snprintf(row->detail, sizeof(row->detail), "%s: %.200s", words, name);
	else if (strlen(name) + sizeof(more) + 2 < room)
		snprintf(row->detail + len, room, ", %s", name);
	else if (room > sizeof(more) && strcmp(row->detail + len - strlen(more), more) != 0)
		snprintf(row->detail + len, room, "%s", more);
	row->note = row->detail;
}

/* The row of a list whose use is recorded, and the list itself without what no run used. */
static bool trim_list(struct rf_policy *policy, enum rf_key key, const struct rf_trim_list *used,
		      struct rf_trim_row *row)
{
	struct rf_list *list = &policy->values[key].list, less = { .max = list->max };
	bool is_tighter = false, has_failed = false;
	size_t count = 0;

	*row = (struct rf_trim_row){ .key = rf_key_table[key].path };
	snprintf(row->granted, sizeof(row->granted), "%zu %s", list->count,
		 list->count == 1 ? "entry" : "entries");
	if (!used->is_known) {
		row->note = "not recorded, or too many to tell";
		return false;
	}
	for (size_t i = 0; i < list->count; i++) {
		char tighter[RF_NET_RULE_TEXT];

		trim_entry(key, &list->items[i], used, tighter);
		is_tighter |= strcmp(tighter, list->items[i].name) != 0;
		count += tighter[0] != '\0';
		if (!tighter[0])
			rf_trim_name(row, "never used", list->items[i].name);
		else
			has_failed |= rf_list_unite(&less, tighter, list->items[i].value) < 0;
	}
	snprintf(row->used, sizeof(row->used), "%zu of them", count);
	if (!is_tighter || has_failed) {
		rf_list_done(&less);
		return false;
	}
	snprintf(row->tighter, sizeof(row->tighter), "%zu %s", less.count,
		 less.count == 1 ? "entry" : "entries");
	if (!row->note)
		row->note = "with fewer methods";
	rf_list_done(list);
	*list = less;
	return true;
}

/* Grants whose use nothing records yet: they are named, and stay. */
static const struct {
	enum rf_key key;
	const char *note;
} unseen[] = {
	{ RF_KEY_READ, "known of runs under `ringfort policy learn` alone" },
	{ RF_KEY_WRITE, "known of runs under `ringfort policy learn` alone" },
	{ RF_KEY_CURRENT, "known of runs under `ringfort policy learn` alone" },
	{ RF_KEY_COMMANDS, "known of runs under `ringfort policy learn` alone" },
	{ RF_KEY_CREDENTIALS, "which files a program opens is not recorded" },
	{ RF_KEY_ATTRIBUTES, "which attributes a program sets is not recorded" },
	{ RF_KEY_PASS, "which variables a program reads is not recorded" },
	{ RF_KEY_LINK, "only what passes a gateway is recorded" },
	{ RF_KEY_LOOPBACK, "connections within a box are not recorded" },
	{ RF_KEY_UNIX, "connections within a box are not recorded" },
};

#define BY_LEARNING 4 /* the first of these */

bool rf_trim_grant(const struct rf_policy *policy, enum rf_key key, char *text, size_t size)
{
	const struct rf_key_value *value = &policy->values[key];
	bool is_set = policy->set & RF_KEY_BIT(key);

	if (rf_key_table[key].type == RF_KEY_TYPE_CHOICE) {
		snprintf(text, size, "%s", is_set ? rf_key_choice_name(key, value->number) : "");
		return is_set && value->number != 0;
	}
	if (key == RF_KEY_COMMANDS && !is_set)
		snprintf(text, size, "every program");
	else
		snprintf(text, size, "%zu %s", value->list.count,
			 value->list.count == 1 ? "entry" : "entries");
	return key == RF_KEY_COMMANDS || (is_set && value->list.count > 0);
}

uint64_t rf_trim_budget(const struct rf_policy *policy, enum rf_quota quota)
{
	return rf_key_number(policy, (enum rf_key)(RF_KEY_QUOTA + quota));
}

/* Whose use the gateway tells. */
static const enum rf_key lists[] = { RF_KEY_NET_ALLOW, RF_KEY_GRANTS };

unsigned rf_trim(struct rf_policy *policy, const struct rf_trim_use *use,
		 struct rf_trim_row rows[RF_TRIM_ROWS], size_t *ret_count)
{
	unsigned tighter = 0;
	size_t count = 0;

	for (int i = 0; i < RF_LIMIT_COUNT; i++) {
		enum rf_key key = (enum rf_key)(RF_KEY_LIMIT + i);
		const char *note = NULL;
		uint64_t needed = needed_of((enum rf_limit)i, use, &note);

		if (policy->set & RF_KEY_BIT(key))
			tighter += trim_figure(policy, key, &use->limits[i], needed, note,
					       &rows[count++]);
	}
	for (int i = RF_QUOTA_BUDGETS; i < RF_QUOTA_COUNT; i++) {
		enum rf_key key = (enum rf_key)(RF_KEY_QUOTA + i);
		const struct rf_trim_seen *seen = &use->quotas[i];
		uint64_t needed = RF_LIMIT_NONE;

		if (!(policy->set & RF_KEY_BIT(key)) || policy->values[key].number == RF_LIMIT_NONE)
			continue;
		if (seen->is_known)
			needed = with_room(rf_quota_table[i].unit, seen, least_of_quota[i]);
		tighter += trim_figure(policy, key, seen, needed,
				       seen->is_known ? NULL : "too short a time to tell",
				       &rows[count++]);
	}
	for (size_t i = 0; i < RF_LEN(lists); i++)
		if (policy->set & RF_KEY_BIT(lists[i]) && policy->values[lists[i]].list.count > 0)
			tighter += trim_list(policy, lists[i],
					     lists[i] == RF_KEY_GRANTS ? &use->credentials
								       : &use->rules,
					     &rows[count++]);
	if (use->under_count > 0)
		tighter += rf_trim_files(policy, use, rows, &count);
	for (size_t i = use->under_count > 0 ? BY_LEARNING : 0; i < RF_LEN(unseen); i++) {
		struct rf_trim_row *row = &rows[count];

		*row = (struct rf_trim_row){ .key = rf_key_table[unseen[i].key].path,
					     .note = unseen[i].note };
		count += rf_trim_grant(policy, unseen[i].key, row->granted, sizeof(row->granted));
	}
	*ret_count = count;
	return tighter;
}
