/*
 * Reading a system call profile: see ruleset.h.
 *
 * Docker's format is that of the OCI runtime's specification and a little more (`archMap`, `includes`
 * and `excludes`, a single `name`); the container tools of others add errnos by their names.  All of
 * it is read here; a key that none of them has is refused, since what it was meant to forbid would
 * be allowed.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/jsonread.h"
#include "jail/ruleset.h"
#include "policy/near.h"

#define MAX_ERRNO 4095 /* that the kernel passes on */

#ifdef __x86_64__
#define OUR_ARCH "amd64" /* as the language of the container tools calls it */
#else
#define OUR_ARCH "arm64"
#endif

typedef const struct rf_jsonread_value value_t;

struct reader {
	struct rf_ruleset *ruleset;
	const struct rf_ruleset_facts *facts;
	struct rf_err *err;
};

/* ------------------------------------------------------------- saying what is wrong */

__attribute__((format(printf, 3, 4))) static int fail_at(struct reader *r, value_t *value,
							 const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return rf_fail_at(r->err, value->line, value->column, "%s", text);
}

/* The nearest of some names, or NULL. */
static const char *nearest(const char *word, const char *const *names, size_t count)
{
	struct rf_near best = rf_near_init(word);

	for (size_t i = 0; i < count; i++)
		rf_near_consider(&best, word, names[i], names[i]);
	return best.name;
}

static int fail_choice(struct reader *r, value_t *value, const char *what, const char *const *names,
		       size_t count)
{
	const char *near = nearest(value->text, names, count);

	fail_at(r, value, "\"%.40s\" is not %s", value->text, what);
	return near ? rf_fail_hint(r->err, "did you mean \"%s\"?", near) : r->err->code;
}

/* ------------------------------------------------------------- shapes */

/* Refuses what is not of the type; `what` names the place. */
static int need(struct reader *r, value_t *value, enum rf_jsonread_type type, const char *what)
{
	static const char *const kinds[] = {
		[RF_JSONREAD_NUMBER] = "a number",
		[RF_JSONREAD_STRING] = "a string",
		[RF_JSONREAD_ARRAY] = "an array",
		[RF_JSONREAD_OBJECT] = "an object",
	};

	if (value->type == type)
		return 0;
	return fail_at(r, value, "%s: %s is needed here, not %s", what, kinds[type],
		       rf_jsonread_kind(value));
}

/* Refuses members that are not among `names`. */
static int only(struct reader *r, value_t *object, const char *const *names, size_t count)
{
	for (value_t *v = object->first; v; v = v->next) {
		const char *near;
		size_t i = 0;

		while (i < count && strcmp(names[i], v->name) != 0)
			i++;
		if (i < count)
			continue;
		near = nearest(v->name, names, count);
		rf_fail_at(r->err, v->name_line, v->name_column, "\"%.60s\": unknown key", v->name);
		return near ? rf_fail_hint(r->err, "did you mean \"%s\"?", near) : r->err->code;
	}
	return 0;
}

/* A member by its name; null counts as not being there. */
static value_t *member(value_t *object, const char *name)
{
	value_t *found = rf_jsonread_member(object, name);

	return found && found->type != RF_JSONREAD_NULL ? found : NULL;
}

static int need_strings(struct reader *r, value_t *list, const char *what)
{
	if (need(r, list, RF_JSONREAD_ARRAY, what) < 0)
		return r->err->code;
	for (value_t *v = list->first; v; v = v->next)
		if (need(r, v, RF_JSONREAD_STRING, what) < 0)
			return r->err->code;
	return 0;
}

/* ------------------------------------------------------------- actions */

/* clang-format off */
static const struct { const char *name; uint32_t action; bool has_errno, is_for_others; } actions[] = {
	{ "SCMP_ACT_KILL",         SECCOMP_RET_KILL_THREAD,  false, false },
	{ "SCMP_ACT_KILL_THREAD",  SECCOMP_RET_KILL_THREAD,  false, false },
	{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS, false, false },
	{ "SCMP_ACT_TRAP",         SECCOMP_RET_TRAP,         false, false },
	{ "SCMP_ACT_ERRNO",        SECCOMP_RET_ERRNO,        true,  false },
	{ "SCMP_ACT_LOG",          SECCOMP_RET_LOG,          false, false },
	{ "SCMP_ACT_ALLOW",        SECCOMP_RET_ALLOW,        false, false },
	{ "SCMP_ACT_TRACE",        0,                        false, true },
	{ "SCMP_ACT_NOTIFY",       0,                        false, true },
};
/* clang-format on */

