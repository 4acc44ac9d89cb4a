/* What commands there are, and what is said of each; see command.h.  Each one's code is in cmd-NAME.c. */
#include "cli/cmd.h"
#include "cli/command.h"
#include "cli/example.h"

/* clang-format off */
const struct rf_cmd rf_cmd_all = {
	"ringfort", NULL, "run what nobody reviewed in a disposable box", "COMMAND [OPTIONS]",
	"Runs what nobody reviewed in a disposable box: no files, processes, secrets,\n"
	"network or time beyond the policy.",
	rf_example_all, NULL,
};

#define RUN_EXITS \
	"the program's own, or 128+N when signal N ended it; 124 time-out, 137 killed\n" \
	"for another limit, 125 Ringfort failed, 126 refused, 127 program not found"

#define FILE_EXITS "0 done, 1 there is no such workspace, point or file, 125 Ringfort failed"

const struct rf_cmd rf_cmd_table[RF_CMD_COUNT] = {
	[RF_CMD_RUN] = {
		"run", rf_cmd_run, "run a program in a box of its own",
		"[OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
		"[OPTIONS] --lang NAME [-c CODE | FILE | -] [ARGUMENTS]",
		"Runs PROGRAM in a disposable box.  It sees /usr, a few settings, the current\n"
		"directory (read-only) and an empty home and /tmp, which are gone afterwards; no\n"
		"network, no variables of yours, no process but its own.",
		rf_example_run, RUN_EXITS,
	},
	[RF_CMD_SHELL] = {
		"shell", rf_cmd_shell, "a shell in a box of its own",
		"[OPTIONS] [-- SHELL [ARGUMENTS]]",
		"Starts bash, or sh where there is no bash, in a disposable box with a terminal of\n"
		"its own: `ringfort run -t` without a limit on time and output.  `exit` leaves it;\n"
		"ctrl-] three times ends it, whatever it does.  Where standard input is no terminal\n"
		"it is read as a script.",
		rf_example_shell, RUN_EXITS,
	},
	[RF_CMD_CREATE] = {
		"create", rf_cmd_create, "make a workspace over a directory",
		"--name NAME --workspace DIR",
		"A workspace shows a directory, and what is done in it stays in layers: the directory\n"
		"itself is not touched.  Every run in it can be looked at and undone.",
		rf_example_create, "0 made, 125 it could not be",
	},
	[RF_CMD_EXEC] = {
		"exec", rf_cmd_exec, "run a program in a workspace",
		"[OPTIONS] NAME [--] PROGRAM [ARGUMENTS]",
		"As `ringfort run --workspace NAME`: in a box of its own, over what earlier runs\n"
		"left.  What it changes becomes a new point of the workspace.",
		rf_example_exec, RUN_EXITS,
	},
	[RF_CMD_SHADOW] = {
		"shadow", rf_cmd_shadow, "run a program, verify what it did, and only then let it count",
		"[OPTIONS] --workspace DIR [--] PROGRAM [ARGUMENTS]",
		"Runs PROGRAM on a directory that stays as it is meanwhile.  If it ends well, each\n"
		"--verify looks at the result, in a fresh box of the same policy that can write nowhere\n"
		"else; what it writes itself is thrown away.  If all of them end well, the changes are\n"
		"shown and applied, all of them or none; else, and after any crash, they are gone.\n"
		"`ringfort undo` takes an applied one back.  Requests to the network that do more than\n"
		"read are held back, too, and sent once the changes are applied.",
		rf_example_shadow,
		"0 applied, 1 discarded: PROGRAM failed, 2 discarded: it was not verified, 3 refused:\n"
		"something acts later on the host, or the directory was changed meanwhile, 4 declined,\n"
		"5 applied, but a request that was held back was not sent, 125 Ringfort failed,\n"
		"126 the policy refuses, 127 program not found",
	},
	[RF_CMD_WORKSPACES] = {
		"workspaces", rf_cmd_workspaces, "list your workspaces", "",
		"Prints the name of each, where it is, how many points it has and its directory.",
		rf_example_workspaces, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_CHECKPOINT] = {
		"checkpoint", rf_cmd_checkpoint, "give the state of a workspace a name", "[OPTIONS] [NAME]",
		"Names where the workspace is, so that it can be gone back to.  Safe against the end\n"
		"of any process; with --sync, against a power cut too.",
		rf_example_checkpoint, "0 done, 1 there is no such workspace, 125 Ringfort failed",
	},
	[RF_CMD_UNDO] = {
		"undo", rf_cmd_undo, "take runs in a workspace back", "[OPTIONS] [N | NAME | @ID]",
		"Goes back N runs (default: one), to a checkpoint, or to any point of `ringfort log`,\n"
		"also forward.  Nothing is lost by it before `ringfort gc`.  Right after an apply and\n"
		"without an argument, it takes that back from the directory.",
		rf_example_undo, "0 done, 1 there is no such workspace or point, 125 Ringfort failed",
	},
	[RF_CMD_DISCARD] = {
		"discard", rf_cmd_discard, "drop all that was done in a workspace", "[OPTIONS] NAME",
		"The workspace stays, and is its directory again.  Its points are gone, checkpoints\n"
		"too; only what was applied last stays, in the directory, and can be taken back with\n"
		"`ringfort undo`.",
		rf_example_discard, "0 done, 1 there is no such workspace, 125 Ringfort failed",
	},
	[RF_CMD_LOG] = {
		"log", rf_cmd_log, "what was done in a workspace", "[OPTIONS]",
		"A line for each run: its point, the one that it began at, when, how it ended, how much\n"
		"it changed, and what ran.  The star is where the next run begins.",
		rf_example_log, "0 printed, 1 there is no such workspace, 125 Ringfort failed",
	},
	[RF_CMD_DIFF] = {
		"diff", rf_cmd_diff, "what has changed in a workspace", "[OPTIONS] [FROM [TO]]",
		"Compares two points: @0, the directory, with where the workspace is, unless others are\n"
		"named.  What acts later on whoever uses the directory (git hooks, settings of editors\n"
		"and agents, pipelines, files made executable) is listed apart.",
		rf_example_changes, "0 printed, 1 there is no such workspace or point, 125 Ringfort failed",
	},
	[RF_CMD_APPLY] = {
		"apply", rf_cmd_apply, "write what a workspace changed to its directory", "[OPTIONS]",
		"Each file is replaced at once, and what was there is kept: `ringfort undo` takes it\n"
		"back.  Refused where the directory was changed meanwhile, and for what acts later on\n"
		"whoever uses it, unless that is named.  One that was interrupted goes on where it was.",
		rf_example_apply, "0 applied, 1 there is no such workspace, 125 refused, or Ringfort failed",
	},
	[RF_CMD_FORK] = {
		"fork", rf_cmd_fork, "another workspace that begins where one is", "[OPTIONS] NAME",
		"The new one has all points of the old one, and shares its layers: it costs nothing.\n"
		"With -n, all of them are made, or none.",
		rf_example_fork, "0 made, 1 there is no such workspace, 125 Ringfort failed",
	},
	[RF_CMD_RM] = {
		"rm", rf_cmd_rm, "remove workspaces", "NAME ...",
		"The directories that they lie over stay as they are.",
		rf_example_rm, "0 removed, 1 there is no such workspace, 125 Ringfort failed",
	},
	[RF_CMD_GC] = {
		"gc", rf_cmd_gc, "drop what was undone, and layers that nobody needs", "",
		"Points on which neither a workspace's head nor a checkpoint stands are gone afterwards.",
		rf_example_gc, "0 done, 125 Ringfort failed",
	},
	[RF_CMD_FILE] = {
		"file", NULL, "read, write, list, search and delete files of a workspace",
		"COMMAND [OPTIONS]",
		"A path counts from the workspace's top.  Links in it are never followed.  What is\n"
		"written becomes a point of the workspace, as a run's changes do: the directory itself is\n"
		"not touched, and `ringfort undo` takes it back.  `file` can be left out, but for `file rm`:\n"
		"`ringfort cat README`.",
		rf_example_file, NULL,
	},
	[RF_CMD_FILE_CAT] = {
		"file cat", rf_cmd_file_cat, "print files of a workspace", "[OPTIONS] PATH ...",
		"Byte for byte in a pipe; on a terminal, what it would obey is shown as an escape.",
		rf_example_file_cat, FILE_EXITS,
	},
	[RF_CMD_FILE_LS] = {
		"file ls", rf_cmd_file_ls, "list folders of a workspace", "[OPTIONS] [PATH ...]",
		"Prints the names in a folder (default: the top), or a file itself.",
		rf_example_file_ls, FILE_EXITS,
	},
	[RF_CMD_FILE_STAT] = {
		"file stat", rf_cmd_file_stat, "say what paths of a workspace are", "[OPTIONS] [PATH ...]",
		"Prints type, mode, size, time and where a link leads.",
		rf_example_file_stat, FILE_EXITS,
	},
	[RF_CMD_FILE_FIND] = {
		"file find", rf_cmd_file_find, "search a workspace by name and content",
		"[OPTIONS] [PATH]",
		"Prints what lies at or beneath PATH (default: the top); with --content, the lines that\n"
		"have a text in them.  Files of more than 64 MiB are not looked into.",
		rf_example_file_find, FILE_EXITS,
	},
	[RF_CMD_FILE_CP] = {
		"file cp", rf_cmd_file_cp, "copy a file into a workspace, or out of it",
		"[OPTIONS] FILE [NAME]:PATH\n"
		"[OPTIONS] [NAME]:PATH FILE",
		"The path with a colon is the workspace's; `./a:b` is one of this machine.  FILE may be\n"
		"- for standard input or output.  Folders on the way into a workspace are made.  A file\n"
		"that is there keeps its mode and owner.",
		rf_example_file_cp, FILE_EXITS,
	},
	[RF_CMD_FILE_RM] = {
		"file rm", rf_cmd_file_rm, "delete files of a workspace", "[OPTIONS] PATH ...",
		"Deletes files and empty folders; with --recursive, also folders with something in them.\n"
		"All of them or none.",
		rf_example_file_rm, FILE_EXITS,
	},
	[RF_CMD_AGENT] = {
		"agent", NULL, "agents, each with a policy and a workspace of its own",
		"COMMAND [OPTIONS]",
		"An agent has an id, a policy that no caller widens, and a workspace in which it finds\n"
		"what it did before.  What it does is its own until it is applied: no other agent sees\n"
		"it.  `log`, `diff`, `undo`, `apply` take its id after -w; breakers, budgets and records\n"
		"go by it.",
		rf_example_agent, NULL,
	},
	[RF_CMD_AGENT_CREATE] = {
		"agent create", rf_cmd_agent_create, "make an agent", "ID [OPTIONS]",
		"Keeps a copy of the policy that the options come to: every run of the agent goes by it.\n"
		"Its workspace, of the same name, lies over a directory.",
		rf_example_agent_create, "0 made, 125 it could not be",
	},
	[RF_CMD_AGENT_RUN] = {
		"agent run", rf_cmd_agent_run, "run a program for an agent",
		"[OPTIONS] ID [--] PROGRAM [ARGUMENTS]",
		"In the agent's workspace, by the agent's policy and nothing else: no option widens it,\n"
		"and it does not depend on the current directory or on your settings.",
		rf_example_agent_run, RUN_EXITS,
	},
	[RF_CMD_AGENT_LS] = {
		"agent ls", rf_cmd_agent_ls, "list your agents", "[OPTIONS]",
		"Prints the name of each, where its workspace is, how many points that has, how its last\n"
		"run ended and its directory.",
		rf_example_agent_ls, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_AGENT_SHOW] = {
		"agent show", rf_cmd_agent_show, "what is known of an agent", "[OPTIONS] ID",
		"Its line of `agent ls`, and its policy; with --json, its history too.",
		rf_example_agent_show, "0 printed, 1 there is no such agent, 125 Ringfort failed",
	},
	[RF_CMD_AGENT_RM] = {
		"agent rm", rf_cmd_agent_rm, "remove agents", "ID ...",
		"With their workspaces; the directories stay as they are.",
		rf_example_agent_rm, "0 removed, 1 there is no such agent, 125 Ringfort failed",
	},
	[RF_CMD_EXPORT] = {
		"export", rf_cmd_export, "write a workspace as an archive", "[OPTIONS] [NAME] > FILE",
		"Writes all that a box would see, at the head or at another point, to standard output as\n"
		"tar with zstd, which `tar --zstd` unpacks.  Modes, times, links, holes and users'\n"
		"attributes are in it; pipes and sockets are not.",
		rf_example_export, "0 written, 1 there is no such workspace or point, 125 Ringfort failed",
	},
	[RF_CMD_IMPORT] = {
		"import", rf_cmd_import, "put an archive into a workspace", "[OPTIONS] [NAME] < FILE",
		"Reads tar, with zstd or plain, from standard input, and puts what is in it over what the\n"
		"workspace is, as a new point.  An archive is refused as a whole if a path of it leads\n"
		"elsewhere, if it has devices, if it is larger than allowed, or if it ends too early.",
		rf_example_import, "0 done, 1 there is no such workspace, 125 refused, or Ringfort failed",
	},
	[RF_CMD_POLICY] = {
		"policy", NULL, "show, check, compare and explain policies, and ask them questions",
		"COMMAND [OPTIONS]",
		"A policy says what a box may see, use and do.  It is written as YAML or JSON;\n"
		"every key is also an option of `ringfort run`.",
		rf_example_policy, NULL,
	},
	[RF_CMD_POLICY_CHECK] = {
		"policy check", rf_cmd_policy_check, "say what is wrong in policies, by line and column",
		"FILE...",
		"Reads policies and says what is wrong, with line and column.",
		rf_example_check, "0 all are right, 1 one is not, 125 Ringfort failed",
	},
	[RF_CMD_POLICY_EXPLAIN] = {
		"policy explain", rf_cmd_policy_explain, "print the plan that options and policy come to",
		"[OPTIONS] [--] [PROGRAM]",
		"Prints the plan: every file, right, limit and system call rule of the box that\n"
		"`ringfort run` with the same options would make.",
		rf_example_explain, "0 printed, 125 Ringfort failed or was asked for something wrong",
	},
	[RF_CMD_POLICY_WHY] = {
		"policy why", rf_cmd_policy_why, "tell whether a box may do something, and which rule says so",
		"[OPTIONS] read|write|exec PATH\n[OPTIONS] connect HOST[:PORT]\n[OPTIONS] net [METHOD] URL\n[OPTIONS] syscall|env NAME",
		"Answers for the box that `ringfort run` with the same options would make: the\n"
		"verdict, the rule that made it, and the line that would change it.  Paths are as\n"
		"the box has them; relative ones count from where its program would start.",
		rf_example_why, "0 yes, 1 no, 2 it depends, 125 Ringfort failed",
	},
	[RF_CMD_POLICY_SHOW] = {
		"policy show", rf_cmd_policy_show, "print a profile, or what options and profiles come to",
		"[PROFILE]\n[OPTIONS]",
		"Without anything, lists the profiles: the built-in ones, this machine's in\n"
		"/etc/ringfort/profiles and yours in ~/.config/ringfort/profiles.  With a PROFILE, prints\n"
		"that profile as it is written.  With options, prints the one policy that the\n"
		"defaults, the profiles, the file and the options come to.",
		rf_example_show, "0 printed, 125 Ringfort failed or was asked for something wrong",
	},
	[RF_CMD_POLICY_DIFF] = {
		"policy diff", rf_cmd_policy_diff, "say what one policy allows and another does not",
		"PROFILE|FILE PROFILE|FILE",
		"Says what the second policy allows and the first does not, and the other way round, the\n"
		"most dangerous difference first; each counts with all that it extends, over the\n"
		"defaults.  What has a slash, or .yaml, .yml or .json at its end, is a file; - stands\n"
		"for the defaults alone.",
		rf_example_diff, "0 they allow the same, 1 they do not, 125 Ringfort failed",
	},
	[RF_CMD_POLICY_SCHEMA] = {
		"policy schema", rf_cmd_policy_schema, "print the policy language as JSON Schema",
		"",
		"Prints a JSON Schema (2020-12) of policies, from which editors complete and check\n"
		"them, as YAML or as JSON.",
		rf_example_schema, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_POLICY_LEARN] = {
		"policy learn", rf_cmd_policy_learn, "run a program and write the least policy that lets it pass again",
		"[OPTIONS] -- PROGRAM [ARGUMENTS]",
		"Runs the program with the network in report mode: whatever no rule denies passes, and every\n"
		"host that it reached becomes a rule; with --paths, TLS is ended and methods and paths do,\n"
		"too.  Files are as the options show them, and all walls stand.  Which files it opens and which\n"
		"programs it starts is watched: what it used of what it was shown becomes the rules, many files\n"
		"of a folder become the folder, and what it asked for and did not have is added and named in a\n"
		"comment, but for homes and credentials, which are only named.  What the program prints goes to\n"
		"standard error, unless the policy goes to a file.",
		rf_example_learn, "that of the program; 125 Ringfort failed",
	},
	[RF_CMD_WATCH] = {
		"watch", rf_cmd_watch, "record every run, in a process that no box can reach",
		"[OPTIONS]\n"
		"--status [--json]",
		"Stays, and writes what every `ringfort run` and warden of the same user tells it into\n"
		"a log that can only grow; `ringfort audit` reads it.  What is acknowledged is written\n"
		"and survives the death of every process; the disk is synced every 50 ms.  A policy\n"
		"with `audit: required` is not run where no watcher stands, or where it can't write.\n"
		"\n"
		"It serves a socket in $XDG_RUNTIME_DIR/ringfort (root: /run/ringfort) and writes to\n"
		"~/.local/state/ringfort/audit (root: /var/lib/ringfort/audit), which belong to the\n"
		"user alone.",
		rf_example_watch, "0 it ended as it was asked to, or --status found one; 1 --status found none; 125 Ringfort failed",
	},
	[RF_CMD_NET] = {
		"net", NULL, "what boxes asked of the network, and what they may",
		"COMMAND [OPTIONS]",
		"Where a watcher stands (`ringfort watch`), the gateway's every connection and request is\n"
		"in the audit log: when, which box, host, method, path without its query, status, bytes,\n"
		"how long it took, the verdict and the rule that made it.  `log` and `summary` read it; the\n"
		"others look at the network of a box that lives, and change it.",
		rf_example_net, NULL,
	},
	[RF_CMD_NET_LOG] = {
		"net log", rf_cmd_net_log, "print connections and requests, one by one",
		"[OPTIONS]",
		"Prints what boxes asked of the network, the oldest first, and for what was not allowed\n"
		"the line that would allow it.",
		rf_example_net_log, "0 printed, 1 without events that were changed, 125 Ringfort failed",
	},
	[RF_CMD_NET_SUMMARY] = {
		"net summary", rf_cmd_net_summary, "add them up by host, method and status",
		"[OPTIONS]",
		"Counts what boxes asked of the network: by host, method and status, with bytes; what was\n"
		"refused most, each with the line that would allow it; and how often each credential was used.",
		rf_example_net_summary, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_NET_SHOW] = {
		"net show", rf_cmd_net_show, "print what a box that lives may reach now",
		"BOX",
		"Prints the policy of its network, as it holds at this moment: what it began with, or what\n"
		"it was changed to.  BOX is an id, or as much of its begin as no other box has.",
		rf_example_net_show, "0 printed, 1 no such box or no watcher, 125 Ringfort failed",
	},
	[RF_CMD_NET_SET] = {
		"net set", rf_cmd_net_set, "give a box that lives other rules for its network",
		"BOX [OPTIONS]",
		"What an option names takes the place of what the box has; with --policy, all of it does, and\n"
		"of the file only `network` counts.  New connections go by the new rules at once, and those\n"
		"are cut that they do not allow.  Credentials, published ports, filters and certificates stay\n"
		"as they are.  A box of `ringfort agent run`, one whose policy has final rules and one that a\n"
		"warden's ceiling bounds never gets more than it began with.",
		rf_example_net_set, "0 it holds, 1 no such box, no watcher, or it goes beyond what the box may have, 125 Ringfort failed",
	},
	[RF_CMD_NET_ALLOW] = {
		"net allow", rf_cmd_net_allow, "let a box that lives reach more",
		"BOX RULE ...",
		"Adds rules, as --net has them, to what it may reach; one that was denied in the same words\n"
		"is not denied any more.",
		rf_example_net_allow, "0 they hold, 1 no such box, no watcher, or it goes beyond what the box may have, 125 Ringfort failed",
	},
	[RF_CMD_NET_DENY] = {
		"net deny", rf_cmd_net_deny, "let a box that lives reach less",
		"BOX RULE ...",
		"Adds rules to what it may not reach, whatever allows it.  Connections that they name are cut.",
		rf_example_net_deny, "0 they hold, 1 no such box or no watcher, 125 Ringfort failed",
	},
	[RF_CMD_AUDIT] = {
		"audit", NULL, "show, prove and export what was recorded",
		"COMMAND [OPTIONS]",
		"Where a watcher stands (`ringfort watch`), every run leaves a record in a log that can\n"
		"only grow: each record has the hash of the one before, and the watcher signs how far\n"
		"it went.  These commands read it; none of them writes to it.",
		rf_example_audit, NULL,
	},
	[RF_CMD_AUDIT_SHOW] = {
		"audit show", rf_cmd_audit_show, "print events of the log",
		"[OPTIONS]",
		"Prints the events of the log, the oldest first: all of them, or those that the options\n"
		"want.  A moment is 10m, 2h or 7d (ago), or 2026-11-16T06:50:00Z.",
		rf_example_audit_show, "0 printed, 1 without events that were changed, 125 Ringfort failed",
	},
	[RF_CMD_AUDIT_VERIFY] = {
		"audit verify", rf_cmd_audit_verify, "prove that nobody changed the log",
		"[OPTIONS]",
		"Goes through the whole log and names the first record that was changed, deleted, added\n"
		"or moved, or lies in another log's file.  That the end of a log was cut off can only be\n"
		"seen from an anchor: a file with the signed heads that the watcher told somebody else.",
		rf_example_audit_verify, "0 all is as it was written, 1 it is not, 125 Ringfort failed",
	},
	[RF_CMD_AUDIT_EXPORT] = {
		"audit export", rf_cmd_audit_export, "write the log for another system",
		"[OPTIONS]",
		"Writes one JSON object a line to standard output: the events as they are (jsonl), or\n"
		"in the style of the Open Cybersecurity Schema Framework (ocsf).",
		rf_example_audit_export, "0 written, 1 without events that were changed, 125 Ringfort failed",
	},
	[RF_CMD_AUDIT_REPORT] = {
		"audit report", rf_cmd_audit_report, "what agents did, and what they were granted for nothing",
		"[OPTIONS]",
		"Tells of each agent its runs and how they ended, what it was denied, how much of its\n"
		"budgets it used, when its breaker opened, and alarms; and of each policy what it grants\n"
		"that no run has used, with the tighter policy written out.  Limits keep head room: twice\n"
		"the most that was seen, rounded up, and never more than there is now.  What nobody has\n"
		"measured stays.  The log is proved as `audit verify` does it, without an anchor.",
		rf_example_audit_report, "0 written, 1 written, but the log was changed, 125 Ringfort failed",
	},
	[RF_CMD_AUDIT_INDEX] = {
		"audit index", rf_cmd_audit_index, "find things in a long log at once",
		"[OPTIONS]",
		"`audit show` and `audit export` keep an index of your log, and bring it up to date when\n"
		"they run; this does it beforehand.  It only says which parts of the log need not be read:\n"
		"what is shown comes from the log itself.  It lies beside the log, in audit-index, and can\n"
		"be deleted at any time.",
		rf_example_audit_index, "0 it is up to date, 125 Ringfort failed",
	},
	[RF_CMD_WARDEN] = {
		"warden", rf_cmd_warden, "keep boxes ready, so that runs start at once",
		"[--ceiling NAME|FILE] [--ahead N]\n"
		"--status [--json]",
		"Stays, and serves every `ringfort run` of the same user: the walls of the next\n"
		"box are up before anybody asks for it, and each box is used once.  A run has the\n"
		"same walls and the same result as without a warden; it only starts sooner.  The\n"
		"end of the warden (ctrl-C, SIGTERM, or a crash) is the end of its boxes.\n"
		"\n"
		"It serves a socket in $XDG_RUNTIME_DIR/ringfort (root: /run/ringfort), which\n"
		"belongs to the user alone.  `run -t` and `shell` do without it.",
		rf_example_warden, "0 it ended as it was asked to, or --status found one; 1 --status found none; 125 Ringfort failed",
	},
	[RF_CMD_GATEWAY] = {
		"gateway", rf_cmd_gateway, "stay, as the way out of every box with a network",
		"\n"
		"--status [--json]",
		"Stays, and lets the boxes of every `ringfort run --net` of the same user out, each by\n"
		"its own rules and with its own credentials; without one, each run starts its own.  The\n"
		"end of it (ctrl-C, SIGTERM, or a crash) is the end of these boxes' networks.\n"
		"\n"
		"It serves a socket in $XDG_RUNTIME_DIR/ringfort (root: /run/ringfort), which\n"
		"belongs to the user alone.",
		rf_example_gateway, "0 it ended as it was asked to, or --status found one; 1 --status found none; 125 Ringfort failed",
	},
	[RF_CMD_SERVE] = {
		"serve", rf_cmd_serve, "boxes for others, over HTTP",
		"[--listen ADDRESS:PORT] [--host NAME] [--origin URL]\n"
		"--listen ADDRESS:PORT --tls-cert FILE --tls-key FILE\n"
		"--tls-cert FILE --tls-key FILE --tls-client-ca FILE\n"
		"--check [--listen ADDRESS:PORT]",
		"Serves the API (docs/server.md): runs, and sandboxes that stay.  On api.sock in\n"
		"$XDG_RUNTIME_DIR/ringfort (root: /run/ringfort) for processes of the same user; on each\n"
		"--listen for who has a key; where there is none yet, one is made, and shown once.\n"
		"SIGTERM ends it once what was asked is answered; a second one at once.",
		rf_example_serve, "0 it ended as it was asked to, or --check found nothing; 125 Ringfort failed",
	},
	[RF_CMD_MCP] = {
		"mcp", rf_cmd_mcp, "sandboxes as tools for agents, on standard input and output",
		"[--ceiling NAME|FILE]",
		"Speaks the Model Context Protocol (docs/mcp.md), versions 2024-11-05 to 2026-07-28:\n"
		"tools that run code and commands, sandboxes that stay and their files.  An agent's\n"
		"client starts it; it needs no server and no set-up, and starts a warden of its own.\n"
		"No box has network or files of this machine, unless --ceiling says so.\n"
		"It ends when its input does, and all of its sandboxes with it.",
		rf_example_mcp, "0 its input has ended, or a signal has come; 125 Ringfort failed",
	},
	[RF_CMD_KEY] = {
		"key", NULL, "keys with which others may ask a server for boxes",
		"create|ls|rm",
		"Whoever asks `ringfort serve` on a TCP port shows one: what it may, and how much.", rf_example_key, NULL,
	},
	[RF_CMD_KEY_CREATE] = {
		"key create", rf_cmd_key_create, "make a key, and show it once",
		"[--name NAME] [--scope run,read] [--tenant NAME]\n"
		"[--ceiling NAME|FILE] [--boxes N] [--rate N] [--json]",
		"Prints the key, of which only the hash is kept.  A server that runs knows it at once.",
		rf_example_key_create, "0 made, 125 it could not be",
	},
	[RF_CMD_KEY_LS] = {
		"key ls", rf_cmd_key_ls, "list the keys", "[--json]", "Lists each key's id, tenant, scopes and limits.",
		rf_example_key_ls, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_KEY_RM] = {
		"key rm", rf_cmd_key_rm, "end keys", "ID...",
		"A server that runs refuses them within a second.  What was begun with one goes on.",
		rf_example_key_rm, "0 removed, 1 there is no such key, 125 Ringfort failed",
	},
	[RF_CMD_CREDENTIAL] = {
		"credential", NULL, "credentials that `ringfort serve` adds to requests of boxes",
		"set|ls|rm",
		"A request of the API names them.  Their values are neither in its box nor in what\n"
		"reads requests, and go nowhere but to the hosts that they are bound to.", rf_example_credential, NULL,
	},
	[RF_CMD_CREDENTIAL_SET] = {
		"credential set", rf_cmd_credential_set, "keep one, or another value for it",
		"[--tenant NAME] NAME hosts=HOST [FIELD=VALUE...]",
		"Fields are those of a policy's `credentials`: from, header, basic, query, body,\n"
		"certificate, sigv4, env, budget, cost, money.  The value is a line of standard\n"
		"input, or what `from` names (env:NAME, file:PATH, cmd:COMMAND), and never stands on\n"
		"a command line.  Boxes that begin from now on have it.",
		rf_example_credential_set, "0 it is kept, 125 it could not be",
	},
	[RF_CMD_CREDENTIAL_LS] = {
		"credential ls", rf_cmd_credential_ls, "list them, without their values", "[--tenant NAME] [--json]",
		"Lists each credential's name, tenant and hosts; as JSON, all that is known but its value.",
		rf_example_credential_ls, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_CREDENTIAL_RM] = {
		"credential rm", rf_cmd_credential_rm, "remove some", "[--tenant NAME] NAME...",
		"No box that begins from now on has them.  Those that live keep what they were given.",
		rf_example_credential_rm, "0 removed, 1 there is no such credential, 125 Ringfort failed",
	},
	[RF_CMD_APPROVAL] = {
		"approval", NULL, "writes of a server's boxes that wait until somebody has decided",
		"ls|show|allow|deny",
		"A box whose policy says `network: { writes: hold }` reads what it may, and what it would\n"
		"write waits here.  For who started `ringfort serve`, about boxes of all tenants; others\n"
		"decide over HTTP, with a key of scope admin.",
		rf_example_approval, NULL,
	},
	[RF_CMD_APPROVAL_LS] = {
		"approval ls", rf_cmd_approval_ls, "list what waits, the oldest first", "[--tenant NAME] [--json]",
		"Lists each one's id, its tenant, the agent or the sandbox that asked, the request without\n"
		"its query, how long it is and when it is denied if nobody has decided.",
		rf_example_approval_ls, "0 printed, 1 no server runs, 125 Ringfort failed",
	},
	[RF_CMD_APPROVAL_SHOW] = {
		"approval show", rf_cmd_approval_show, "show one, as it would be sent", "[--json] ID",
		"Prints the request with its query, its fields and up to 64 KiB of its body.  Credentials\n"
		"are placeholders there.  Of one that was decided: by whom and why.",
		rf_example_approval_show, "0 printed, 1 there is no such one or no server runs, 125 Ringfort failed",
	},
	[RF_CMD_APPROVAL_ALLOW] = {
		"approval allow", rf_cmd_approval_allow, "send some now", "[--reason TEXT] [--json] ID...",
		"Each is judged by the rules that hold now, completed with credentials and sent, and what\n"
		"the server said is waited for, up to 50 seconds: who interrupts this cuts it.  Recorded\n"
		"before it is sent, as decided by `operator`.",
		rf_example_approval_allow,
		"0 sent, 1 there is no such one, it was decided before, or no server runs,\n"
		"125 Ringfort failed",
	},
	[RF_CMD_APPROVAL_DENY] = {
		"approval deny", rf_cmd_approval_deny, "never send some", "[--reason TEXT] [--json] ID...",
		"They wait no more, and are not sent.  The program was told when it asked that they wait.",
		rf_example_approval_deny,
		"0 denied, 1 there is no such one, it was decided before, or no server runs,\n"
		"125 Ringfort failed",
	},
	[RF_CMD_PS] = {
		"ps", rf_cmd_ps, "list the boxes that live, and what they use",
		"[--json]",
		"Lists the boxes of the same user that are recorded (`ringfort watch`), the oldest\n"
		"first: what each is granted and how much of it is used.  A box that has just begun\n"
		"is listed without figures; they come after some hundredths of a second.",
		rf_example_ps, "0 printed, 1 no watcher stands, 125 Ringfort failed",
	},
	[RF_CMD_FREEZE] = {
		"freeze", rf_cmd_freeze, "stop all of a box where it is",
		"[--reason TEXT] ID",
		"Stops every process of a box, which can be looked at then, and thawed or killed.  Time\n"
		"goes on: the box still ends at its limit on time.",
		rf_example_freeze, "0 it is frozen, 1 no such box or no watcher, 125 Ringfort failed",
	},
	[RF_CMD_THAW] = {
		"thaw", rf_cmd_thaw, "let a frozen box go on",
		"[--reason TEXT] ID",
		"Lets every process of a frozen box go on where it was stopped.",
		rf_example_thaw, "0 it runs, 1 no such box or no watcher, 125 Ringfort failed",
	},
	[RF_CMD_KILL] = {
		"kill", rf_cmd_kill, "end a box at once",
		"[--reason TEXT] ID",
		"Kills every process of a box.  Its run ends with the status `killed`, and says who\n"
		"wanted it and why; so does the record.",
		rf_example_kill, "0 it is killed, 1 no such box or no watcher, 125 Ringfort failed",
	},
	[RF_CMD_TOP] = {
		"top", rf_cmd_top, "watch boxes in a terminal; freeze, thaw and kill them by a key",
		"[--agent NAME] [--interval 1s]\n"
		"--once [--agent NAME]",
		"Shows the boxes that live and what they use of their limits, the breakers, and what\n"
		"was denied last, as the watcher sees it (`ringfort watch`).  Yellow is 80 % of a\n"
		"limit, red 95 %.\n"
		"\n"
		"keys:\n"
		"  up down     choose a box; also PgUp, PgDn, Home, End\n"
		"  f t k       freeze it, thaw it, kill it (which is asked again)\n"
		"  i, Enter    inspect it\n"
		"  s S         sort by age, processor, memory, limit, agent\n"
		"  /           only agents whose name has this in it; Escape: all\n"
		"  space       look now\n"
		"  ?           help\n"
		"  q           quit; boxes go on",
		rf_example_top, "0 it was left, 1 no watcher stands, 125 Ringfort failed",
	},
	[RF_CMD_BREAKER] = {
		"breaker", NULL, "look at breakers, and open and close them by hand",
		"COMMAND [OPTIONS]",
		"A breaker refuses the runs of an agent that keeps failing, or that has spent its\n"
		"budget.  The watcher keeps them (`ringfort watch`); an agent is named by `--agent`.",
		rf_example_breaker, NULL,
	},
	[RF_CMD_BREAKER_LS] = {
		"breaker ls", rf_cmd_breaker_ls, "list the breakers, those that are open first",
		"[--json]",
		"Lists every breaker that the watcher knows: its state, how the runs of its owner\n"
		"ended, and, if it is not closed, why, and when the next run may start.  Hosts that one\n"
		"box leaves alone, and credentials that are spent there, are listed with that box.",
		rf_example_breaker_ls, "0 printed, 1 no watcher stands, 125 Ringfort failed",
	},
	[RF_CMD_BREAKER_RESET] = {
		"breaker reset", rf_cmd_breaker_reset, "close a breaker, and forget what its owner spent",
		"[KIND] NAME",
		"Closes a breaker with a clean slate, and gives its owner a fresh budget.  KIND is\n"
		"agent, host, tool or credential; without it, agent.  A host or a credential is reset in\n"
		"every box, within two seconds.",
		rf_example_breaker_reset, "0 closed, 1 nothing is known of it or no watcher stands, 125 Ringfort failed",
	},
	[RF_CMD_BREAKER_TRIP] = {
		"breaker trip", rf_cmd_breaker_trip, "open a breaker",
		"[--for TIME] [--reason TEXT] [KIND] NAME",
		"Opens a breaker, so that its owner's next run is refused: for a while, or until\n"
		"somebody resets it.  What runs already is not touched; but a host or a credential is\n"
		"refused to every box, within two seconds.  KIND is agent, host, tool or credential;\n"
		"without it, agent.",
		rf_example_breaker_trip, "0 opened, 1 no watcher stands, 125 Ringfort failed",
	},
	[RF_CMD_METRICS] = {
		"metrics", rf_cmd_metrics, "print figures for Prometheus",
		"",
		"Prints what is known of boxes and runs in Prometheus's text format: what the\n"
		"watcher has counted, or, where none stands, what the runtime directory shows of the\n"
		"boxes of whoever asks.  A figure that nobody keeps is left out.",
		rf_example_metrics, "0 printed, 125 Ringfort failed",
	},
	[RF_CMD_DOCTOR] = {
		"doctor", rf_cmd_doctor, "tell what this machine can enforce, and how to fix what it can't",
		"[--json]",
		"Tries, one by one, what a box is made of on this machine and as this user, and\n"
		"says what is missing, what that means and how to get it.  It changes nothing\n"
		"and leaves nothing behind.  Root's boxes and an ordinary user's are made in\n"
		"different ways: run it as whoever will run boxes.\n"
		"\n"
		"marks:\n"
		"  ok    was tried, and works\n"
		"  part  works, and the line says what of it does not\n"
		"  no    does not work, or could not be tried\n"
		"  -     a box of this user does without",
		rf_example_doctor, "0 every required wall can be raised, 1 one can't, 125 Ringfort failed",
	},
	[RF_CMD_HELP] = {
		"help", rf_cmd_help, "tell about a command",
		"[COMMAND]",
		"Prints what `ringfort COMMAND --help` prints.  `--json` gives every command and\n"
		"option as one object, from which man pages and completions are made.",
		rf_example_help, "0 printed, 125 there is no such command",
	},
};
/* clang-format on */
