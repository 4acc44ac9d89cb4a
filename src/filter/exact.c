/*
 * How the forms are found.
 *
 * Every form is at least STEP + 3 bytes long.  So wherever it lies, one of the places 0, STEP, 2 STEP ... of the data is among its first
 * STEP bytes, with three more behind it that are its own: looking at four bytes at each of these places is enough, if the
 * four bytes at each of a form's first STEP offsets are known.  They are in a hash table; what is found there is compared in full.
 *
 * Weighed and not taken: Aho-Corasick (a dependent load for every byte), an automaton library (its compiler at the start of a
 * process that has 15 ms in all), vectors of nibbles (as many forms as one credential has would light up on any text).
 */
#include "filter/exact.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter/forms.h"

#define GRAM       4
#define LONG_STEP  8
#define SHORT_STEP 5
#define TABLE_BITS 13
#define TABLE      (1U << TABLE_BITS)

static_assert(SHORT_STEP + GRAM - 1 <= RF_EXACT_MIN, "the shortest value has one full look");

struct form {
	char *bytes;
	size_t len;
	unsigned id;
	uint32_t next; /* form that begins with the same byte, or NONE */
};

struct gram {
	uint32_t value;
	uint32_t form;
	uint32_t next; /* index plus one, 0 at the end */
	uint32_t offset;
};

#define NONE UINT32_MAX

struct rf_exact {
	struct form *forms;
	size_t count, room;
	struct gram *grams;
	size_t gram_count;
	size_t step;
	size_t longest;
	bool is_sealed;
	uint32_t by_first[256]; /* forms by their first byte */
	uint32_t heads[TABLE];  /* grams by their hash */
};

struct rf_exact *rf_exact_new(void)
{
	struct rf_exact *set = calloc(1, sizeof(*set));

	if (set)
		memset(set->by_first, 0xff, sizeof(set->by_first));
	return set;
}

void rf_exact_free(struct rf_exact *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++) {
		explicit_bzero(set->forms[i].bytes, set->forms[i].len);
		free(set->forms[i].bytes);
	}
	if (set->grams)
		explicit_bzero(set->grams, set->gram_count * sizeof(*set->grams));
	free(set->grams);
	free(set->forms);
	free(set);
}

size_t rf_exact_longest(const struct rf_exact *set)
{
	return set->longest;
}

size_t rf_exact_count(const struct rf_exact *set)
{
	return set ? set->count : 0;
}

static uint32_t load(const char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t hash(uint32_t value)
{
	return (value * 0x9e3779b1U) >> (32 - TABLE_BITS);
}

static bool is_known(const struct rf_exact *set, const void *bytes, size_t len)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->forms[i].len == len && !memcmp(set->forms[i].bytes, bytes, len))
			return true;
	return false;
}

static int add_form(struct rf_exact *set, const void *bytes, size_t len, unsigned id,
		    struct rf_err *err)
{
	if (set->is_sealed)
		return rf_fail_say(err, -EBUSY, "a set of secrets that is sealed takes no more");
	if (len < RF_EXACT_MIN || is_known(set, bytes, len))
		return 0;
	if (set->count == RF_EXACT_ALL)
		return rf_fail_say(err, -E2BIG, "more than %d forms of secrets to look for",
				   RF_EXACT_ALL);
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 32;
		struct form *forms = reallocarray(set->forms, room, sizeof(*forms));

		if (!forms)
			return rf_fail(err, -ENOMEM, "hold secrets to look for");
		set->forms = forms;
		set->room = room;
	}
	char *copy = malloc(len);

	if (!copy)
		return rf_fail(err, -ENOMEM, "hold secrets to look for");
	memcpy(copy, bytes, len);
	set->forms[set->count++] = (struct form){ .bytes = copy, .len = len, .id = id };
	return 0;
}

struct adding {
	struct rf_exact *set;
	unsigned id;
	int code;
	struct rf_err *err;
};

static void take_form(void *context, const char *bytes, size_t len)
{
	struct adding *adding = context;

	if (adding->code >= 0)
		adding->code = add_form(adding->set, bytes, len, adding->id, adding->err);
}

int rf_exact_add(struct rf_exact *set, const void *value, size_t len, unsigned id,
		 struct rf_err *err)
{
	struct adding adding = { .set = set, .id = id, .err = err };
	int code;

	if (len < RF_EXACT_MIN)
		return 0;
	if (len > RF_EXACT_MAX)
		return rf_fail_say(err, -E2BIG, "a secret of %zu bytes is longer than %d", len,
				   RF_EXACT_MAX);
	code = rf_forms_of(value, len, take_form, &adding);
	if (code < 0)
		return rf_fail(err, code, "write a secret's encodings");
	return adding.code < 0 ? adding.code : 1;
}