static int find_action(struct reader *r, value_t *value, size_t *ret_index)
{
	const char *names[RF_LEN(actions)];

	if (need(r, value, RF_JSONREAD_STRING, "an action") < 0)
		return r->err->code;
	for (size_t i = 0; i < RF_LEN(actions); i++) {
		names[i] = actions[i].name;
		if (strcmp(value->text, actions[i].name) != 0)
			continue;
		if (actions[i].is_for_others) {
			fail_at(r, value,
				"%s: there is no process that a box's calls could be "
				"handed to",
				value->text);
			return rf_fail_hint(r->err, "use SCMP_ACT_ERRNO to refuse the call, or "
						    "SCMP_ACT_LOG to allow and log it");
		}
		*ret_index = i;
		return 0;
	}
	return fail_choice(r, value, "an action", names, RF_LEN(names));
}

/* An errno by its name ("EPERM"), of those that we know by name, or -1. */
static int errno_of(const char *name)
{
	for (int number = 1; number <= MAX_ERRNO && strcmp(name, "EOTHER") != 0; number++)
		if (strcmp(rf_err_name(number), name) == 0)
			return number;
	return -1;
}

/* The errno of an action, from its number or its name; EPERM where neither is given. */
static int read_errno(struct reader *r, value_t *number, value_t *name, uint32_t *ret_errno)
{
	uint64_t value = EPERM;
	int named;

	if (number && (rf_jsonread_u64(number, &value) < 0 || value > MAX_ERRNO))
		return fail_at(r, number, "an errno is a whole number from 0 to %d", MAX_ERRNO);
	if (name && need(r, name, RF_JSONREAD_STRING, "an errno's name") < 0)
		return r->err->code;
	named = name && name->text[0] ? errno_of(name->text) : 0;
	if (named < 0 && !number) {
		fail_at(r, name, "\"%.40s\" is not an errno that is known by name", name->text);
		return rf_fail_hint(r->err, "give its number as \"errnoRet\"");
	}
	if (named > 0 && number && (uint64_t)named != value)
		return fail_at(r, name, "\"%.40s\" is %d, and the number beside it %d", name->text,
			       named, (int)value);
	*ret_errno = named > 0 ? (uint32_t)named : (uint32_t)value;
	return 0;
}

/* An action with its errno.  `number` and `name` may be NULL. */
static int read_action(struct reader *r, value_t *action, value_t *number, value_t *name,
		       uint32_t *ret_action)
{
	uint32_t code = 0;
	size_t i = 0;

	if (find_action(r, action, &i) < 0)
		return r->err->code;
	if (!actions[i].has_errno && number)
		return fail_at(r, number, "%s has no errno", action->text);
	if (actions[i].has_errno && read_errno(r, number, name, &code) < 0)
		return r->err->code;
	*ret_action = actions[i].action | code;
	return 0;
}

/* ------------------------------------------------------------- arguments */

static int read_number(struct reader *r, value_t *object, const char *name, uint64_t max,
		       bool is_needed, uint64_t *ret_number)
{
	value_t *value = member(object, name);

	*ret_number = 0;
	if (!value && !is_needed)
		return 0;
	if (!value)
		return fail_at(r, object, "a comparison without \"%s\"", name);
	if (rf_jsonread_u64(value, ret_number) < 0 || *ret_number > max)
		return fail_at(r, value, "%s: a whole number from 0 to %llu is needed here", name,
			       (unsigned long long)max);
	return 0;
}

static int read_op(struct reader *r, value_t *object, enum rf_ruleset_op *ret_op)
{
	static const char *const names[] = {
		[RF_RULESET_NE] = "SCMP_CMP_NE",
		[RF_RULESET_LT] = "SCMP_CMP_LT",
		[RF_RULESET_LE] = "SCMP_CMP_LE",
		[RF_RULESET_EQ] = "SCMP_CMP_EQ",
		[RF_RULESET_GE] = "SCMP_CMP_GE",
		[RF_RULESET_GT] = "SCMP_CMP_GT",
		[RF_RULESET_MASKED_EQ] = "SCMP_CMP_MASKED_EQ",
	};
	value_t *value = member(object, "op");

	if (!value)
		return fail_at(r, object, "a comparison without \"op\"");
	if (need(r, value, RF_JSONREAD_STRING, "op") < 0)
		return r->err->code;
	for (size_t i = 0; i < RF_LEN(names); i++)
		if (strcmp(value->text, names[i]) == 0) {
			*ret_op = (enum rf_ruleset_op)i;
			return 0;
		}
	return fail_choice(r, value, "a comparison", names, RF_LEN(names));
}

