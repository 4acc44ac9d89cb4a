/*
 * The probe's table: every check, what it means for a box, and what to do where it fails.
 *
 * A row's remedy is the one for an ordinary host; probe-cause.c knows better where something on
 * this machine gives the cause away.
 */
#include <sched.h>

#include "base/fd.h"
#include "jail/probe-check.h"

#define REQUIRED RF_PROBE_REQUIRED
#define WANTED   RF_PROBE_WANTED
#define HINT     RF_PROBE_HINT
#define HERE     RF_PROBE_HERE
#define BUILDING RF_PROBE_BUILDING
#define OWNED    RF_PROBE_OWNED

#define NEWER(version) "use Linux " version " or newer"
#define CONFIG(option) "use a kernel with " option
#define CONTROLLER                                                                                 \
	"as a user on cgroup v2: systemd-run --user --scope -p Delegate=yes ringfort run ...; "    \
	"on v1, or in a container without a writable /sys/fs/cgroup: run as root or delegate one"

/* The order is the order of the walls: a cause stands before what it takes down with it. */
/* clang-format off */
const struct rf_probe_check rf_probe_checks[] = {
	{ "kernel", RF_PROBE_KERNEL, WANTED, HERE, 0, NULL, NULL, rf_probe_host_kernel,
	  "Linux", "Boxes are made with calls of Linux 5.13; the other checks say which are here.",
	  NEWER("5.13") },
	{ "clone3", RF_PROBE_KERNEL, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_clone3,
	  "clone3 with a pidfd", "Pid 1 of a box is made with it, and killed through its descriptor.",
	  NEWER("5.3") },
	{ "close_range", RF_PROBE_KERNEL, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_close_range,
	  "close_range", "It keeps the caller's open files out of a box.", NEWER("5.11") },
	{ "openat2", RF_PROBE_KERNEL, WANTED, HERE, 0, NULL, NULL, rf_probe_wall_openat2,
	  "openat2", "Without it paths are walked one component at a time: as safe, and slower.",
	  NEWER("5.6") },

	{ "userns", RF_PROBE_NAMESPACES, REQUIRED, OWNED, 0, "user", NULL, rf_probe_space_entered,
	  "user namespace", "A box holds no privilege outside its own user namespace; an ordinary "
	  "user builds the other walls in one.", CONFIG("CONFIG_USER_NS") },
	{ "mntns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, CLONE_NEWNS, "mnt", "userns",
	  rf_probe_space_entered, "mount namespace", "It gives a box a root directory of its own.",
	  CONFIG("CONFIG_NAMESPACES") },
	{ "pidns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, CLONE_NEWPID, "pid", "userns",
	  rf_probe_space_entered, "pid namespace",
	  "It hides the host's processes, and ends a box as a whole.", CONFIG("CONFIG_PID_NS") },
	{ "netns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, CLONE_NEWNET, "net", "userns",
	  rf_probe_space_net, "network namespace",
	  "It takes every interface, address and abstract socket of the host away.",
	  CONFIG("CONFIG_NET_NS") },
	{ "capture", RF_PROBE_NAMESPACES, WANTED, BUILDING, CLONE_NEWNET, "net", "netns",
	  rf_probe_space_capture, "connections led to a gateway",
	  "A box with --net HOST dials any address, and the gateway answers.",
	  "modprobe nf_tables nft_tproxy, or use a kernel with CONFIG_NFT_TPROXY; without, only the ports that a policy names are led there" },
	{ "ipcns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, CLONE_NEWIPC, "ipc", "userns",
	  rf_probe_space_entered, "ipc namespace", "It hides the host's shared memory and queues.",
	  CONFIG("CONFIG_IPC_NS") },
	{ "utsns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, CLONE_NEWUTS, "uts", "userns",
	  rf_probe_space_uts, "uts namespace", "It gives a box a host name of its own.",
	  CONFIG("CONFIG_UTS_NS") },
	{ "cgroupns", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, 0, "cgroup", "userns",
	  rf_probe_space_cgroup, "cgroup namespace", "It hides where on the host a box's groups lie.",
	  NEWER("4.6") ", with CONFIG_CGROUPS" },
	{ "timens", RF_PROBE_NAMESPACES, WANTED, BUILDING, 0, "time", "userns", rf_probe_space_time,
	  "time namespace", "Boxes see the host's uptime either way; a later version hides it there.",
	  NEWER("5.6") ", with CONFIG_TIME_NS" },
	{ "userns_nested", RF_PROBE_NAMESPACES, REQUIRED, BUILDING, 0, "user", "userns",
	  rf_probe_space_last, "last user namespace",
	  "The program runs in one that owns nothing, so that no capability found there counts.",
	  CONFIG("CONFIG_USER_NS") },

	{ "mount_api", RF_PROBE_MOUNTS, REQUIRED, BUILDING, CLONE_NEWNS, NULL, "mntns",
	  rf_probe_mount_api, "mounts by descriptor",
	  "A box's files are cloned, made read-only and attached without looking a name up twice.",
	  NEWER("5.12") },
	{ "tmpfs", RF_PROBE_MOUNTS, REQUIRED, BUILDING, CLONE_NEWNS, "tmpfs", "mntns",
	  rf_probe_mount_fresh, "tmpfs", "It is the root, /tmp and home of a box, with a size limit.",
	  CONFIG("CONFIG_TMPFS") },
	{ "proc", RF_PROBE_MOUNTS, REQUIRED, BUILDING, CLONE_NEWNS | CLONE_NEWPID, "proc", "mntns",
	  rf_probe_mount_fresh, "fresh /proc", "A box sees its own processes, and only those.",
	  "a container hides parts of /proc: docker run --security-opt systempaths=unconfined "
	  "--security-opt seccomp=unconfined ..., podman run --security-opt unmask=ALL ..." },
	{ "devpts", RF_PROBE_MOUNTS, REQUIRED, BUILDING, CLONE_NEWNS, "devpts", "mntns",
	  rf_probe_mount_fresh, "fresh devpts", "A box has terminals of its own, never the host's.",
	  CONFIG("CONFIG_UNIX98_PTYS") },
	{ "idmap", RF_PROBE_MOUNTS, WANTED, BUILDING, 0, NULL, "mount_api", rf_probe_mount_idmap,
	  "idmapped mounts", "Root's boxes write to a directory as its owner; where that can't be "
	  "mapped they run as the owner, and are refused if that is root.",
	  "keep directories for boxes on ext4, xfs or btrfs (tmpfs: from Linux 6.3), or give them to a user" },
	{ "overlay", RF_PROBE_MOUNTS, WANTED, OWNED, CLONE_NEWNS, NULL, "tmpfs",
	  rf_probe_mount_overlay, "overlayfs in a user namespace",
	  "Workspaces are layers of it; where it can't be had, each run in one works on a copy of the whole directory.",
	  "modprobe overlay; keep layers on ext4, xfs or btrfs (tmpfs: from Linux 6.6)" },

	{ "landlock", RF_PROBE_WALLS, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_landlock,
	  "Landlock", "A second wall around files, besides the mounts: it holds if one of them fails.",
	  CONFIG("CONFIG_SECURITY_LANDLOCK (Linux 5.13 or newer)"), .is_waivable = true },
	{ "seccomp", RF_PROBE_WALLS, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_seccomp,
	  "system call filter", "It keeps calls that a box does not need away from the kernel.",
	  CONFIG("CONFIG_SECCOMP_FILTER") },
	{ "no_new_privs", RF_PROBE_WALLS, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_privileges,
	  "no_new_privs", "No setuid program in a box gains anything.", NEWER("3.5") },
	{ "keyring", RF_PROBE_WALLS, REQUIRED, HERE, 0, NULL, NULL, rf_probe_wall_keyring,
	  "a keyring of its own", "A box possesses none of the caller's keys.",
	  "allow keyctl where the launcher runs, as with docker run --security-opt "
	  "seccomp=unconfined; or raise kernel.keys.maxkeys" },
	{ "userns_limit", RF_PROBE_WALLS, REQUIRED, BUILDING, CLONE_NEWNS | CLONE_NEWPID, "user",
	  "proc", rf_probe_space_limit, "no further user namespaces",
	  "Besides the filter, a limit of 0 keeps a box from making namespaces of its own.",
	  "make /proc/sys writable for the launcher", .is_waivable = true },

	{ "cgroup", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, NULL, rf_probe_group_any,
	  "control groups", "They keep the limits of a box as a whole; without them others stand in, less exactly.", CONTROLLER },
	{ "cgroup_memory", RF_PROBE_LIMITS, WANTED, HERE, 0, "memory", "cgroup",
	  rf_probe_group_controller, "memory limit",
	  "Without it memory is sampled every 10 ms, and a box is killed when it is over.", CONTROLLER },
	{ "cgroup_pids", RF_PROBE_LIMITS, WANTED, HERE, 0, "pids", "cgroup", rf_probe_group_controller,
	  "process limit", "Without it RLIMIT_NPROC stands in.", CONTROLLER },
	{ "cgroup_cpu", RF_PROBE_LIMITS, WANTED, HERE, 0, "cpu", "cgroup", rf_probe_group_controller,
	  "processor share", "Without it a box may use every processor until its time is over.",
	  CONTROLLER },
	{ "cgroup_cputime", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, "cgroup",
	  rf_probe_group_cputime, "processor time", "Without it processor time is sampled.",
	  CONTROLLER },
	{ "cgroup_swap", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, "cgroup_memory", rf_probe_group_swap,
	  "swap accounting", "Without it a box can use swap beyond its memory limit.",
	  "add swapaccount=1 to the kernel command line, or run without swap" },
	{ "clone_into_cgroup", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, NULL, rf_probe_group_into,
	  "clone into a group", "A process is then born within its limits.", NEWER("5.7") },
	{ "cgroup_kill", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, NULL, rf_probe_group_kill,
	  "cgroup.kill", "Without it a box ends with its pid namespace alone.", NEWER("5.14") },
	{ "proc_children", RF_PROBE_LIMITS, WANTED, HERE, 0, NULL, NULL, rf_probe_group_children,
	  "/proc/PID/task/TID/children",
	  "Where limits are sampled, the sampler finds a box's processes by it.",
	  CONFIG("CONFIG_PROC_CHILDREN") },

	{ "init", RF_PROBE_MACHINE, REQUIRED, HERE, 0, NULL, NULL, rf_probe_host_init,
	  "ringfort-init", "It is pid 1 of every box.",
	  "install ringfort-init beside ringfort, or `make install` both" },
	{ "gateway", RF_PROBE_MACHINE, WANTED, HERE, 0, NULL, NULL, rf_probe_host_gateway,
	  "ringfort-gateway", "Boxes with --net HOST reach the world through it.",
	  "install ringfort-gateway beside ringfort, or `make install` all of them" },
	{ "run_dir", RF_PROBE_MACHINE, REQUIRED, HERE, 0, NULL, NULL, rf_probe_host_run,
	  "runtime directory", "Living boxes are recorded there, so that nothing of a killed launcher "
	  "is left behind.", "set XDG_RUNTIME_DIR to a directory of yours with mode 0700",
	  .is_for_root = true },
	{ "uid_range", RF_PROBE_MACHINE, REQUIRED, HERE, 0, NULL, NULL, rf_probe_host_uids,
	  "uids for boxes", "Each of root's boxes has a uid that nobody else has.",
	  "run ringfort as an ordinary user, or map these uids into this container's user namespace" },
	{ "audit", RF_PROBE_MACHINE, WANTED, HERE, 0, NULL, NULL, rf_probe_host_audit,
	  "audit log", "With it, results list what Landlock and the filter refused a box.",
	  CONFIG("CONFIG_AUDIT, and CAP_AUDIT_READ") },
	{ "watcher", RF_PROBE_MACHINE, WANTED, HERE, 0, NULL, NULL, rf_probe_host_watch,
	  "watcher", "It records runs, and must be the last to go: killed for memory after all boxes, stopped with none.",
	  "as root, start it where CAP_SYS_RESOURCE, CAP_SYS_PTRACE and a writable /sys/fs/cgroup are" },
	{ "box", RF_PROBE_MACHINE, REQUIRED, BUILDING, CLONE_NEWNS, NULL, "mntns", rf_probe_host_box,
	  "a whole box", "All of it together: a default box made, walled, proven from inside, run, removed.",
	  "every part works and the whole does not: please report this" },

	{ "lesser", RF_PROBE_MACHINE, WANTED, HERE, 0, NULL, NULL, rf_probe_host_lesser,
	  "a lesser box", "Where namespaces are forbidden, --weaker allow makes a box of Landlock, the filter and rlimits.",
	  NEWER("6.2") ", with landlock in its lsm= list (6.12 keeps signals inside)" },

	{ "core_pattern", RF_PROBE_HARDENING, HINT, HERE, 0, NULL, NULL, rf_probe_host_cores,
	  "core dumps", "A crash starts this handler on the host, as root, fed with the memory of "
	  "whatever crashed.", "sysctl -w kernel.core_pattern=core, unless you need the handler" },
	{ "unprivileged_bpf", RF_PROBE_HARDENING, HINT, HERE, 0, "kernel/unprivileged_bpf_disabled",
	  NULL, rf_probe_host_sysctl, "bpf for root only",
	  "Ordinary users may load bpf programs. Boxes can't.",
	  "sysctl -w kernel.unprivileged_bpf_disabled=1" },
	{ "kptr_restrict", RF_PROBE_HARDENING, HINT, HERE, 0, "kernel/kptr_restrict", NULL,
	  rf_probe_host_sysctl, "kernel addresses hidden",
	  "Kernel addresses in /proc help an attacker who has found a kernel bug.",
	  "sysctl -w kernel.kptr_restrict=1" },
	{ "dmesg_restrict", RF_PROBE_HARDENING, HINT, HERE, 0, "kernel/dmesg_restrict", NULL,
	  rf_probe_host_sysctl, "kernel log for root only",
	  "Ordinary users may read the kernel log. Boxes can't.", "sysctl -w kernel.dmesg_restrict=1" },
	{ "yama", RF_PROBE_HARDENING, HINT, HERE, 0, "kernel/yama/ptrace_scope", NULL,
	  rf_probe_host_sysctl, "tracing restricted (Yama)",
	  "Any process of a user may read the memory of the user's other processes. Boxes can't.",
	  "sysctl -w kernel.yama.ptrace_scope=1" },
};
/* clang-format on */

const size_t rf_probe_check_count = RF_LEN(rf_probe_checks);

_Static_assert(RF_LEN(rf_probe_checks) <= RF_PROBE_MAX, "the report has room for every check");
