/* TCP ports: see port.h. */
#include "server/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define BACKLOG 4096

static int fail_form(const char *text, struct rf_err *err)
{
	rf_fail_say(err, -EINVAL, "--listen: `%.60s` is no address and port", text);
	return rf_fail_hint(err, "for example: 127.0.0.1:7070, or [::1]:7070");
}

int rf_port_parse(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_len,
		  struct rf_err *err)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret_address;
	const char *colon = strrchr(text, ':');
	char host[64], *end = NULL;
	size_t len = colon ? (size_t)(colon - text) : sizeof(host);
	long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtol(colon + 1, &end, 10) : -1;

	memset(ret_address, 0, sizeof(*ret_address));
	if (len >= sizeof(host) || !end || *end || port < 0 || port > 65535)
		return fail_form(text, err);
	memcpy(host, text, len);
	host[len] = '\0';
	if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*six);
		return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1 ? 0
									   : fail_form(text, err);
	}
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)port);
	*ret_len = sizeof(*four);
	return inet_pton(AF_INET, host, &four->sin_addr) == 1 ? 0 : fail_form(text, err);
}

int rf_port_open(const char *text, int *ret_fd, struct rf_err *err)
{
	struct sockaddr_storage address;
	RF_AUTO_FD int fd = -1;
	const int on = 1;
	socklen_t len = 0;

	if (rf_port_parse(text, &address, &len, err) < 0)
		return err->code;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return rf_fail(err, -errno, "--listen %s", text);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0) {
		rf_fail(err, -errno, "--listen %s", text);
		return rf_fail_hint(err, "choose a free port, or 0 for any");
	}
	*ret_fd = rf_fd_take(&fd);
	return 0;
}

const char *rf_port_name(int fd, char *text, size_t size)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = { 0 };
	socklen_t len = sizeof(address);
	char host[64] = "?";

	getsockname(fd, &address.any, &len);
	if (address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address.six.sin6_addr, host, sizeof(host));
		snprintf(text, size, "[%s]:%u", host, ntohs(address.six.sin6_port));
	} else {
		inet_ntop(AF_INET, &address.four.sin_addr, host, sizeof(host));
		snprintf(text, size, "%s:%u", host, ntohs(address.four.sin_port));
	}
	return text;
}