static int read_cond(struct reader *r, value_t *object, struct rf_ruleset_cond *ret_cond)
{
	static const char *const keys[] = { "index", "value", "valueTwo", "op" };
	uint64_t index;

	if (need(r, object, RF_JSONREAD_OBJECT, "args") < 0 ||
	    only(r, object, keys, RF_LEN(keys)) < 0 ||
	    read_number(r, object, "index", RF_RULESET_ARGS - 1, true, &index) < 0 ||
	    read_number(r, object, "value", UINT64_MAX, true, &ret_cond->value) < 0 ||
	    read_number(r, object, "valueTwo", UINT64_MAX, false, &ret_cond->two) < 0 ||
	    read_op(r, object, &ret_cond->op) < 0)
		return r->err->code;
	ret_cond->arg = (uint32_t)index;
	if (ret_cond->op != RF_RULESET_MASKED_EQ && ret_cond->two != 0) {
		fail_at(r, object, "\"valueTwo\" has a meaning for SCMP_CMP_MASKED_EQ only");
		return rf_fail_hint(r->err, "leave it out, or write 0");
	}
	/* A mask that was forgotten would make a rule for some arguments one for all. */
	if (ret_cond->op == RF_RULESET_MASKED_EQ && ret_cond->value == 0) {
		fail_at(r, object, "always holds: the mask in \"value\" is 0");
		return rf_fail_hint(r->err, "an argument fits if (argument & value) == valueTwo; a "
					    "rule for every argument has no comparison");
	}
	if (ret_cond->op == RF_RULESET_MASKED_EQ && ret_cond->two & ~ret_cond->value) {
		fail_at(r, object,
			"never holds: \"valueTwo\" has bits that the mask in \"value\" "
			"takes away");
		return rf_fail_hint(r->err, "an argument fits if (argument & value) == valueTwo");
	}
	return 0;
}

/*
 * Reads the comparisons of a rule.  All must hold; but where one argument is compared twice, each of
 * them is a rule of its own, as in the runtimes whose format this is.
 */
static int read_args(struct reader *r, value_t *list, struct rf_ruleset_cond **ret_conds,
		     size_t *ret_count, bool *ret_is_each)
{
	struct rf_ruleset_cond *conds;
	unsigned seen = 0;
	size_t n = 0;

	*ret_conds = NULL;
	*ret_count = 0;
	*ret_is_each = false;
	if (!list || (list->type == RF_JSONREAD_ARRAY && list->count == 0))
		return 0;
	if (need(r, list, RF_JSONREAD_ARRAY, "args") < 0)
		return r->err->code;
	if (list->count > 64)
		return fail_at(r, list, "more than 64 comparisons in one rule");
	conds = rf_ruleset_conds(r->ruleset, list->count);
	if (!conds)
		return rf_fail(r->err, -ENOMEM, "read the profile");
	for (value_t *v = list->first; v; v = v->next) {
		struct rf_ruleset_cond cond = { 0 };
		size_t at = n++;

		if (read_cond(r, v, &cond) < 0)
			return r->err->code;
		*ret_is_each |= seen & 1u << cond.arg;
		seen |= 1u << cond.arg;
		for (; at > 0 && conds[at - 1].arg > cond.arg; at--)
			conds[at] = conds[at - 1];
		conds[at] = cond;
	}
	*ret_conds = conds;
	*ret_count = n;
	return 0;
}

/* ------------------------------------------------------------- which rules count here */

static int read_kernel(struct reader *r, value_t *value, bool *ret_is_reached)
{
	unsigned major, minor;
	char rest;

	if (need(r, value, RF_JSONREAD_STRING, "minKernel") < 0)
		return r->err->code;
	if (sscanf(value->text, "%3u.%3u%c", &major, &minor, &rest) != 2)
		return fail_at(r, value, "minKernel: \"%.40s\" is not of the form 4.8",
			       value->text);
	*ret_is_reached = r->facts->kernel_major > major ||
			  (r->facts->kernel_major == major && r->facts->kernel_minor >= minor);
	return 0;
}

