/* Writes heads and chunks of HTTP/1.1: see compose.h. */
#include "http/compose.h"

#include "base/fd.h"
#include "http/framing.h"
#include "http/octet.h"

static void put(struct rf_compose *head, struct rf_span text)
{
	rf_buf_add(head->out, text.at, text.len);
}

static void put_number(struct rf_compose *head, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	rf_buf_add(head->out, digits + at, sizeof(digits) - at);
}

static bool is_all(struct rf_span text, enum rf_octet part)
{
	for (size_t i = 0; i < text.len; i++)
		if (!rf_octet_is(text.at[i], part))
			return false;
	return true;
}

static void begin(struct rf_compose *head, struct rf_buf *out)
{
	*head = (struct rf_compose){ .out = out, .from = out->len };
}

void rf_compose_request(struct rf_compose *head, struct rf_buf *out, struct rf_span method,
			struct rf_span target, const struct rf_authority *authority)
{
	bool is_ipv6 = authority->host.kind == RF_HOST_IPV6;

	begin(head, out);
	if (method.len == 0 || method.at[0] == '-' || !is_all(method, RF_OCTET_METHOD))
		head->fault = RF_FAULT_METHOD;
	else if (method.len > RF_START_LINE_METHOD)
		head->fault = RF_FAULT_METHOD_LONG;
	else if (target.len == 0 || !is_all(target, RF_OCTET_TARGET))
		head->fault = RF_FAULT_TARGET_OCTET;
	else if (authority->host.len == 0)
		head->fault = RF_FAULT_HOST_EMPTY;
	if (head->fault)
		return;
	put(head, method);
	put(head, RF_SPAN(" "));
	put(head, target);
	put(head, RF_SPAN(" HTTP/1.1\r\nHost: "));
	put(head, is_ipv6 ? RF_SPAN("[") : RF_SPAN(""));
	put(head, (struct rf_span){ authority->host.text, authority->host.len });
	put(head, is_ipv6 ? RF_SPAN("]") : RF_SPAN(""));
	if (authority->port) {
		put(head, RF_SPAN(":"));
		put_number(head, authority->port);
	}
	put(head, RF_SPAN("\r\n"));
}

void rf_compose_response(struct rf_compose *head, struct rf_buf *out, unsigned status,
			 struct rf_span reason)
{
	begin(head, out);
	if (status < 100 || status > 599)
		head->fault = RF_FAULT_STATUS;
	else if (!is_all(reason, RF_OCTET_TEXT))
		head->fault = RF_FAULT_CONTROL;
	if (head->fault)
		return;
	put(head, RF_SPAN("HTTP/1.1 "));
	put_number(head, status);
	put(head, RF_SPAN(" "));
	put(head, reason);
	put(head, RF_SPAN("\r\n"));
}

/* A value with white space at its ends would be read as another one. */
static enum rf_fault check_field(struct rf_span name, struct rf_span value)
{
	if (name.len == 0 || !is_all(name, RF_OCTET_TOKEN))
		return RF_FAULT_NAME;
	if (!is_all(value, RF_OCTET_TEXT) || rf_span_trim(value).len != value.len)
		return RF_FAULT_VALUE;
	return RF_FAULT_NONE;
}

static bool is_written_here(struct rf_span name)
{
	return rf_span_is_like(name, RF_SPAN("host")) ||
	       rf_span_is_like(name, RF_SPAN("content-length")) ||
	       rf_span_is_like(name, RF_SPAN("transfer-encoding"));
}

static void put_field(struct rf_compose *head, struct rf_span name, struct rf_span value)
{
	put(head, name);
	put(head, RF_SPAN(": "));
	put(head, value);
	put(head, RF_SPAN("\r\n"));
}

void rf_compose_field(struct rf_compose *head, struct rf_span name, struct rf_span value)
{
	if (!head->fault)
		head->fault = is_written_here(name) || rf_field_is_alike(name)
				      ? RF_FAULT_NAME_OWN
				      : check_field(name, value);
	if (!head->fault)
		put_field(head, name, value);
}

/* True if a body may be announced: none was. */
static bool take_body(struct rf_compose *head)
{
	if (!head->fault && head->has_body)
		head->fault = RF_FAULT_LENGTH_AND_CODING;
	head->has_body = true;
	return !head->fault;
}

void rf_compose_length(struct rf_compose *head, uint64_t length)
{
	if (!take_body(head))
		return;
	put(head, RF_SPAN("Content-Length: "));
	put_number(head, length);
	put(head, RF_SPAN("\r\n"));
}

