/* The first line of a message: see start-line.h. */
#include "http/start-line.h"

#include "http/octet.h"

static const struct rf_span version = RF_SPAN_INIT("HTTP/1.1");

static enum rf_fault parse_version(struct rf_span text, unsigned *ret_minor)
{
	if (text.len != version.len || memcmp(text.at, version.at, 5) != 0 || text.at[6] != '.' ||
	    !rf_octet_is(text.at[5], RF_OCTET_DIGIT) || !rf_octet_is(text.at[7], RF_OCTET_DIGIT))
		return RF_FAULT_VERSION_FORM;
	if (text.at[5] != '1' || text.at[7] > '1')
		return RF_FAULT_VERSION;
	*ret_minor = (unsigned)(text.at[7] - '0');
	return RF_FAULT_NONE;
}

static enum rf_fault check_method(struct rf_span method)
{
	for (size_t i = 0; i < method.len; i++)
		if (!rf_octet_is(method.at[i], RF_OCTET_METHOD))
			return RF_FAULT_METHOD;
	if (method.len == 0 || method.at[0] == '-')
		return RF_FAULT_METHOD;
	return method.len > RF_START_LINE_METHOD ? RF_FAULT_METHOD_LONG : RF_FAULT_NONE;
}

static enum rf_fault parse_target(struct rf_start_line *start)
{
	bool is_connect = rf_span_is(start->method, RF_SPAN("CONNECT"));
	enum rf_fault fault;

	if (is_connect) {
		start->form = RF_TARGET_AUTHORITY;
		fault = rf_url_parse_authority(start->target, &start->url.authority);
		return fault || start->url.authority.port ? fault : RF_FAULT_PORT;
	}
	if (rf_span_is(start->target, RF_SPAN("*"))) {
		start->form = RF_TARGET_ASTERISK;
		return rf_span_is(start->method, RF_SPAN("OPTIONS")) ? RF_FAULT_NONE
								     : RF_FAULT_TARGET_METHOD;
	}
	if (start->target.len > 0 && start->target.at[0] == '/') {
		start->form = RF_TARGET_PATH;
		return rf_url_divide(start->target, &start->url);
	}
	start->form = RF_TARGET_URL;
	if (rf_span_find(start->target, ':') == start->target.len)
		return RF_FAULT_TARGET_FORM;
	return rf_url_parse(start->target, &start->url);
}

enum rf_fault rf_start_line_request(struct rf_span line, struct rf_start_line *ret_start)
{
	struct rf_start_line start = { 0 };
	enum rf_fault fault;
	size_t space = rf_span_find(line, ' ');
	struct rf_span rest = rf_span_part(line, space + 1, line.len);

	start.method = rf_span_part(line, 0, space);
	space = rf_span_find(rest, ' ');
	start.target = rf_span_part(rest, 0, space);
	if (start.target.len == 0 || space == rest.len)
		return RF_FAULT_START_PARTS;
	rest = rf_span_part(rest, space + 1, rest.len);
	if (rf_span_find(rest, ' ') < rest.len)
		return RF_FAULT_START_PARTS;
	fault = check_method(start.method);
	if (!fault)
		fault = parse_version(rest, &start.minor);
	if (!fault)
		fault = parse_target(&start);
	if (!fault)
		*ret_start = start;
	return fault;
}

/* The reason may be empty, and its space missing: many servers send neither, and nobody reads it. */
enum rf_fault rf_start_line_response(struct rf_span line, struct rf_start_line *ret_start)
{
	struct rf_start_line start = { 0 };
	struct rf_span rest = rf_span_part(line, version.len, line.len);
	unsigned long long status;
	enum rf_fault fault = parse_version(rf_span_part(line, 0, version.len), &start.minor);

	if (fault)
		return fault;
	if (rest.len < 4 || rest.at[0] != ' ' || (rest.len > 4 && rest.at[4] != ' '))
		return RF_FAULT_START_PARTS;
	if (rf_span_number(rf_span_part(rest, 1, 3), 599, &status) < 0 || status < 100)
		return RF_FAULT_STATUS;
	start.status = (unsigned)status;
	start.reason = rf_span_part(rest, 5, rest.len);
	*ret_start = start;
	return RF_FAULT_NONE;
}
