/* The path of a URL, in the one form that rules compare: src/http/url-path.c. */
#include <stdlib.h>

#include "base/fd.h"
#include "harness.h"
#include "http/url-path.h"

#define DOTS      RF_URL_PATH_DOTS
#define EMPTY     RF_URL_PATH_EMPTY_SEGMENT
#define SLASH     RF_URL_PATH_CODED_SLASH
#define BACKSLASH RF_URL_PATH_CODED_BACKSLASH
#define PERCENT   RF_URL_PATH_CODED_PERCENT
#define PARAMETER RF_URL_PATH_PARAMETER

RF_TEST(a_path_has_one_form)
{
	/* clang-format off */
	static const struct { const char *path, *form; unsigned odd; } cases[] = {
		{ "", "/", 0 },
		{ "/", "/", 0 },
		{ "/a/b", "/a/b", 0 },
		{ "/a/b/", "/a/b/", 0 },
		{ "/%61%2D%2e%5f%7E", "/a-._~", 0 },
		{ "/A", "/A", 0 }, /* case is the path's own */
		{ "/%41%7a", "/Az", 0 },
		{ "/!$&'()*+,:=@", "/!$&'()*+,:=@", 0 },
		{ "/%21%24%26%27%28%29%2a%2B%2c%3A%3d%40", "/!$&'()*+,:=@", 0 },
		{ "/[x]{y}|^`", "/%5Bx%5D%7By%7D%7C%5E%60", 0 },
		{ "/%5bx%5d", "/%5Bx%5D", 0 },
		{ "/a%20b", "/a%20b", 0 },
		{ "/%22%3c%3e", "/%22%3C%3E", 0 },
		{ "/%3f%23", "/%3F%23", 0 },
		{ "/b%c3%bc%E2%82%ac%f0%9f%98%80", "/b%C3%BC%E2%82%AC%F0%9F%98%80", 0 },
		/* Dots. */
		{ "/.", "/", DOTS }, { "/./", "/", DOTS }, { "/a/.", "/a/", DOTS }, { "/a/./b", "/a/b", DOTS },
		{ "/a/..", "/", DOTS }, { "/a/../", "/", DOTS }, { "/a/../b", "/b", DOTS }, { "/a/b/../../c", "/c", DOTS },
		{ "/a/%2e%2E/b", "/b", DOTS }, { "/a/.%2e/b", "/b", DOTS }, { "/a/%2e/b", "/a/b", DOTS },
		{ "/...", "/...", 0 }, { "/.a", "/.a", 0 }, { "/a..", "/a..", 0 }, { "/..a/b", "/..a/b", 0 },
		/* What servers read in different ways is told. */
		{ "//", "//", EMPTY }, { "//a", "//a", EMPTY }, { "/a//b", "/a//b", EMPTY }, { "/a//..", "/a/", EMPTY | DOTS },
		{ "/a%2fb", "/a%2Fb", SLASH }, { "/a%2Fb", "/a%2Fb", SLASH }, { "/..%2fb", "/..%2Fb", SLASH },
		{ "/a%5cb", "/a%5Cb", BACKSLASH }, { "/..%5C..", "/..%5C..", BACKSLASH },
		{ "/%252e%252e/", "/%252e%252e/", PERCENT }, { "/%25", "/%25", PERCENT },
		{ "/a;b=c/d", "/a;b=c/d", PARAMETER }, { "/a%3bb", "/a%3Bb", 0 }, { "/;", "/;", PARAMETER },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_span path = rf_span_of(cases[i].path);
		char text[256], again[256];
		struct rf_url_path form = { 0 }, same = { 0 };
		enum rf_fault fault =
			rf_url_path_read(path, text, RF_URL_PATH_ROOM(path.len + 1), &form);

		RF_CHECK(!fault && rf_span_is(form.text, rf_span_of(cases[i].form)) &&
				 form.odd == cases[i].odd,
			 "%s: %.*s, odd %u, %s", cases[i].path, RF_SPAN_ARG(form.text), form.odd,
			 rf_fault_words(fault));
		RF_CHECK(!rf_url_path_read(form.text, again, sizeof(again), &same) &&
				 rf_span_is(form.text, same.text),
			 "%s is not its own form", cases[i].form);
	}
}

