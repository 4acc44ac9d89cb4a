/* Fields that say that a request is another: see pretend.h. */
#include "gateway/pretend.h"

#include "base/fd.h"
#include "http/field.h"

/* In small letters, and with hyphens for what may be either. */
static const struct rf_span methods[] = {
	RF_SPAN_INIT("x-http-method-override"),
	RF_SPAN_INIT("x-http-method"),
	RF_SPAN_INIT("x-method-override"),
};

static const struct rf_span paths[] = {
	RF_SPAN_INIT("x-original-url"),
	RF_SPAN_INIT("x-rewrite-url"),
};

static bool is_among(struct rf_span name, const struct rf_span *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rf_field_is_seen_as(name, names[i]))
			return true;
	return false;
}

bool rf_pretend_is_method(struct rf_span name)
{
	return is_among(name, methods, RF_LEN(methods));
}

bool rf_pretend_is_path(struct rf_span name)
{
	return is_among(name, paths, RF_LEN(paths));
}