static bool lists(value_t *list, const char *text)
{
	for (value_t *v = list->first; v; v = v->next)
		if (strcmp(v->text, text) == 0)
			return true;
	return false;
}

static int check_caps(struct reader *r, value_t *caps)
{
	if (need_strings(r, caps, "caps") < 0)
		return r->err->code;
	for (value_t *v = caps->first; v; v = v->next)
		if (strncmp(v->text, "CAP_", 4) != 0)
			return fail_at(r, v, "\"%.40s\" is not a capability", v->text);
	return 0;
}

/*
 * Whether `includes` (or `excludes`, with `is_out`) lets a rule count.  To be included, all that is
 * listed must be so; to be excluded, any of it.  No box has a capability.
 */
static int read_filter(struct reader *r, value_t *filter, bool is_out, bool *counts)
{
	static const char *const keys[] = { "caps", "arches", "minKernel" };
	value_t *caps, *arches, *kernel;
	bool is_reached = false;

	if (!filter)
		return 0;
	if (need(r, filter, RF_JSONREAD_OBJECT, is_out ? "excludes" : "includes") < 0 ||
	    only(r, filter, keys, RF_LEN(keys)) < 0)
		return r->err->code;
	caps = member(filter, "caps");
	arches = member(filter, "arches");
	kernel = member(filter, "minKernel");
	if ((caps && check_caps(r, caps) < 0) || (arches && need_strings(r, arches, "arches") < 0))
		return r->err->code;
	if (kernel && kernel->type == RF_JSONREAD_STRING && kernel->text[0] == '\0')
		kernel = NULL;
	if (kernel && read_kernel(r, kernel, &is_reached) < 0)
		return r->err->code;
	if (is_out) {
		*counts &= !(arches && lists(arches, OUR_ARCH)) && !(kernel && is_reached);
	} else {
		*counts &= !(caps && caps->count > 0) && !(kernel && !is_reached) &&
			   !(arches && arches->count > 0 && !lists(arches, OUR_ARCH));
	}
	return 0;
}

/* ------------------------------------------------------------- rules */

/* A rule as it stands in the text, for all of its names. */
struct entry {
	uint32_t action;
	struct rf_ruleset_cond *conds;
	size_t cond_count;
	bool is_each;    /* each comparison is a rule of its own */
	bool is_special; /* it counts because of what this machine and box are */
};

/* A name that no kernel has: harmless to allow, and a hole where it should forbid. */
static int take_unknown(struct reader *r, value_t *name, uint32_t action)
{
	struct rf_ruleset *ruleset = r->ruleset;
	size_t len = strlen(ruleset->unknown);
	const char *near;

	if (rf_call_is_foreign(name->text)) {
		ruleset->foreign_count++;
		return 0;
	}
	if (rf_ruleset_lets(action)) {
		if (len + strlen(name->text) + 2 < sizeof(ruleset->unknown))
			snprintf(ruleset->unknown + len, sizeof(ruleset->unknown) - len, "%s%s",
				 len ? " " : "", name->text);
		ruleset->unknown_count++;
		return 0;
	}
	near = rf_call_nearest(name->text);
	fail_at(r, name, "\"%.60s\" is no system call, so nothing would be refused", name->text);
	return near ? rf_fail_hint(r->err, "did you mean \"%s\"?", near) : r->err->code;
}

static int add_name(struct reader *r, value_t *name, const struct entry *entry)
{
	size_t rules = entry->is_each ? entry->cond_count : 1;
	struct rf_ruleset_rule rule = {
		.nr = rf_call_find(name->text),
		.action = entry->action,
		.cond_count = entry->is_each ? 1 : (uint32_t)entry->cond_count,
		.line = name->line,
		.column = name->column,
		.is_special = entry->is_special,
	};

	if (name->text[0] == '\0' || strlen(name->text) > 60)
		return fail_at(r, name, "not the name of a system call");
	if (rule.nr < 0)
		return take_unknown(r, name, entry->action);
	for (size_t i = 0; i < rules; i++) {
		rule.conds = entry->conds ? &entry->conds[i] : NULL;
		if (rf_ruleset_add(r->ruleset, &rule, r->err) < 0)
			return r->err->code;
	}
	return 0;
}

