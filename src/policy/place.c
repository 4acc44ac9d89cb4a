/*
 * What every box holds.
 *
 * Of /etc a box gets what programs need to start, each row saying who, and nothing that is about
 * this machine's users, keys or services: no shadow, ssh, sudoers, no private keys.  Every place in
 * the table costs some ten microseconds at the start of a box, so a row has to earn its keep; what
 * only root could read is masked only where it would be dangerous in the hands of a box whose uid
 * owns it after all.
 */
#include "policy/place.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"

#define R RF_RIGHT_READ
#define W RF_RIGHT_WRITE
#define X RF_RIGHT_EXEC

/* clang-format off */
#define HOST(path, rights, why)   { RF_PLACE_HOST, path, path, rights, false, why, "default" }
#define SYSTEM(path, rights, why) { RF_PLACE_SYSTEM, path, path, rights, true, why, "default" }
#define DIR(path, why)            { RF_PLACE_DIR, path, NULL, R, false, why, "default" }
#define DEVICE(path, why)         { RF_PLACE_DEVICE, path, path, R | W, false, why, "default" }
#define LINK(path, to, why)       { RF_PLACE_LINK, path, to, R, false, why, "default" }
#define SCRATCH(path, why)        { RF_PLACE_SCRATCH, path, NULL, R | W | X, false, why, "default" }
#define MASK(path, why)           { RF_PLACE_MASK, path, NULL, 0, true, why, "default" }