int rf_exact_add_bytes(struct rf_exact *set, const void *bytes, size_t len, unsigned id,
		       struct rf_err *err)
{
	if (len < LONG_STEP + GRAM - 1)
		return rf_fail_say(err, -EINVAL, "%zu bytes are too few to look for", len);
	return add_form(set, bytes, len, id, err);
}

int rf_exact_seal(struct rf_exact *set, struct rf_err *err)
{
	set->step = LONG_STEP;
	for (size_t i = 0; i < set->count; i++) {
		if (set->forms[i].len < LONG_STEP + GRAM - 1)
			set->step = SHORT_STEP;
		if (set->forms[i].len > set->longest)
			set->longest = set->forms[i].len;
	}
	set->grams = calloc(set->count * set->step + 1, sizeof(*set->grams));
	if (!set->grams)
		return rf_fail(err, -ENOMEM, "index secrets to look for");
	for (uint32_t i = 0; i < set->count; i++) {
		struct form *form = &set->forms[i];
		uint32_t *first = &set->by_first[(unsigned char)form->bytes[0]];

		form->next = *first;
		*first = i;
		for (uint32_t offset = 0; offset < set->step; offset++) {
			uint32_t value = load(form->bytes + offset);
			uint32_t *head = &set->heads[hash(value)];

			set->grams[set->gram_count++] = (struct gram){
				.value = value, .form = i, .offset = offset, .next = *head
			};
			*head = (uint32_t)set->gram_count;
		}
	}
	set->is_sealed = true;
	return 0;
}

/* What the four bytes at `place` may belong to, compared in full. */
static void look_at(const struct rf_exact *set, const char *data, size_t len, size_t from,
		    size_t place, rf_exact_found *found, void *context)
{
	uint32_t value = load(data + place);

	for (uint32_t i = set->heads[hash(value)]; i; i = set->grams[i - 1].next) {
		const struct gram *gram = &set->grams[i - 1];
		const struct form *form = &set->forms[gram->form];
		size_t at = place - gram->offset;

		if (gram->value == value && place >= gram->offset && at >= from &&
		    len - at >= form->len && !memcmp(data + at, form->bytes, form->len))
			found(context, at, form->len, form->id);
	}
}

void rf_exact_scan(const struct rf_exact *set, const char *data, size_t len, size_t from,
		   rf_exact_found *found, void *context)
{
	size_t step = set->step, place = from;

	if (!set->count)
		return;
	/* Four looks at once: they do not wait for each other, and nearly always all find nothing. */
	for (; len >= 3 * step + GRAM && place <= len - 3 * step - GRAM; place += 4 * step) {
		uint32_t a = set->heads[hash(load(data + place))];
		uint32_t b = set->heads[hash(load(data + place + step))];
		uint32_t c = set->heads[hash(load(data + place + 2 * step))];
		uint32_t d = set->heads[hash(load(data + place + 3 * step))];

		if (__builtin_expect(!(a | b | c | d), 1))
			continue;
		for (size_t i = 0; i < 4; i++)
			look_at(set, data, len, from, place + i * step, found, context);
	}
	for (; len >= GRAM && place <= len - GRAM; place += step)
		look_at(set, data, len, from, place, found, context);
}

size_t rf_exact_open(const struct rf_exact *set, const char *data, size_t len, size_t from)
{
	size_t place = from;

	if (!set->count)
		return len;
	if (len - from >= set->longest)
		place = len - set->longest + 1;
	for (; place < len; place++)
		for (uint32_t i = set->by_first[(unsigned char)data[place]]; i != NONE;
		     i = set->forms[i].next)
			if (set->forms[i].len > len - place &&
			    !memcmp(data + place, set->forms[i].bytes, len - place))
				return place;
	return len;
}

size_t rf_exact_loose(const struct rf_exact *set, const char *data, size_t len, size_t from,
		      unsigned known)
{
	size_t place = from;

	if (!set->count)
		return len;
	if (len - from >= set->longest)
		place = len - set->longest + 1;
	for (; place < len; place++)
		for (uint32_t i = set->by_first[(unsigned char)data[place]]; i != NONE;
		     i = set->forms[i].next) {
			const struct form *form = &set->forms[i];
			size_t spare =
				form->len / 4 < RF_EXACT_LOOSE ? form->len / 4 : RF_EXACT_LOOSE;

			if (form->id != known && form->len > len - place && spare < len - place &&
			    !memcmp(data + place, form->bytes, len - place))
				return place;
		}
	return len;
}
