/* Writes heads and chunks of HTTP/1.1: src/http/compose.c; and fields, src/http/field.c. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "harness.h"
#include "http/compose.h"
#include "http/http1.h"

#define TEXT(literal)                                                                              \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static struct rf_authority authority_of(const char *text)
{
	struct rf_authority authority = { 0 };

	RF_REQUIRE(!rf_url_parse_authority(rf_span_of(text), &authority), "%s", text);
	return authority;
}

RF_TEST(heads_are_written_as_they_are_read)
{
	RF_AUTO_BUF struct rf_buf out;
	struct rf_authority authority = authority_of("[::1]:8080");
	struct rf_compose head;

	rf_buf_init(&out, 4096);
	rf_buf_puts(&out, "before ");
	rf_compose_request(&head, &out, RF_SPAN("PUT"), RF_SPAN("/a?b"), &authority);
	rf_compose_field(&head, RF_SPAN("X-Empty"), RF_SPAN(""));
	rf_compose_field(&head, RF_SPAN("Accept"), RF_SPAN("a, \xc3\xbc"));
	rf_compose_length(&head, UINT64_MAX);
	RF_CHECK(!rf_compose_end(&head), "%s", rf_fault_words(head.fault));
	RF_CHECK(strcmp(out.data,
			"before PUT /a?b HTTP/1.1\r\nHost: [::1]:8080\r\nX-Empty: \r\n"
			"Accept: a, \xc3\xbc\r\nContent-Length: 18446744073709551615\r\n\r\n") == 0,
		 "%s", out.data);

	rf_buf_clear(&out);
	rf_compose_response(&head, &out, 404, rf_compose_reason(404));
	rf_compose_chunked(&head);
	RF_CHECK(!rf_compose_end(&head), "%s", rf_fault_words(head.fault));
	rf_compose_chunk_begin(&out, 0xabc);
	rf_compose_chunk_end(&out);
	RF_CHECK(!rf_compose_last_chunk(&out, (struct rf_fields){ 0 }), "no trailer");
	RF_CHECK(strcmp(out.data, "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
				  "abc\r\n\r\n0\r\n\r\n") == 0,
		 "%s", out.data);

	rf_buf_clear(&out);
	rf_compose_chunk_begin(&out, UINT64_MAX);
	RF_CHECK(strcmp(out.data, "ffffffffffffffff\r\n") == 0, "%s", out.data);
}

/* Each is refused, and takes all of its head back. */
RF_TEST(nothing_can_be_slipped_into_a_head)
{
	/* clang-format off */
	static const struct { struct rf_span method, target, name, value; enum rf_fault fault; } cases[] = {
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\r\nY: b"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\nb"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\rb"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\0b"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\x7f"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT(" a"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT("X"), TEXT("a\t"), RF_FAULT_VALUE },
		{ TEXT("GET"), TEXT("/"), TEXT(""), TEXT("a"), RF_FAULT_NAME },
		{ TEXT("GET"), TEXT("/"), TEXT("X:"), TEXT("a"), RF_FAULT_NAME },
		{ TEXT("GET"), TEXT("/"), TEXT("X "), TEXT("a"), RF_FAULT_NAME },
		{ TEXT("GET"), TEXT("/"), TEXT("X\r\nY"), TEXT("a"), RF_FAULT_NAME },
		{ TEXT("GET"), TEXT("/"), TEXT("X\0"), TEXT("a"), RF_FAULT_NAME },
		{ TEXT("GET"), TEXT("/"), TEXT("hOST"), TEXT("b"), RF_FAULT_NAME_OWN },
		{ TEXT("GET"), TEXT("/"), TEXT("Content-length"), TEXT("5"), RF_FAULT_NAME_OWN },
		{ TEXT("GET"), TEXT("/"), TEXT("Transfer-Encoding"), TEXT("chunked"), RF_FAULT_NAME_OWN },
		{ TEXT("GET"), TEXT("/"), TEXT("Transfer_Encoding"), TEXT("chunked"), RF_FAULT_NAME_OWN },
		{ TEXT("GET"), TEXT("/ HTTP/1.1\r\nX:"), TEXT("X"), TEXT("a"), RF_FAULT_TARGET_OCTET },
		{ TEXT("GET"), TEXT("/a b"), TEXT("X"), TEXT("a"), RF_FAULT_TARGET_OCTET },
		{ TEXT("GET"), TEXT(""), TEXT("X"), TEXT("a"), RF_FAULT_TARGET_OCTET },
		{ TEXT("GET"), TEXT("/\xff"), TEXT("X"), TEXT("a"), RF_FAULT_TARGET_OCTET },
		{ TEXT("GET / "), TEXT("/"), TEXT("X"), TEXT("a"), RF_FAULT_METHOD },
		{ TEXT("get"), TEXT("/"), TEXT("X"), TEXT("a"), RF_FAULT_METHOD },
		{ TEXT(""), TEXT("/"), TEXT("X"), TEXT("a"), RF_FAULT_METHOD },
		{ TEXT("AAAAAAAAAAAAAAAAAAAAAAAAA"), TEXT("/"), TEXT("X"), TEXT("a"), RF_FAULT_METHOD_LONG },
	};
	/* clang-format on */
	struct rf_authority authority = authority_of("a");
	RF_AUTO_BUF struct rf_buf out;
	struct rf_compose head;

	rf_buf_init(&out, 4096);
	rf_buf_puts(&out, "kept");
	for (size_t i = 0; i < RF_LEN(cases); i++) {
		rf_compose_request(&head, &out, cases[i].method, cases[i].target, &authority);
		rf_compose_field(&head, cases[i].name, cases[i].value);
		rf_compose_field(&head, RF_SPAN("Fine"), RF_SPAN("fine"));
		RF_CHECK(rf_compose_end(&head) == cases[i].fault, "%zu: %s", i,
			 rf_fault_words(head.fault));
		RF_CHECK(strcmp(out.data, "kept") == 0, "%zu: %s", i, out.data);
	}
}