static int read_names(struct reader *r, value_t *object, const struct entry *entry)
{
	value_t *name = member(object, "name"), *names = member(object, "names");

	if (name && need(r, name, RF_JSONREAD_STRING, "name") < 0)
		return r->err->code;
	if (name && name->text[0] == '\0' && names)
		name = NULL; /* a tool that writes both leaves one empty */
	if (names && need_strings(r, names, "names") < 0)
		return r->err->code;
	if (name && names && names->count > 0) {
		fail_at(r, name, "both \"name\" and \"names\"");
		return rf_fail_hint(r->err, "list all of them under \"names\"");
	}
	if (!name && (!names || names->count == 0))
		return fail_at(r, object, "a rule without \"names\"");
	if (name)
		return add_name(r, name, entry);
	for (value_t *v = names->first; v; v = v->next)
		if (add_name(r, v, entry) < 0)
			return r->err->code;
	return 0;
}

static bool is_filter(value_t *filter)
{
	return filter && filter->count > 0;
}

static int read_rule(struct reader *r, value_t *object)
{
	static const char *const keys[] = { "name", "names",    "action",   "errnoRet", "errno",
					    "args", "includes", "excludes", "comment" };
	struct entry entry = { 0 };
	value_t *action, *comment;
	bool counts = true;

	if (need(r, object, RF_JSONREAD_OBJECT, "syscalls") < 0 ||
	    only(r, object, keys, RF_LEN(keys)) < 0)
		return r->err->code;
	action = member(object, "action");
	comment = member(object, "comment");
	if (!action)
		return fail_at(r, object, "a rule without \"action\"");
	if (comment && need(r, comment, RF_JSONREAD_STRING, "comment") < 0)
		return r->err->code;
	if (read_action(r, action, member(object, "errnoRet"), member(object, "errno"),
			&entry.action) < 0 ||
	    read_args(r, member(object, "args"), &entry.conds, &entry.cond_count, &entry.is_each) <
		    0 ||
	    read_filter(r, member(object, "includes"), false, &counts) < 0 ||
	    read_filter(r, member(object, "excludes"), true, &counts) < 0)
		return r->err->code;
	entry.is_special =
		is_filter(member(object, "includes")) || is_filter(member(object, "excludes"));
	return counts ? read_names(r, object, &entry) : 0;
}

/* ------------------------------------------------------------- the rest */

static int check_arch(struct reader *r, value_t *name)
{
	static const char *const names[] = {
		"SCMP_ARCH_X86",      "SCMP_ARCH_X86_64",      "SCMP_ARCH_X32",
		"SCMP_ARCH_ARM",      "SCMP_ARCH_AARCH64",     "SCMP_ARCH_MIPS",
		"SCMP_ARCH_MIPS64",   "SCMP_ARCH_MIPS64N32",   "SCMP_ARCH_MIPSEL",
		"SCMP_ARCH_MIPSEL64", "SCMP_ARCH_MIPSEL64N32", "SCMP_ARCH_PPC",
		"SCMP_ARCH_PPC64",    "SCMP_ARCH_PPC64LE",     "SCMP_ARCH_S390",
		"SCMP_ARCH_S390X",    "SCMP_ARCH_PARISC",      "SCMP_ARCH_PARISC64",
		"SCMP_ARCH_RISCV64",  "SCMP_ARCH_LOONGARCH64", "SCMP_ARCH_M68K",
		"SCMP_ARCH_SH",       "SCMP_ARCH_SHEB",        "SCMP_ARCH_NATIVE",
	};

	for (size_t i = 0; i < RF_LEN(names); i++)
		if (strcmp(names[i], name->text) == 0)
			return 0;
	return fail_choice(r, name, "an architecture", names, RF_LEN(names));
}

static int check_arches(struct reader *r, value_t *list, const char *what)
{
	if (need_strings(r, list, what) < 0)
		return r->err->code;
	for (value_t *v = list->first; v; v = v->next)
		if (check_arch(r, v) < 0)
			return r->err->code;
	return 0;
}

/*
 * Only checked: the filter knows the native entry and kills every other one, whatever is listed, so
 * there is nothing that a second architecture could open.
 */