RF_TEST(a_path_that_means_several_things_is_refused)
{
	/* clang-format off */
	static const struct { const char *path; enum rf_fault fault; } cases[] = {
		{ "a", RF_FAULT_TARGET_FORM }, { "*", RF_FAULT_TARGET_FORM }, { "%2f", RF_FAULT_TARGET_FORM },
		{ "/%", RF_FAULT_PATH_PERCENT }, { "/%2", RF_FAULT_PATH_PERCENT }, { "/%g0", RF_FAULT_PATH_PERCENT },
		{ "/%0g", RF_FAULT_PATH_PERCENT }, { "/%u002f", RF_FAULT_PATH_PERCENT }, { "/%2/f", RF_FAULT_PATH_PERCENT },
		{ "/%%32f", RF_FAULT_PATH_PERCENT }, { "/%-1", RF_FAULT_PATH_PERCENT }, { "/% 2f", RF_FAULT_PATH_PERCENT },
		{ "/%00", RF_FAULT_PATH_CONTROL }, { "/a%00.png", RF_FAULT_PATH_CONTROL }, { "/%0d%0a", RF_FAULT_PATH_CONTROL },
		{ "/%09", RF_FAULT_PATH_CONTROL }, { "/%7f", RF_FAULT_PATH_CONTROL }, { "/%1b", RF_FAULT_PATH_CONTROL },
		{ "/..", RF_FAULT_PATH_DOTS }, { "/../a", RF_FAULT_PATH_DOTS }, { "/a/../..", RF_FAULT_PATH_DOTS },
		{ "/./..", RF_FAULT_PATH_DOTS }, { "/%2e%2e/", RF_FAULT_PATH_DOTS },
		{ "/a/..;/b", RF_FAULT_PATH_DOTS }, { "/a/..;x=y/b", RF_FAULT_PATH_DOTS }, { "/a/.;/b", RF_FAULT_PATH_DOTS },
		{ "/a/%2e%2e;/b", RF_FAULT_PATH_DOTS },
		{ "/%c0%af", RF_FAULT_PATH_UTF8 }, { "/%c0%ae%c0%ae/", RF_FAULT_PATH_UTF8 }, { "/%e0%80%af", RF_FAULT_PATH_UTF8 },
		{ "/%ff", RF_FAULT_PATH_UTF8 }, { "/%80", RF_FAULT_PATH_UTF8 }, { "/%c3", RF_FAULT_PATH_UTF8 },
		{ "/%c3/%bc", RF_FAULT_PATH_UTF8 }, { "/%c3x", RF_FAULT_PATH_UTF8 }, { "/%ed%a0%80", RF_FAULT_PATH_UTF8 },
		{ "/%f4%90%80%80", RF_FAULT_PATH_UTF8 }, { "/%e2%82%2f", RF_FAULT_PATH_UTF8 },
		{ "/a b", RF_FAULT_TARGET_OCTET }, { "/\\", RF_FAULT_TARGET_OCTET }, { "/\xc3\xbc", RF_FAULT_TARGET_OCTET },
		{ "/a#b", RF_FAULT_TARGET_OCTET }, { "/\"", RF_FAULT_TARGET_OCTET },
	};
	/* clang-format on */

	for (size_t i = 0; i < RF_LEN(cases); i++) {
		struct rf_url_path path;
		char text[256];
		enum rf_fault fault =
			rf_url_path_read(rf_span_of(cases[i].path), text, sizeof(text), &path);

		RF_CHECK(fault == cases[i].fault, "%s: %s", cases[i].path, rf_fault_words(fault));
	}
}

RF_TEST(a_path_without_room_is_refused_and_stays_in_it)
{
	struct rf_span path = RF_SPAN("/a{b/../%c3%bc");
	struct rf_url_path form;

	for (size_t room = 0; room <= RF_URL_PATH_ROOM(path.len); room++) {
		char *text = malloc(room ? room : 1); /* exactly as large: a sanitizer watches */
		enum rf_fault fault;

		RF_REQUIRE(text, "no memory");
		fault = rf_url_path_read(path, text, room, &form);
		RF_CHECK(fault == (room < 9 ? RF_FAULT_PATH_LONG : RF_FAULT_NONE), "room %zu: %s",
			 room, rf_fault_words(fault));
		free(text);
	}
}
