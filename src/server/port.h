/* TCP ports that a server listens on: "127.0.0.1:7070", "[::1]:7070". */
#ifndef RF_SERVER_PORT_H
#define RF_SERVER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

/* Reads an address and a port; no name, and nothing left out. */
int rf_port_parse(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_len,
		  struct rf_err *err);

/* Listens there.  Gives `*ret_fd`, which does not block. */
int rf_port_open(const char *text, int *ret_fd, struct rf_err *err);

/* Where a socket listens, in the same form; `text` itself. */
const char *rf_port_name(int fd, char *text, size_t size);

#endif
