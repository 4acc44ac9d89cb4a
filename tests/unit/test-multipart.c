/* A body of multipart/form-data: src/server/multipart.c. */
#include "server/multipart.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

/* What a body comes to, in words: "file a.txt:3 field:1 end", read in pieces of `piece` bytes. */
static const char *read_all(const char *type, const char *body, size_t len, size_t piece,
			    char text[1000])
{
	struct rf_multipart reader;
	size_t at = 0, there = 0, used, size = 0;

	text[0] = '\0';
	if (!rf_multipart_init(&reader, rf_span_of(type)))
		return "no type";
	for (int turns = 0; turns < 10000; turns++) {
		char *end = text + strlen(text);
		enum rf_multipart_event event = rf_multipart_next(
			&reader, (struct rf_span){ body + at, there - at }, &used);

		at += used;
		switch (event) {
		case RF_MULTIPART_MORE:
			if (there == len)
				return strcat(text, "cut");
			there = there + piece < len ? there + piece : len;
			break;
		case RF_MULTIPART_PART:
			size = 0;
			sprintf(end, "%s%.60s:", reader.is_file ? "file " : "field", reader.name);
			break;
		case RF_MULTIPART_DATA:
			size += reader.data.len;
			break;
		case RF_MULTIPART_PART_END:
			sprintf(end, "%zu ", size);
			break;
		case RF_MULTIPART_END:
			return strcat(text, "end");
		case RF_MULTIPART_BAD:
			return strcat(text, "bad");
		}
	}
	return "for ever";
}

#define TYPE "multipart/form-data; boundary=XX"
#define PART "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\n"

RF_TEST(a_body_is_read_alike_however_it_is_cut)
{
	/* clang-format off */
	static const struct { const char *type, *body, *wanted; } cases[] = {
		{ TYPE, "--XX\r\n" PART "abc\r\n--XX--\r\n",                              "file a.txt:3 end" },
		{ TYPE, "--XX\r\n" PART "\r\n--XX--",                                     "file a.txt:0 end" },
		{ TYPE, "--XX\r\n" PART "\r\n--X\r\n--X\r\n-\r\n--XX--",                  "file a.txt:13 end" },
		{ TYPE, "--XX\r\n" PART "abc\r\n--XX\r\nContent-Disposition: form-data; name=g\r\n\r\nv\r\n--XX--",
		  "file a.txt:3 field:1 end" },
		{ TYPE, "--XX\r\nContent-Type: text/plain\r\ncontent-disposition:form-data;filename=b\r\n\r\nv\r\n--XX--",
		  "file b:1 end" },
		{ TYPE, "--XX\r\nContent-Disposition: form-data; filename=\"a\\\"b\\\\c\"\r\n\r\n\r\n--XX--",    "file a\"b\\c:0 end" },
		{ TYPE, "--XX\r\nContent-Disposition: form-data; filename=\"a;b\"; name=x\r\n\r\n\r\n--XX--",   "file a;b:0 end" },
		{ "Multipart/Form-Data; charset=x; boundary=\"X X\"", "--X X\r\n" PART "abc\r\n--X X--",         "file a.txt:3 end" },
		{ TYPE, "--XX\r\n" PART "abc",                                            "file a.txt:cut" },
		{ TYPE, "--XX--",                                                         "end" },
		{ TYPE, "",                                                               "cut" },
		{ TYPE, "words\r\n--XX--",                                                "bad" },
		{ TYPE, "--XX\n" PART "abc\r\n--XX--",                                    "bad" },
		{ TYPE, "--XXY\r\n" PART "abc\r\n--XX--",                                 "bad" },
		{ TYPE, "--XX\r\nname: x\r\n\r\nabc\r\n--XX--",                           "bad" },
		{ TYPE, "--XX\r\nContent-Disposition: attachment; filename=x\r\n\r\nabc\r\n--XX--",              "bad" },
		{ TYPE, "--XX\r\nContent-Disposition: form-data; filename=\"x\r\n\r\nabc\r\n--XX--",             "bad" },
		{ TYPE, "--XX\r\nContent-Disposition: form-data; filename=x; filename=y\r\n\r\nabc\r\n--XX--",   "bad" },
		{ TYPE, "--XX\r\nContent-Disposition: form-data; filename=x\r\nContent-Disposition: form-data\r\n\r\n", "bad" },
		{ TYPE, "--XX\r\nContent-Disposition : form-data; filename=x\r\n\r\n",    "bad" },
		{ "multipart/form-data",                         "", "no type" },
		{ "multipart/form-data; boundary=",              "", "no type" },
		{ "multipart/form-data; boundary=\"\"",          "", "no type" },
		{ "multipart/form-data; boundary=a; boundary=b", "", "no type" },
		{ "multipart/form-data; boundary=\"a \"",        "", "no type" },
		{ "multipart/form-data boundary=a",              "", "no type" },
		{ "multipart/form-datas; boundary=a",            "", "no type" },
		{ "multipart/mixed; boundary=a",                 "", "no type" },
		{ "multipart/form-data; boundary=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", "no type" },
	};
	/* clang-format on */
	char text[1000];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 40; piece++) {
			const char *got = read_all(cases[i].type, cases[i].body,
						   strlen(cases[i].body), piece, text);

			RF_CHECK(strcmp(got, cases[i].wanted) == 0, "%zu, by %zu: %s", i, piece,
				 got);
		}
}

RF_TEST(a_head_and_the_parts_are_so_many_at_most)
{
	static char body[RF_MULTIPART_HEAD * 2], text[1000];
	struct rf_multipart reader;
	size_t used;
	int parts = 0;

	memset(body, 'x', sizeof(body));
	memcpy(body, "--XX\r\n", 6);
	RF_CHECK(strcmp(read_all(TYPE, body, sizeof(body), 100, text), "bad") == 0, "%s", text);
	rf_multipart_init(&reader, rf_span_of(TYPE));
	rf_multipart_next(&reader, rf_span_of("--XX\r\n"), &used);
	for (;; parts++) {
		if (rf_multipart_next(&reader, rf_span_of(PART), &used) != RF_MULTIPART_PART ||
		    rf_multipart_next(&reader, rf_span_of("\r\n--XX"), &used) !=
			    RF_MULTIPART_PART_END ||
		    rf_multipart_next(&reader, rf_span_of("\r\n"), &used) == RF_MULTIPART_BAD)
			break;
	}
	RF_CHECK(parts == RF_MULTIPART_PARTS - 1, "%d", parts);
}
