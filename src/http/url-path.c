/* The path of a URL, in the one form that rules compare: see url-path.h. */
#include "http/url-path.h"

#include "base/rune.h"
#include "http/octet.h"

struct writer {
	char *text;
	size_t len, room;
	bool is_full;
	unsigned odd;
};

static void put(struct writer *out, char octet)
{
	if (out->len == out->room) {
		out->is_full = true;
		return;
	}
	out->text[out->len++] = octet;
}

static void put_coded(struct writer *out, uint8_t octet)
{
	static const char digits[] = "0123456789ABCDEF";

	put(out, '%');
	put(out, digits[octet >> 4]);
	put(out, digits[octet & 15]);
}

/* True for what stands for itself: it divides nothing, and all servers read it alike, coded or not. */
static bool is_itself(char octet)
{
	return rf_octet_is(octet, RF_OCTET_PLAIN) || (octet && strchr("!$&'()*+,:=@", octet));
}

/* Takes one octet off the text, decoded; `*ret_coded` says whether it was coded. */
static enum rf_fault take(struct rf_span *rest, char *ret_octet, bool *ret_coded)
{
	*ret_coded = rest->at[0] == '%';
	*ret_octet = rest->at[0];
	if (!*ret_coded) {
		*rest = rf_span_part(*rest, 1, rest->len);
		return rf_octet_is(*ret_octet, RF_OCTET_TARGET) ? RF_FAULT_NONE
								: RF_FAULT_TARGET_OCTET;
	}
	if (rest->len < 3 || !rf_octet_is(rest->at[1], RF_OCTET_HEX) ||
	    !rf_octet_is(rest->at[2], RF_OCTET_HEX))
		return RF_FAULT_PATH_PERCENT;
	*ret_octet = (char)(rf_octet_hex(rest->at[1]) << 4 | rf_octet_hex(rest->at[2]));
	*rest = rf_span_part(*rest, 3, rest->len);
	return RF_FAULT_NONE;
}

/* An octet of ASCII.  What divides, or did once, stays as it was written. */
static enum rf_fault put_ascii(struct writer *out, char octet, bool is_coded)
{
	if (!rf_octet_is(octet, RF_OCTET_TEXT) || octet == '\t')
		return RF_FAULT_PATH_CONTROL;
	if (octet == ';' && !is_coded) {
		out->odd |= RF_URL_PATH_PARAMETER;
		put(out, octet);
		return RF_FAULT_NONE;
	}
	if (octet == '/')
		out->odd |= RF_URL_PATH_CODED_SLASH;
	if (octet == '\\')
		out->odd |= RF_URL_PATH_CODED_BACKSLASH;
	if (octet == '%')
		out->odd |= RF_URL_PATH_CODED_PERCENT;
	if (is_itself(octet))
		put(out, octet);
	else
		put_coded(out, (uint8_t)octet);
	return RF_FAULT_NONE;
}

/* A character beyond ASCII, which begins with `first`: the rest of it must follow at once. */
static enum rf_fault put_rune(struct writer *out, char first, struct rf_span *rest)
{
	char octets[4] = { first };
	uint32_t rune;
	size_t count = 1;

	while (rf_rune_take(octets, count, &rune) == 0) {
		bool is_coded;

		if (count == sizeof(octets) || rest->len == 0 ||
		    take(rest, &octets[count++], &is_coded))
			return RF_FAULT_PATH_UTF8;
	}
	for (size_t i = 0; i < count; i++)
		put_coded(out, (uint8_t)octets[i]);
	return RF_FAULT_NONE;
}

static enum rf_fault put_segment(struct writer *out, struct rf_span segment)
{
	enum rf_fault fault = RF_FAULT_NONE;
	bool is_coded;
	char octet;

	while (!fault && segment.len > 0) {
		fault = take(&segment, &octet, &is_coded);
		if (fault)
			return fault;
		fault = (uint8_t)octet < 0x80 ? put_ascii(out, octet, is_coded)
					      : put_rune(out, octet, &segment);
	}
	return fault;
}

/* How many dots a segment in its form is, without a parameter; 0 for any other. */
static size_t count_dots(struct rf_span segment)
{
	struct rf_span name = rf_span_part(segment, 0, rf_span_find(segment, ';'));

	return rf_span_is(name, RF_SPAN(".")) || rf_span_is(name, RF_SPAN("..")) ? name.len : 0;
}

/* Takes the last segment off what is written: up to and with the slash before it. */
static void drop_segment(struct writer *out)
{
	do
		out->len--;
	while (out->text[out->len] != '/');
}

/* What was written behind the slash at `from` is a whole segment. */
static enum rf_fault end_segment(struct writer *out, size_t from, bool is_last)
{
	struct rf_span segment = { out->text + from + 1, out->len - from - 1 };
	size_t dots = count_dots(segment);

	if (segment.len == 0 && !is_last)
		out->odd |= RF_URL_PATH_EMPTY_SEGMENT;
	if (dots == 0)
		return RF_FAULT_NONE;
	if (segment.len > dots)
		return RF_FAULT_PATH_DOTS;
	out->odd |= RF_URL_PATH_DOTS;
	out->len = from;
	if (dots == 2) {
		if (from == 0)
			return RF_FAULT_PATH_DOTS;
		drop_segment(out);
	}
	if (is_last)
		put(out, '/');
	return RF_FAULT_NONE;
}

enum rf_fault rf_url_path_read(struct rf_span path, char *text, size_t room,
			       struct rf_url_path *ret_path)
{
	struct writer out = { .text = text, .room = room };
	enum rf_fault fault;

	if (path.len == 0)
		path = RF_SPAN("/");
	if (path.at[0] != '/')
		return RF_FAULT_TARGET_FORM;
	while (path.len > 0) {
		size_t from = out.len, len;

		path = rf_span_part(path, 1, path.len); /* the slash */
		put(&out, '/');
		len = rf_span_find(path, '/');
		fault = put_segment(&out, rf_span_part(path, 0, len));
		path = rf_span_part(path, len, path.len);
		if (!fault && out.is_full)
			fault = RF_FAULT_PATH_LONG;
		if (!fault)
			fault = end_segment(&out, from, path.len == 0);
		if (fault)
			return fault;
	}
	*ret_path = (struct rf_url_path){ { out.text, out.len }, out.odd };
	return RF_FAULT_NONE;
}
