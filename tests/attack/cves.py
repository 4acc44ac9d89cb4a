"""How others fell, and the tests that keep each way shut: a table of docs/attacks.md.

A test is an attack of the catalogue, by its name, or a function of a test file, as file::function;
test_cves.py looks whether each is there.
"""

# What it was, how it fell, and what tests it here.
CVES = [
    ("CVE-2024-21626 (runc)", "a descriptor of the runtime's leaked, and the working directory was the host's",
     "read-leaked keep-descriptor read-proc-fd send-leaked read-thread-cwd"),
    ("CVE-2025-31133, -52565, -52881 (runc)", "masks, consoles and procfs writes redirected by swapped links",
     "masked-files host-terminal setting-core-pattern read-race "
     "test_boxes.py::test_a_link_that_comes_and_goes_does_not_widen_a_run"),
    ("CVE-2026-41579 (runc), CVE-2026-47766 (crun)", "/dev itself was a link in the tree",
     "test_boxes.py::test_a_planted_link_does_not_lead_to_what_is_never_shown "
     "test_files.py::test_a_source_that_is_a_symbolic_link_is_refused_by_its_name"),
    ("CVE-2021-30465, CVE-2024-45310 (runc)", "mounts and directories made through a link that came in between",
     "test_boxes.py::test_a_link_that_comes_and_goes_does_not_widen_a_run create-outside "
     "test_deny.py::test_a_denied_path_that_is_not_there_is_never_made"),
    ("CVE-2023-25809 (runc)", "a writable cgroup tree", "cgroup-files mount-cgroup mount-cgroup-v1 group-path"),
    ("CVE-2019-5736 (runc)", "the runtime's own program overwritten", "exe-init launcher pid-1-program"),
    ("CVE-2026-30892 (crun)", "a user's number read wrongly, so another uid",
     "be-root test_bad_input.py::test_wrong_values_are_refused test_boxes.py::test_uid_outside_is_no_other_users"),
    ("CVE-2025-24965 (crun)", "a helper's file written outside the tree",
     "create-outside overwrite-outside replace-outside test_deny.py::test_a_denied_path_that_is_not_there_is_never_made"),
    ("CVE-2022-27650 (crun), CVE-2022-29162 (runc)", "inheritable capabilities left on", "hold-capability run-capable"),
    ("CVE-2026-41163 (bubblewrap)", "the part that raises walls could be traced",
     "ptrace-init vm-readv-init mem-init pidfd-getfd-init reach-ptrace"),
    ("CVE-2017-5226, CVE-2019-10063 (Flatpak)", "keys typed into the caller's terminal; a high bit passed the filter",
     "tiocsti tiocsti-high tioclinux tioclinux-high own-tiocsti own-tiocsti-high"),
    ("CVE-2022-31214 (firejail)", "root joined a sandbox that the user had forged",
     "setns-pidfd setns-proc test_boxes.py::test_nothing_but_the_program_says_how_it_ended"),
    ("CVE-2021-26910 (firejail)", "overlays mounted with privilege", "mount-overlay"),
    ("CVE-2026-1386 (Firecracker)", "root wrote into a directory that a user could change",
     "test_boxes.py::test_a_planted_link_does_not_widen_the_next_run mode-by-link mode-by-race"),
    ("CVE-2026-5747 (Firecracker)", "checked, and then changed by the guest before its use",
     "mode-by-race deny-race read-race"),
    ("CVE-2025-2713, CVE-2024-10603 (gVisor)", "a helper opened files before it gave up its ids",
     "read-shadow read-authorized-keys test_deny.py::test_a_folder_that_can_be_searched_and_not_listed_is_hidden_as_a_whole"),
    ("CVE-2026-46695 (Boxlite)", "a read-only mount made writable again", "remount mount-setattr open-tree-attr umount"),
    ("CVE-2025-9074 (Docker Desktop)", "the engine's own port could be reached from inside",
     "tcp tcp-ipv6 tcp-address unix-path socket-read-only"),
    ("CVE-2025-23266 (NVIDIA toolkit)", "a variable of the image's ran code in a privileged hook",
     "environment search-environments test_run.py::test_nothing_of_the_callers_environment_is_inside"),
    ("CVE-2026-31431 (kernel)", "AF_ALG and splice wrote the shared page cache; the filter missed socketcall(2)",
     "socket-alg sweep-sockets int80 run-32-bit x32"),
    ("CVE-2022-0185 (kernel)", "the new mount API in a nested user namespace",
     "fsopen fsconfig fsmount unshare-user clone-user clone3-user"),
    ("CVE-2022-0492 (kernel)", "the release agent of a cgroup mounted by oneself",
     "mount-cgroup mount-cgroup-v1 cgroup-files"),
    ("CVE-2023-0386 (kernel)", "an overlay copied a setuid file up", "mount-overlay run-setuid setuid-chmod unshare-user"),
    ("CVE-2024-1086 (kernel)", "nf_tables in a nested user namespace", "socket-netlink-netfilter sweep-sockets unshare-user"),
    ("CVE-2025-38236 (kernel)", "freed memory by the urgent byte of a unix socket", "urgent-sendto urgent-sendmsg urgent-sendmmsg"),
    ("the io_uring family (kernel)", "a ring does what the filter would refuse", "io-uring io-uring-enter io-uring-register"),
    ("CVE-2015-2925 (kernel)", "going up from a directory that was moved out of its mount", "read-moved"),
    ("Shocker", "files opened by handle", "read-by-handle ask-handle"),
    ("CVE-2025-66479 (sandbox-runtime)", "an empty list meant that everything is allowed",
     "tcp udp test_policy_cli.py::test_an_empty_policy_changes_nothing"),
    ("CVE-2026-25725 (Claude Code)", "a name was protected only if it was there at the start",
     "test_planted.py::test_what_acts_later_is_listed_and_the_rest_is_not"),
    ("CVE-2026-39861 (Claude Code)", "a link made inside, followed by the host's side",
     "test_boxes.py::test_a_planted_link_does_not_widen_the_next_run read-link deny-link"),
    ("CVE-2026-46406 (Claude Code)", "a fixed name in /tmp",
     "test_lesser_box.py::test_home_and_temporary_files_are_a_folder_that_goes read-outside"),
    ("CVE-2025-59532 (Codex)", "a directory chosen by the model became the writable one",
     "test_policy_cli.py::test_no_policy_is_read_from_the_working_directory_unasked "
     "test_config.py::test_nothing_is_read_from_the_working_directory"),
    ("one path that forgot the wrapper (Codex)", "a second way to execute, without the box",
     "test_proof.py::test_nothing_starts_without_a_wall test_cves.py::test_lint_counts_the_ways_to_execute"),
    ("silent degrade (several agents)", "what could not be had was left out, and nobody said so",
     "test_proof.py::test_nothing_starts_without_a_wall test_lesser_box.py::test_without_leave_it_is_refused_with_the_cause "
     "test_lesser_box.py::test_with_leave_the_result_says_what_it_is"),
    ("hooks and settings planted for later", "what a box leaves is run by the host",
     "test_planted.py::test_what_acts_later_is_listed_and_the_rest_is_not "
     "test_apply.py::test_what_git_is_told_to_use_has_to_be_named"),
    ("CVE-2026-22708 (Cursor)", "policy by reading shell text", "run-hidden run-unnamed run-by-loader run-memfd"),
    ("CVE-2025-55284", "names looked up as a way out", "udp tcp-address sweep-sockets"),
    ("CVE-2024-28185, -28189 (Judge0)", "root followed a link and changed owners outside the jail",
     "owner-outside mode-by-link test_files.py::test_files_made_in_a_written_folder_belong_to_its_owner"),
]


def table():
    """The table in docs/attacks.md."""
    lines = ["| how others fell | what it was | tested here by |", "|---|---|---|"]
    for name, what, tests in CVES:
        tests = ", ".join(f"`{test.partition('::')[2] or test}`" for test in tests.split())
        lines.append(f"| {name} | {what} | {tests} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
