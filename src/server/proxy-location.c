/* Addresses that a program behind a port names: see proxy-location.h. */
#include "server/proxy-location.h"

#include "http/octet.h"
#include "http/url-path.h"

/* An address in its parts, as RFC 3986 divides it: path, query and fragment are spans of it. */
struct parts {
	struct rf_span path, query, fragment; /* query and fragment with their first octet */
};

static struct parts divide(struct rf_span place)
{
	size_t hash = rf_span_find(place, '#');
	struct rf_span before = rf_span_part(place, 0, hash);
	size_t mark = rf_span_find(before, '?');

	return (struct parts){ .path = rf_span_part(before, 0, mark),
			       .query = rf_span_part(before, mark, before.len),
			       .fragment = rf_span_part(place, hash, place.len) };
}

/* Browsers drop tabs and ends of lines from an address, and take a backslash for a slash: such an address is two. */
static bool is_plain(struct rf_span place)
{
	for (size_t i = 0; i < place.len; i++)
		if (!rf_octet_is(place.at[i], RF_OCTET_TEXT) || place.at[i] == '\t' ||
		    place.at[i] == '\\')
			return false;
	return true;
}

/* A colon before any other divider ends a scheme. */
static bool has_scheme(struct rf_span place)
{
	for (size_t i = 0; i < place.len; i++)
		if (strchr(":/?#", place.at[i]) && place.at[i])
			return place.at[i] == ':';
	return false;
}

static bool is_loopback(const struct rf_host *host)
{
	return strcmp(host->text, "localhost") == 0 || strcmp(host->text, "127.0.0.1") == 0 ||
	       strcmp(host->text, "::1") == 0;
}

static bool begins_with_prefix(const char *prefix, struct rf_span path)
{
	size_t len = strlen(prefix);

	return path.len > len && memcmp(path.at, prefix, len) == 0 && path.at[len] == '/';
}

/* What of a path follows the prefix, where a program that heeds X-Forwarded-Prefix has put it in front itself. */
static struct rf_span without_prefix(const char *prefix, struct rf_span path)
{
	if (begins_with_prefix(prefix, path))
		return rf_span_part(path, strlen(prefix), path.len);
	return path;
}

/* A whole URL: of the sandbox's loopback, or of this server beneath the prefix.  Gives the path as the program knows it. */
static bool read_url(const struct rf_proxy_location_base *base, struct rf_span place,
		     struct rf_span *ret_path)
{
	struct rf_url url;
	uint16_t own_port;

	if (rf_url_parse(place, &url) != RF_FAULT_NONE)
		return false;
	if (url.scheme == RF_URL_HTTP && url.authority.port == base->port &&
	    is_loopback(&url.authority.host)) {
		*ret_path = without_prefix(base->prefix, url.path.len ? url.path : RF_SPAN("/"));
		return true;
	}
	own_port = base->authority.port ? base->authority.port : rf_url_port(url.scheme);
	if (base->authority.host.len == 0 || url.authority.port != own_port ||
	    !rf_host_is_same(&url.authority.host, &base->authority.host) ||
	    !begins_with_prefix(base->prefix, url.path))
		return false;
	*ret_path = without_prefix(base->prefix, url.path);
	return true;
}

/* Appends; what no path may have but programs write all the same (a space, what is not ASCII) is percent-coded. */
static size_t put_coded(char *text, size_t len, struct rf_span from)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < from.len; i++) {
		unsigned char octet = (unsigned char)from.at[i];

		if (octet <= ' ' || octet > '~' || octet == '"' || octet == '<' || octet == '>') {
			text[len++] = '%';
			text[len++] = digits[octet >> 4];
			text[len++] = digits[octet & 15];
		} else {
			text[len++] = from.at[i];
		}
	}
	return len;
}

/* The prefix, `folder` and `path` behind it in one form, and the rest. */
static bool compose(const struct rf_proxy_location_base *base, struct rf_span folder,
		    const struct parts *parts, struct rf_arena *memory, struct rf_span *ret_path)
{
	size_t most = 3 * (folder.len + parts->path.len), prefix = strlen(base->prefix), len = 0;
	size_t rest = 3 * (parts->query.len + parts->fragment.len);
	char *joined = rf_arena_alloc(memory, most + 1);
	size_t room = RF_URL_PATH_ROOM(most) + 1;
	char *text = rf_arena_alloc(memory, prefix + room + rest + 1);
	struct rf_url_path form;

	if (!joined || !text)
		return false;
	len = put_coded(joined, len, folder);
	len = put_coded(joined, len, parts->path);
	if (rf_url_path_read((struct rf_span){ joined, len }, text + prefix, room, &form) !=
	    RF_FAULT_NONE)
		return false;
	/* "..%2F..": a proxy between the client and this server may decode it, and resolve it then. */
	if (form.odd & (RF_URL_PATH_CODED_SLASH | RF_URL_PATH_CODED_BACKSLASH |
			RF_URL_PATH_CODED_PERCENT) &&
	    memmem(form.text.at, form.text.len, "..", 2))
		return false;
	memcpy(text, base->prefix, prefix);
	len = put_coded(text, prefix + form.text.len, parts->query);
	len = put_coded(text, len, parts->fragment);
	*ret_path = (struct rf_span){ text, len };
	return true;
}

bool rf_proxy_location_read(const struct rf_proxy_location_base *base, struct rf_span place,
			    struct rf_arena *memory, struct rf_span *ret_path)
{
	struct parts parts = divide(place), asked = divide(base->target);
	struct rf_span folder = { NULL, 0 }, path;
	size_t slash = asked.path.len;

	if (!is_plain(place))
		return false;
	if (has_scheme(place)) {
		/* rf_url_parse() knows no fragment. */
		if (!read_url(base, rf_span_part(place, 0, place.len - parts.fragment.len), &path))
			return false;
		parts.path = path;
	} else if (parts.path.len > 1 && parts.path.at[0] == '/' && parts.path.at[1] == '/') {
		return false; /* "//host/": a host of its own */
	} else if (parts.path.len > 0 && parts.path.at[0] == '/') {
		parts.path = without_prefix(base->prefix, parts.path);
	} else if (parts.path.len > 0) {
		while (slash > 0 && asked.path.at[slash - 1] != '/')
			slash--;
		folder = rf_span_part(asked.path, 0, slash);
	} else {
		parts.path = asked.path;
		if (parts.query.len == 0)
			parts.query = asked.query;
	}
	return compose(base, folder, &parts, memory, ret_path);
}

bool rf_proxy_location_is_bare_refresh(struct rf_span refresh)
{
	for (size_t i = 0; i < refresh.len; i++)
		if (!rf_octet_is(refresh.at[i], RF_OCTET_DIGIT) && refresh.at[i] != '.')
			return false;
	return refresh.len > 0;
}
