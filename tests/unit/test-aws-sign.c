/* Signatures of requests to AWS: src/gateway/aws-sign.c. */
#include "gateway/aws-sign.h"

#include <string.h>

#include "base/fd.h"
#include "harness.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct rf_span span(const char *text)
{
	return (struct rf_span){ text, strlen(text) };
}

/* Requests of Amazon's own documentation and of the suite for makers of clients; keys, dates and results are published with them. */
RF_TEST(published_examples_are_signed_as_published)
{
	/* clang-format off */
	static const struct {
		const char *what, *id, *secret, *region, *service, *method, *host, *path, *query, *date, *payload;
		const char *fields[6];
		const char *signature;
	} cases[] = {
		{ "IAM", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "iam",
		  "GET", "iam.amazonaws.com", "/", "Action=ListUsers&Version=2010-05-08", "20150830T123600Z", EMPTY,
		  { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8", "X-Amz-Date", "20150830T123600Z" },
		  "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" },
		{ "plain", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service",
		  "GET", "example.amazonaws.com", "/", "", "20150830T123600Z", EMPTY,
		  { "X-Amz-Date", "20150830T123600Z" },
		  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
		{ "S3", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3",
		  "GET", "examplebucket.s3.amazonaws.com", "/test.txt", "", "20130524T000000Z", EMPTY,
		  { "Range", "bytes=0-9", "x-amz-content-sha256", EMPTY, "x-amz-date", "20130524T000000Z" },
		  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
		{ "S3 list", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3",
		  "GET", "examplebucket.s3.amazonaws.com", "/", "max-keys=2&prefix=J", "20130524T000000Z", EMPTY,
		  { "x-amz-content-sha256", EMPTY, "x-amz-date", "20130524T000000Z" },
		  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_err err = RF_ERR_INIT;
		struct rf_field fields[3];
		RF_AUTO_BUF struct rf_buf out;
		struct rf_aws_sign what = {
			.id = span(cases[i].id),
			.secret = span(cases[i].secret),
			.region = span(cases[i].region),
			.service = span(cases[i].service),
			.method = span(cases[i].method),
			.host = span(cases[i].host),
			.path = span(cases[i].path),
			.query = span(cases[i].query),
			.payload = span(cases[i].payload),
			.date = span(cases[i].date),
			.fields = { .at = fields },
		};

		for (size_t j = 0; j < 6 && cases[i].fields[j]; j += 2)
			fields[what.fields.count++] =
				(struct rf_field){ .name = span(cases[i].fields[j]),
						   .value = span(cases[i].fields[j + 1]) };
		rf_buf_init(&out, 10000);
		RF_REQUIRE(rf_aws_sign_format(&what, &out, &err) == 0, "%s", err.msg);
		RF_CHECK(strstr(out.data, cases[i].signature), "%s: %s", cases[i].what, out.data);
	}
}

RF_TEST(a_request_has_one_canonical_form)
{
	/* clang-format off */
	static const struct { const char *service, *path, *query, *text; } cases[] = {
		{ "s3",  "/a%20b(c)/d", "", "GET\n/a%20b%28c%29/d\n\n" },
		{ "ec2", "/a%20b(c)/d", "", "GET\n/a%2520b%28c%29/d\n\n" },
		{ "ec2", "/", "b=2&a=1&a=0&a", "GET\n/\na=&a=0&a=1&b=2\n" },
		{ "ec2", "/", "a-b=1&a=2&&A=3", "GET\n/\nA=3&a=2&a-b=1\n" },
		{ "ec2", "/", "x=%7e%2f%2F/", "GET\n/\nx=~%2F%2F%2F\n" },
		{ "ec2", "/", "x=%zz%", "GET\n/\nx=%25zz%25\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		RF_AUTO_BUF struct rf_buf out, names;
		struct rf_aws_sign what = {
			.service = span(cases[i].service),
			.method = RF_SPAN("GET"),
			.host = RF_SPAN("h"),
			.path = span(cases[i].path),
			.query = span(cases[i].query),
			.payload = RF_SPAN("p"),
		};

		rf_buf_init(&out, 10000);
		rf_buf_init(&names, 1000);
		RF_REQUIRE(rf_aws_sign_canonical(&what, &out, &names) == 0, "case %zu", i);
		RF_CHECK(strncmp(out.data, cases[i].text, strlen(cases[i].text)) == 0,
			 "case %zu: %s", i, out.data);
	}
}

RF_TEST(what_can_not_be_signed_is_refused)
{
	struct rf_err err = RF_ERR_INIT;
	struct rf_field twice[2] = { { .name = RF_SPAN("x-amz-a"), .value = RF_SPAN("1") },
				     { .name = RF_SPAN("X-Amz-A"), .value = RF_SPAN("2") } };
	char query[600 * 2];
	RF_AUTO_BUF struct rf_buf out;
	struct rf_aws_sign what = {
		.service = RF_SPAN("s"),
		.method = RF_SPAN("GET"),
		.host = RF_SPAN("h"),
		.path = RF_SPAN("/"),
		.secret = RF_SPAN("k"),
		.date = RF_SPAN("20150830T123600Z"),
	};

	rf_buf_init(&out, 10000);
	RF_CHECK(rf_aws_sign_format(&what, &out, &err) == 0, "%s", err.msg);
	what.fields = (struct rf_fields){ .at = twice, .count = 2 };
	RF_CHECK(rf_aws_sign_format(&what, &out, &err) < 0, "a field twice");
	what.fields.count = 1;
	for (size_t i = 0; i < sizeof(query); i++)
		query[i] = i % 2 ? '&' : 'a';
	what.query = (struct rf_span){ query, sizeof(query) };
	RF_CHECK(rf_aws_sign_format(&what, &out, &err) < 0, "too many parameters");
	what.query.len = 0;
	what.secret.len = 0;
	RF_CHECK(rf_aws_sign_format(&what, &out, &err) < 0, "no secret");
}
