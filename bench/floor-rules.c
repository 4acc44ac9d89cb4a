/* The Landlock rules of bench/floor's boxes: see floor.h. */
#include "floor.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/kernel.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Rights on files, of landlock.h; what an older kernel does not know is left out. */
#define READ    0x000cu
#define EXECUTE 0x0001u
#define CHANGE  0x77b2u /* and make, remove, rename; no devices */
#define WRITE   0x4002u
#define CONTROL 0x8000u

/* clang-format off */
static struct rule {
	const char *path;
	uint32_t rights;
	bool is_own; /* of each box; else opened once */
	int fd;
} rules[] = {
	{ "/",         0x0008,                    false, -1 },
	{ NULL,        0x0004 | EXECUTE,          false, -1 }, /* pid 1 */
	{ "/usr",      READ | EXECUTE,            false, -1 },
	{ "/etc",      READ,                      false, -1 },
	{ "/dev",      READ | WRITE | CONTROL,    false, -1 },
	{ "/sys",      READ,                      false, -1 },
	{ "/home",     READ,                      false, -1 },
	{ "/var",      READ,                      false, -1 },
	{ FLOOR_WORK,  READ | EXECUTE,            false, -1 },
	{ "/dev/shm",  READ | EXECUTE | CHANGE,   true,  -1 },
	{ "/proc",     READ | WRITE,              true,  -1 },
	{ "/tmp",      READ | EXECUTE | CHANGE,   true,  -1 },
	{ "/run",      READ | EXECUTE | CHANGE,   true,  -1 },
	{ "/home/box", READ | EXECUTE | CHANGE,   true,  -1 },
	{ "/var/tmp",  READ | EXECUTE | CHANGE,   true,  -1 },
};
/* clang-format on */

static int abi; /* what the kernel knows of it */

/* A rule is on what a name leads to now, so those on a box's own mounts can't be made beforehand. */
void floor_rules_open(int init)
{
	abi = (int)syscall(RF_NR_LANDLOCK_NEW, NULL, 0, 1);
	floor_must(abi, "Landlock");
	for (size_t i = 0; i < LEN(rules); i++)
		if (rules[i].path && !rules[i].is_own)
			floor_must(rules[i].fd = open(rules[i].path, O_PATH | O_CLOEXEC),
				   rules[i].path);
	rules[1].fd = init;
}

static uint64_t known_rights(void)
{
	return (1u << (abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13)) - 1;
}

void floor_rules_enforce(bool has_loopback)
{
	const struct {
		uint64_t fs, net, scoped;
	} attr = { known_rights(), has_loopback ? 0 : 3, 3 };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	int ruleset = (int)syscall(RF_NR_LANDLOCK_NEW, &attr, size, 0);

	floor_must(ruleset, "a Landlock ruleset");
	for (size_t i = 0; i < LEN(rules); i++) {
		struct {
			uint64_t allowed;
			int32_t parent;
		} __attribute__((packed)) beneath = { rules[i].rights & attr.fs, rules[i].fd };

		if (rules[i].is_own)
			floor_must(beneath.parent = open(rules[i].path, O_PATH | O_CLOEXEC),
				   rules[i].path);
		floor_must(syscall(RF_NR_LANDLOCK_RULE, ruleset, 1, &beneath, 0),
			   "a Landlock rule");
		if (rules[i].is_own)
			close(beneath.parent);
	}
	floor_must(syscall(RF_NR_LANDLOCK_SELF, ruleset, 0), "Landlock");
	close(ruleset);
}