void rf_compose_chunked(struct rf_compose *head)
{
	if (take_body(head))
		put(head, RF_SPAN("Transfer-Encoding: chunked\r\n"));
}

enum rf_fault rf_compose_end(struct rf_compose *head)
{
	if (!head->fault)
		put(head, RF_SPAN("\r\n"));
	if (!head->fault && head->out->has_failed)
		head->fault = RF_FAULT_HEAD_LONG;
	if (head->fault && head->out->len > head->from) {
		head->out->len = head->from;
		head->out->data[head->from] = '\0';
	}
	return head->fault;
}

void rf_compose_chunk_begin(struct rf_buf *out, uint64_t len)
{
	static const char digits[] = "0123456789abcdef";
	char text[18] = { [16] = '\r', [17] = '\n' };
	size_t at = 16;

	do
		text[--at] = digits[len & 15];
	while (len >>= 4);
	rf_buf_add(out, text + at, sizeof(text) - at);
}

void rf_compose_chunk_end(struct rf_buf *out)
{
	rf_buf_add(out, "\r\n", 2);
}

enum rf_fault rf_compose_last_chunk(struct rf_buf *out, struct rf_fields trailer)
{
	struct rf_compose last;

	begin(&last, out);
	put(&last, RF_SPAN("0\r\n"));
	for (size_t i = 0; i < trailer.count; i++) {
		struct rf_span name = trailer.at[i].name;

		if (rf_framing_is_head_only(name))
			last.fault = RF_FAULT_TRAILER_NAME;
		rf_compose_field(&last, name, trailer.at[i].value);
	}
	return rf_compose_end(&last);
}

/* clang-format off */
static const struct { unsigned status; struct rf_span words; } reasons[] = {
	{ 100, RF_SPAN_INIT("Continue") },               { 101, RF_SPAN_INIT("Switching Protocols") },
	{ 200, RF_SPAN_INIT("OK") },                     { 201, RF_SPAN_INIT("Created") },
	{ 202, RF_SPAN_INIT("Accepted") },               { 204, RF_SPAN_INIT("No Content") },
	{ 206, RF_SPAN_INIT("Partial Content") },        { 301, RF_SPAN_INIT("Moved Permanently") },
	{ 302, RF_SPAN_INIT("Found") },                  { 303, RF_SPAN_INIT("See Other") },
	{ 304, RF_SPAN_INIT("Not Modified") },           { 307, RF_SPAN_INIT("Temporary Redirect") },
	{ 308, RF_SPAN_INIT("Permanent Redirect") },     { 400, RF_SPAN_INIT("Bad Request") },
	{ 401, RF_SPAN_INIT("Unauthorized") },           { 403, RF_SPAN_INIT("Forbidden") },
	{ 404, RF_SPAN_INIT("Not Found") },              { 405, RF_SPAN_INIT("Method Not Allowed") },
	{ 407, RF_SPAN_INIT("Proxy Authentication Required") }, { 408, RF_SPAN_INIT("Request Timeout") },
	{ 409, RF_SPAN_INIT("Conflict") },               { 411, RF_SPAN_INIT("Length Required") },
	{ 413, RF_SPAN_INIT("Content Too Large") },      { 414, RF_SPAN_INIT("URI Too Long") },
	{ 415, RF_SPAN_INIT("Unsupported Media Type") }, { 417, RF_SPAN_INIT("Expectation Failed") },
	{ 426, RF_SPAN_INIT("Upgrade Required") },       { 429, RF_SPAN_INIT("Too Many Requests") },
	{ 431, RF_SPAN_INIT("Request Header Fields Too Large") }, { 500, RF_SPAN_INIT("Internal Server Error") },
	{ 501, RF_SPAN_INIT("Not Implemented") },        { 502, RF_SPAN_INIT("Bad Gateway") },
	{ 503, RF_SPAN_INIT("Service Unavailable") },    { 504, RF_SPAN_INIT("Gateway Timeout") },
	{ 505, RF_SPAN_INIT("HTTP Version Not Supported") },
};

static const struct rf_span classes[] = {
	RF_SPAN_INIT("Informational"), RF_SPAN_INIT("Success"), RF_SPAN_INIT("Redirection"),
	RF_SPAN_INIT("Client Error"), RF_SPAN_INIT("Server Error"),
};
/* clang-format on */

struct rf_span rf_compose_reason(unsigned status)
{
	for (size_t i = 0; i < RF_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return status >= 100 && status <= 599 ? classes[status / 100 - 1] : RF_SPAN("Unknown");
}
