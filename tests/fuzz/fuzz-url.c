/*
 * A URL: what is read at all has a host that is its own form, a path whose form is its own, and nothing in either that could be read in
 * another way.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "http/octet.h"
#include "http/url-path.h"
#include "http/url.h"
#include "replay.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_host(const struct rf_host *host)
{
	struct rf_host again;
	char bracketed[RF_HOST_TEXT + 3];

	require(host->len > 0 && host->len <= RF_HOST_TEXT && host->text[host->len] == '\0');
	for (size_t i = 0; i < host->len; i++)
		require(rf_octet_is(host->text[i], RF_OCTET_LABEL) || host->text[i] == '.' ||
			(host->kind == RF_HOST_IPV6 && host->text[i] == ':'));
	require(host->text[host->len - 1] != '.');
	bracketed[0] = '[';
	memcpy(bracketed + 1, host->text, host->len);
	bracketed[host->len + 1] = ']';
	require(!rf_host_parse(host->kind == RF_HOST_IPV6
				       ? (struct rf_span){ bracketed, host->len + 2u }
				       : (struct rf_span){ host->text, host->len },
			       &again) &&
		rf_host_is_same(host, &again));
}

static void check_path(struct rf_span path)
{
	size_t room = RF_URL_PATH_ROOM(path.len + 1);
	char *text = malloc(room), *other = malloc(room * 3);
	struct rf_url_path form, again;

	require(text && other);
	if (!rf_url_path_read(path, text, room, &form)) {
		require(form.text.len > 0 && form.text.at[0] == '/');
		require(!rf_url_path_read(form.text, other, room * 3, &again) &&
			rf_span_is(form.text, again.text) && (again.odd & ~form.odd) == 0 &&
			!(again.odd & RF_URL_PATH_DOTS));
	}
	free(text);
	free(other);
}

RF_FUZZ(data, size)
{
	struct rf_span text = { (const char *)data, size };
	struct rf_url url;

	if (size > 4096)
		return 0;
	if (!rf_url_parse(text, &url)) {
		require(url.authority.port > 0);
		check_host(&url.authority.host);
		check_path(url.path);
	}
	check_path(text);
	return 0;
}