static int read_architectures(struct reader *r, value_t *list, value_t *map)
{
	static const char *const keys[] = { "architecture", "subArchitectures" };

	if (list && map && list->count > 0 && map->count > 0)
		return fail_at(r, map, "both \"architectures\" and \"archMap\"");
	if (list && check_arches(r, list, "architectures") < 0)
		return r->err->code;
	if (map && need(r, map, RF_JSONREAD_ARRAY, "archMap") < 0)
		return r->err->code;
	for (value_t *v = map ? map->first : NULL; v; v = v->next) {
		value_t *arch, *subs;

		if (need(r, v, RF_JSONREAD_OBJECT, "archMap") < 0 ||
		    only(r, v, keys, RF_LEN(keys)) < 0)
			return r->err->code;
		arch = member(v, "architecture");
		subs = member(v, "subArchitectures");
		if (!arch)
			return fail_at(r, v, "archMap: an element without \"architecture\"");
		if (need(r, arch, RF_JSONREAD_STRING, "architecture") < 0 ||
		    check_arch(r, arch) < 0 ||
		    (subs && check_arches(r, subs, "subArchitectures") < 0))
			return r->err->code;
	}
	return 0;
}

/* Of the flags only one has a meaning here: a box has one thread when its filter is loaded. */
static int read_flags(struct reader *r, value_t *list)
{
	static const char *const names[] = { "SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_TSYNC",
					     "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
					     "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV" };

	if (!list)
		return 0;
	if (need_strings(r, list, "flags") < 0)
		return r->err->code;
	for (value_t *v = list->first; v; v = v->next) {
		size_t i = 0;

		while (i < RF_LEN(names) && strcmp(names[i], v->text) != 0)
			i++;
		if (i == RF_LEN(names))
			return fail_choice(r, v, "a flag", names, RF_LEN(names));
		r->ruleset->wants_log |= i == 0;
	}
	return 0;
}

/* A listener would decide about calls; there is none. */
static int check_listener(struct reader *r, value_t *root)
{
	static const char *const keys[] = { "listenerPath", "listenerMetadata" };

	for (size_t i = 0; i < RF_LEN(keys); i++) {
		value_t *value = member(root, keys[i]);

		if (!value)
			continue;
		if (need(r, value, RF_JSONREAD_STRING, keys[i]) < 0)
			return r->err->code;
		if (value->text[0] == '\0')
			continue;
		fail_at(r, value, "%s: there is no process that a box's calls could be handed to",
			keys[i]);
		return rf_fail_hint(r->err, "remove it, and use SCMP_ACT_ERRNO to refuse calls");
	}
	return 0;
}

static int read_root(struct reader *r, value_t *root)
{
	static const char *const keys[] = { "defaultAction", "defaultErrnoRet",  "defaultErrno",
					    "architectures", "archMap",          "flags",
					    "listenerPath",  "listenerMetadata", "syscalls",
					    "comment" };
	value_t *action, *rules;

	if (root->type != RF_JSONREAD_OBJECT) {
		fail_at(r, root, "a profile is an object, not %s", rf_jsonread_kind(root));
		return rf_fail_hint(r->err,
				    "begin with {\"defaultAction\": \"SCMP_ACT_ERRNO\", ...");
	}
	if (only(r, root, keys, RF_LEN(keys)) < 0)
		return r->err->code;
	action = member(root, "defaultAction");
	rules = member(root, "syscalls");
	if (!action) {
		fail_at(r, root, "a profile without \"defaultAction\"");
		return rf_fail_hint(r->err, "it says what becomes of a call that no rule names");
	}
	if (read_action(r, action, member(root, "defaultErrnoRet"), member(root, "defaultErrno"),
			&r->ruleset->fallback) < 0 ||
	    read_architectures(r, member(root, "architectures"), member(root, "archMap")) < 0 ||
	    read_flags(r, member(root, "flags")) < 0 || check_listener(r, root) < 0)
		return r->err->code;
	if (rules && need(r, rules, RF_JSONREAD_ARRAY, "syscalls") < 0)
		return r->err->code;
	for (value_t *v = rules ? rules->first : NULL; v; v = v->next)
		if (read_rule(r, v) < 0)
			return r->err->code;
	return 0;
}

int rf_ruleset_read(struct rf_ruleset *ruleset, const char *text, size_t len,
		    const struct rf_ruleset_facts *facts, struct rf_err *err)
{
	struct reader r = { .ruleset = ruleset, .facts = facts, .err = err };
	struct rf_jsonread *json = NULL;
	int code = rf_jsonread_parse(text, len, &json, err);

	if (code == 0)
		code = read_root(&r, rf_jsonread_root(json));
	rf_jsonread_free(json);
	return code;
}