const struct rf_place rf_place_table[] = {
	HOST("/usr", R | X,            "programs and libraries"),
	SYSTEM("/bin", R | X,          "programs, by their old path"),
	SYSTEM("/sbin", R | X,         "programs, by their old path"),
	SYSTEM("/lib", R | X,          "libraries, by their old path"),
	SYSTEM("/lib64", R | X,        "the dynamic loader"),
	SYSTEM("/lib32", R | X,        "libraries, by their old path"),
	SYSTEM("/libx32", R | X,       "libraries, by their old path"),

	DIR("/etc",                            "settings"),
	SYSTEM("/etc/ld.so.cache", R,          "the dynamic loader: where libraries are"),
	SYSTEM("/etc/ssl/certs", R,            "TLS: certificates of authorities"),
	SYSTEM("/etc/ssl/openssl.cnf", R,      "OpenSSL"),
	SYSTEM("/etc/ssl/cert.pem", R,         "TLS: certificates of authorities (Alpine, Arch)"),
	SYSTEM("/etc/ca-certificates/extracted", R,    "TLS: certificates of authorities (Arch)"),
	SYSTEM("/etc/pki/tls/certs", R,        "TLS: certificates of authorities (Fedora)"),
	SYSTEM("/etc/pki/tls/cert.pem", R,     "TLS: certificates of authorities (Fedora)"),
	SYSTEM("/etc/pki/tls/openssl.cnf", R,  "OpenSSL (Fedora)"),
	SYSTEM("/etc/pki/ca-trust", R,         "TLS: certificates of authorities (Fedora)"),
	SYSTEM("/etc/pki/java", R,             "Java: certificates of authorities (Fedora)"),
	SYSTEM("/etc/crypto-policies", R,      "OpenSSL and GnuTLS (Fedora)"),
	SYSTEM("/etc/alternatives", R | X,     "python, java, cc, awk: links to the chosen one"),
	SYSTEM("/etc/java-8-openjdk", R,       "Java: its settings, which /usr links to"),
	SYSTEM("/etc/java-11-openjdk", R,      "Java: its settings, which /usr links to"),
	SYSTEM("/etc/java-17-openjdk", R,      "Java: its settings, which /usr links to"),
	SYSTEM("/etc/java-21-openjdk", R,      "Java: its settings, which /usr links to"),
	SYSTEM("/etc/java-25-openjdk", R,      "Java: its settings, which /usr links to"),
	SYSTEM("/etc/R", R | X,                "R: its profile, which /usr links to"),
	SYSTEM("/etc/php", R,                  "PHP: which extensions to load"),
	SYSTEM("/etc/fonts", R,                "fontconfig: plots and documents"),
	SYSTEM("/etc/localtime", R,            "the local time"),
	SYSTEM("/etc/services", R,             "names of ports"),
	SYSTEM("/etc/mime.types", R,           "types of files by their names"),
	SYSTEM("/etc/os-release", R,           "installers: which distribution this is"),
	LINK("/etc/mtab", "/proc/self/mounts", "df(1) and others: what is mounted"),

	{ RF_PLACE_DIR, "/dev", NULL, R | W, false, "devices", "default" },
	DEVICE("/dev/null",                          "nothing"),
	DEVICE("/dev/zero",                          "zeros"),
	DEVICE("/dev/full",                          "a full disk"),
	DEVICE("/dev/random",                        "random numbers"),
	DEVICE("/dev/urandom",                       "random numbers"),
	DEVICE("/dev/tty",                           "the terminal, if there is one"),
	{ RF_PLACE_PTS, "/dev/pts", NULL, R | W, false, "terminals of the box's own", "default" },
	LINK("/dev/ptmx", "pts/ptmx",                "terminals of the box's own"),
	LINK("/dev/fd", "/proc/self/fd",             "shells: descriptors by name"),
	LINK("/dev/stdin", "/proc/self/fd/0",        "shells: descriptors by name"),
	LINK("/dev/stdout", "/proc/self/fd/1",       "shells: descriptors by name"),
	LINK("/dev/stderr", "/proc/self/fd/2",       "shells: descriptors by name"),
	SCRATCH("/dev/shm",                          "shared memory"),

	{ RF_PLACE_PROC, "/proc", NULL, R | W, false, "the box's own processes", "default" },
	{ RF_PLACE_LOCK, "/proc/sys", NULL, R, false, "settings of the kernel", "default" },
	MASK("/proc/sysrq-trigger", "acts on the host"),
	MASK("/proc/kcore",         "the host's memory"),
	MASK("/proc/kmsg",          "the host's kernel log"),
	MASK("/proc/kallsyms",      "addresses in the host's kernel"),
	MASK("/proc/modules",       "what the host's kernel is made of"),
	MASK("/proc/cmdline",       "how the host was booted, at times with secrets"),
	MASK("/proc/keys",          "keyrings of the host"),
	MASK("/proc/key-users",     "users of the host"),
	MASK("/proc/locks",         "files and processes of the host"),
	MASK("/proc/timer_list",    "processes of the host"),
	MASK("/proc/sched_debug",   "processes of the host"),
	MASK("/proc/latency_stats", "activity of the host"),
	MASK("/proc/interrupts",    "activity of the host: the rhythm of keys and packets"),
	MASK("/proc/acpi",          "acts on the host"),
	MASK("/proc/asound",        "devices of the host"),
	MASK("/proc/bus",           "devices of the host"),
	MASK("/proc/driver",        "devices of the host"),
	MASK("/proc/fs",            "file systems of the host"),
	MASK("/proc/irq",           "acts on the host"),
	MASK("/proc/pressure",      "activity of the host"),
	MASK("/proc/scsi",          "acts on the host"),
	DIR("/sys",                 "empty, for programs that look whether it is there"),

	SCRATCH("/tmp",      "temporary files"),
	SCRATCH("/run",      "sockets and locks of the box's own"),
	DIR("/home",         "homes"),
	SCRATCH("/home/box", "the home"),
	DIR("/var",          "where /var/tmp lies"),
	SCRATCH("/var/tmp",  "temporary files"),
};

/* Ours from top to bottom.  In the scratch folders and beside them there is room for others. */
static const char *const closed[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/etc", "/dev", "/proc", "/sys",
};
/* clang-format on */

const size_t rf_place_count = RF_LEN(rf_place_table);

const char *rf_place_in_the_way(const char *path)
{
	for (size_t i = 0; i < RF_LEN(closed); i++)
		if (rf_path_is_beneath(path, closed[i]))
			return closed[i];
	for (size_t i = 0; i < RF_LEN(rf_place_table); i++)
		if (rf_path_is_beneath(rf_place_table[i].path, path))
			return rf_place_table[i].path;
	return NULL;
}

const char *rf_place_forbidden(const char *source)
{
	static const char *const folders[] = { "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < RF_LEN(folders); i++)
		if (rf_path_is_beneath(source, folders[i]))
			return folders[i];
	return strcmp(source, "/") == 0 ? "/" : NULL;
}
