/* Which events of a log are wanted: see pick.h. */
#include "audit/pick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"

#define SECOND 1000000000ull

_Static_assert(RF_AUDIT_KIND_END <= 64, "a filter keeps one bit for each kind");

static bool is_text(const struct rf_audit_event *event, enum rf_audit_field field, const char *text)
{
	size_t len = strlen(text);

	return rf_audit_event_has(event, field) && event->values[field].len == len &&
	       memcmp(event->values[field].text, text, len) == 0;
}

bool rf_pick_takes(const struct rf_pick *filter, const struct rf_audit_event *event)
{
	return event->time_ns >= filter->since_ns &&
	       (!filter->until_ns || event->time_ns < filter->until_ns) &&
	       (!filter->kinds || filter->kinds >> event->kind & 1) &&
	       (!filter->agent || is_text(event, RF_AUDIT_AGENT, filter->agent)) &&
	       (!filter->tenant || is_text(event, RF_AUDIT_TENANT, filter->tenant)) &&
	       (!filter->box || is_text(event, RF_AUDIT_BOX, filter->box)) &&
	       (!filter->verdict || is_text(event, RF_AUDIT_VERDICT, filter->verdict));
}

int rf_pick_add_kind(struct rf_pick *filter, const char *name, struct rf_err *err)
{
	RF_AUTO_BUF struct rf_buf names;
	size_t len = strlen(name);
	uint64_t found = 0;

	rf_buf_init(&names, 1024);
	for (unsigned i = 1; i < RF_AUDIT_KIND_END; i++) {
		const char *kind = rf_audit_event_kind_name(i);

		if (strcmp(kind, name) == 0 ||
		    (len > 0 && strncmp(kind, name, len) == 0 && kind[len] == '.'))
			found |= 1ull << i;
		rf_buf_printf(&names, "%s%s", i > 1 ? " " : "", kind);
	}
	filter->kinds |= found;
	if (found)
		return 0;
	rf_fail_say(err, -EINVAL, "there is no kind of event `%.40s`", name);
	return rf_fail_hint(err, "one of: %.220s", names.data ? names.data : "");
}

/* "10m": so long before now. */
static bool take_ago(const char *text, uint64_t now_ns, uint64_t *ret_ns)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	char *end = NULL;
	uint64_t number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!errno && end[0] == units[i].letter && !end[1] &&
		    number < (1ull << 32) / units[i].seconds) {
			number *= units[i].seconds * SECOND;
			*ret_ns = number < now_ns ? now_ns - number : 1;
			return true;
		}
	return false;
}

/* Behind the seconds: a fraction of at most nine digits, and Z. */
static bool take_rest(const char *rest, uint64_t *ret_ns)
{
	uint64_t ns = 0, unit = SECOND / 10;

	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9' && unit > 0; rest++, unit /= 10)
			ns += (uint64_t)(*rest - '0') * unit;
	if (*rest == 'Z')
		rest++;
	*ret_ns = ns;
	return *rest == '\0';
}

int rf_pick_time(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct rf_err *err)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d" };

	if (take_ago(text, now_ns, ret_ns))
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = { 0 };
		const char *rest = strptime(text, forms[i], &tm);
		uint64_t ns;
		time_t seconds;

		if (!rest || !take_rest(rest, &ns))
			continue;
		seconds = timegm(&tm);
		if (seconds <= 0)
			break;
		*ret_ns = (uint64_t)seconds * SECOND + ns;
		return 0;
	}
	rf_fail_say(err, -EINVAL, "`%.40s` is no moment", text);
	return rf_fail_hint(err,
			    "for example: 10m (ago), 2h, 7d, 2026-11-16, 2026-11-16T06:50:00Z");
}
