/* The program that tries attacks: see attack.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

int attack_starter, attack_main;

static char loot[256];

void attack_loot(const char *text)
{
	snprintf(loot, sizeof(loot), " %s", text);
}

int attack_read(int fd)
{
	char text[sizeof(loot)];
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	if (len < 0) {
		int code = -errno;

		close(fd);
		return code;
	}
	close(fd);
	if (len == 0)
		return -ENODATA;
	text[len] = '\0';
	for (ssize_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			text[i] = '.';
	attack_loot(text);
	return 0;
}

int attack_result(long result)
{
	return result < 0 ? -errno : 0;
}

int attack_reached(long result)
{
	if (result >= 0)
		return 0;
	if (errno == EPERM || errno == EACCES || errno == ENOSYS)
		return -errno;
	attack_loot(strerrorname_np(errno));
	return 0;
}

static const struct attack *find(const char *name)
{
	static const struct attack *const families[] = {
		attack_files,   attack_setid,  attack_mounts,   attack_processes, attack_ipc,
		attack_network, attack_kernel, attack_terminal, attack_programs,  attack_alone,
		attack_routes,  attack_hidden, attack_reach,    attack_facts,     attack_surface,
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		for (const struct attack *attack = families[i]; attack->name; attack++)
			if (strcmp(attack->name, name) == 0)
				return attack;
	return NULL;
}

/* In a child, so that there is somebody to tell of its death. */
int main(int argc, char **argv)
{
	const struct attack *attack = argc > 1 ? find(argv[1]) : NULL;
	int status;
	pid_t pid;

	if (!attack) {
		fprintf(stderr, "usage: attack NAME [ARGUMENTS]\n");
		return 2;
	}
	attack_starter = getppid();
	attack_main = getpid();
	pid = fork();
	if (pid == 0) {
		int code = attack->run(argv + 2);

		if (code < 0)
			printf("refused %s\n", strerrorname_np(-code));
		else
			printf("escaped%s\n", loot);
		fflush(stdout);
		_exit(0);
	}
	signal(SIGTERM, SIG_IGN); /* signal-all means others */
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFSIGNALED(status))
		printf("killed SIG%s\n", sigabbrev_np(WTERMSIG(status)));
	return 0;
}