RF_TEST(a_body_is_announced_once_and_a_response_is_valid)
{
	static const struct rf_field bad = { RF_SPAN_INIT("Content-Length"), RF_SPAN_INIT("5") };
	struct rf_authority nobody = { 0 };
	RF_AUTO_BUF struct rf_buf out;
	struct rf_compose head;

	rf_buf_init(&out, 64);
	rf_buf_puts(&out, "");
	rf_compose_response(&head, &out, 200, RF_SPAN("OK"));
	rf_compose_length(&head, 1);
	rf_compose_chunked(&head);
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_LENGTH_AND_CODING && out.len == 0, "twice");
	rf_compose_response(&head, &out, 200, RF_SPAN("OK\r\nX: y"));
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_CONTROL && out.len == 0, "reason");
	rf_compose_response(&head, &out, 99, RF_SPAN("OK"));
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_STATUS && out.len == 0, "99");
	rf_compose_response(&head, &out, 600, RF_SPAN("OK"));
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_STATUS && out.len == 0, "600");
	rf_compose_request(&head, &out, RF_SPAN("GET"), RF_SPAN("/"), &nobody);
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_HOST_EMPTY && out.len == 0, "no host");
	RF_CHECK(rf_compose_last_chunk(&out, (struct rf_fields){ &bad, 1 }) ==
				 RF_FAULT_TRAILER_NAME &&
			 out.len == 0,
		 "trailer");
	rf_compose_response(&head, &out, 200, RF_SPAN("OK"));
	rf_compose_field(&head, RF_SPAN("X"),
			 RF_SPAN("012345678901234567890123456789012345678901"));
	RF_CHECK(rf_compose_end(&head) == RF_FAULT_HEAD_LONG && out.len == 0, "too long");
}

RF_TEST(every_status_has_words)
{
	for (unsigned status = 0; status < 700; status++)
		RF_CHECK(rf_compose_reason(status).len > 0, "%u", status);
	RF_CHECK(rf_span_is(rf_compose_reason(299), RF_SPAN("Success")), "its class");
}

RF_TEST(lists_and_names_of_fields)
{
	static const struct rf_field fields[] = {
		{ RF_SPAN_INIT("Accept"), RF_SPAN_INIT("a") },
		{ RF_SPAN_INIT("X"), RF_SPAN_INIT("1") },
		{ RF_SPAN_INIT("x"), RF_SPAN_INIT("2") },
	};
	struct rf_span list = RF_SPAN(" a,,\tb\t, "), token;

	RF_CHECK(rf_field_find((struct rf_fields){ fields, 3 }, RF_SPAN("x")) == &fields[1], "x");
	RF_CHECK(!rf_field_find((struct rf_fields){ fields, 3 }, RF_SPAN("y")), "y");
	RF_CHECK(!rf_field_find((struct rf_fields){ 0 }, RF_SPAN("y")), "none");
	RF_CHECK(rf_field_next_token(&list, &token) == 1 && rf_span_is(token, RF_SPAN("a")), "a");
	RF_CHECK(rf_field_next_token(&list, &token) == 1 && rf_span_is(token, RF_SPAN("b")), "b");
	RF_CHECK(rf_field_next_token(&list, &token) == 0, "the end");
	list = RF_SPAN("a b");
	RF_CHECK(rf_field_next_token(&list, &token) == -EINVAL, "two words");
}
