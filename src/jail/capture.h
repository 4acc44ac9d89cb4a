/*
 * Capture: a network namespace in which every address leads to a few sockets, which are handed out of it.
 *
 * rf_capture_make() is called by whoever is in a fresh network namespace and has every right over it: the hands,
 * which share the launcher's memory, errno and descriptors, or the child that raises the walls.  So it makes
 * system calls directly, sets no errno and allocates nothing.  From the hands the sockets are the launcher's
 * at once; the child sends them (rf_capture_send()), and the launcher takes them (rf_capture_take()).
 *
 * capture.c tells how it works.
 */
#ifndef RF_JAIL_CAPTURE_H
#define RF_JAIL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/gate.h"

#define RF_CAPTURE_PORTS 32 /* listeners, where each port has its own */
#define RF_CAPTURE_STOCK 16 /* sockets to connect to published ports with, at most */

/* Where things are inside.  Ports below 1024 can't be taken by a program of the box. */
#define RF_CAPTURE_PORT       1 /* of the transparent listener, on every address */
#define RF_CAPTURE_DNS_PORT   53
#define RF_CAPTURE_PROXY      "127.0.0.1"
#define RF_CAPTURE_PROXY_PORT 1000

struct rf_capture_wish {
	uint16_t ports[RF_CAPTURE_PORTS +
		       1]; /* that programs may want, for kernels without nftables */
	size_t port_count;
	size_t stock_count;
	bool without_nftables; /* as on such a kernel: for tests and the doctor */
};

/* Sockets are -1 where there is none. */
struct rf_capture {
	int lines[RF_LINE_COUNT];
	int ports
		[RF_CAPTURE_PORTS]; /* further listeners like RF_LINE_TCP, where each port has its own */
	int stock[RF_CAPTURE_STOCK];
	uint16_t numbers[RF_CAPTURE_PORTS]; /* theirs */
	size_t port_count, stock_count;
	bool has_nftables; /* all ports are captured, and not only those that were wished */
	const char *what;  /* could not be done */
};

void rf_capture_init(struct rf_capture *capture);

/*
 * Switches loopback on, lays the routes and rules and makes the sockets, in the network namespace that we are in.  Returns 0
 * or a negative errno, with `what` set and every socket closed.
 */
long rf_capture_make(const struct rf_capture_wish *wish, struct rf_capture *capture);

/* Sends all sockets over `channel` (SOCK_SEQPACKET), and takes them from it at the other end.  Close what they gave with _done(). */
int rf_capture_send(const struct rf_capture *capture, int channel, struct rf_err *err);
int rf_capture_take(struct rf_capture *capture, int channel, struct rf_err *err);

/* Closes the sockets. */
void rf_capture_done(struct rf_capture *capture);

#endif
