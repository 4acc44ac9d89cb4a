/* Programs that other programs need: see helper.h. */
#include "jail/helper.h"

#include "base/fd.h"

/* clang-format off */
#define GCC_PARTS "as", "ld", "ld.bfd", "/usr/lib/gcc/*/*/", "/usr/libexec/gcc/*/*/"

const struct rf_helper rf_helper_table[] = {
	/* Local clones, hooks, aliases and some of its own commands go through a shell. */
	{ "git",            { "sh", "/usr/lib/git-core/", "/usr/libexec/git-core/" } },

	/* The drivers start the compiler proper, the assembler and the linker. */
	{ "cc",             { GCC_PARTS } },
	{ "c++",            { GCC_PARTS } },
	{ "*gcc",           { GCC_PARTS } },
	{ "*gcc-[0-9]*",    { GCC_PARTS } },
	{ "*g++",           { GCC_PARTS } },
	{ "*g++-[0-9]*",    { GCC_PARTS } },
	{ "*cpp",           { GCC_PARTS } },
	{ "*gfortran*",     { GCC_PARTS } },
	{ "clang*",         { GCC_PARTS } },
	{ "go",             { "/usr/local/go/pkg/tool/", "/usr/lib/go-*/pkg/tool/", "/usr/lib/golang/pkg/tool/" } },
	{ "gofmt",          { "go" } },
	{ "cargo",          { "rustc" } },
	{ "rustc",          { "cc" } },

	/* Each line of a recipe, and each script of a package, is a shell's. */
	{ "make",           { "sh" } },
	{ "gmake",          { "sh" } },
	{ "ninja",          { "sh" } },
	{ "npm",            { "node", "sh" } },
	{ "npx",            { "node", "sh" } },
	{ "yarn",           { "node", "sh" } },
	{ "pnpm",           { "node", "sh" } },

	/* Java starts processes through a small program of its own. */
	{ "java",           { "/usr/lib/jvm/*/lib/jspawnhelper" } },
	{ "R",              { "sh", "sed", "uname", "rm", "/usr/lib/R/bin/", "/usr/lib64/R/bin/" } },
	{ "Rscript",        { "R" } },
	{ "tar",            { "gzip", "bzip2", "xz", "zstd" } },
	{ "xargs",          { "echo" } },
};

/*
 * By the file system's standard and by habit.  The loader can be asked to start any ELF program that it
 * can read, so those that nobody named should not be there to be read; the ones that lie
 * elsewhere (there is no list of them) are merely not executable.
 */
const char *const rf_helper_folders[] = {
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/games", "/usr/libexec",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/games", "/usr/local/libexec",
	"/usr/local/*/bin", "/usr/local/*/sbin", "/usr/lib/*/bin", "/usr/lib/*/sbin",
	"/usr/lib/*/libexec", "/usr/lib/jvm/*/bin", "/usr/lib/postgresql/*/bin",
	"/usr/lib64/R/bin",
	"/usr/lib/git-core", "/usr/lib/gcc/*/*", "/usr/lib/go-*/pkg/tool", "/usr/local/go/pkg/tool",
	"/usr/lib/apt", "/usr/lib/dbus-1.0", "/usr/lib/dpkg", "/usr/lib/gnupg", "/usr/lib/gnupg2",
	"/usr/lib/klibc", "/usr/lib/man-db", "/usr/lib/openssh", "/usr/lib/policykit-1",
	"/usr/lib/polkit-1", "/usr/lib/qemu", "/usr/lib/systemd", "/usr/lib/udev",
};
/* clang-format on */

const size_t rf_helper_count = RF_LEN(rf_helper_table);
const size_t rf_helper_folder_count = RF_LEN(rf_helper_folders);
