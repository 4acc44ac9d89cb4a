/* Attacks over the network, and the kinds of sockets that have a history. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"

/* TYPE ADDRESS PORT: says something, and listens for the answer */
static int talk(char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(args[2])) };
	const struct timeval wait = { .tv_sec = 2 };
	int fd = socket(AF_INET, args[0][0] == 't' ? SOCK_STREAM : SOCK_DGRAM, 0);

	if (fd < 0 || inet_pton(AF_INET, args[1], &to.sin_addr) != 1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ||
	    send(fd, "overwritten", 11, MSG_NOSIGNAL) < 0)
		return -errno;
	return attack_read(fd);
}

/* FAMILY TYPE PROTOCOL, as numbers: can such a socket be had? */
static int make_socket(char **args)
{
	return attack_result(socket(atoi(args[0]), atoi(args[1]), atoi(args[2])));
}

const struct attack attack_network[] = {
	{ "talk", talk },
	{ "socket", make_socket },
	{ NULL, NULL },
};
