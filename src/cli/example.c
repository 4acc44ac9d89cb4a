/* Examples of the commands: see example.h. */
#include "cli/example.h"

#include <stddef.h>

/* clang-format off */
const struct rf_cmd_example rf_example_run[] = {
	{ "ringfort run -- python3 script.py",            "the current directory is read-only" },
	{ "ringfort run --write . -- make",               "let it change the current directory" },
	{ "ringfort run --memory 64M --time 1s --json -- python3 -c 'print(1)'", NULL },
	{ "ringfort run --read ~/data:/data --profile python -- python3 report.py", NULL },
	{ "ringfort run --lang python -c 'print(6 * 7)'", "code instead of a program" },
	{ "echo 'print(6*7)' | ringfort run --lang python --json", NULL },
	{ "ringfort run --list-langs", NULL },
	{ "ringfort run -t -- python3", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_shell[] = {
	{ "ringfort shell",                      "look around; the current directory is read-only" },
	{ "ringfort shell --write .",            "work on the current directory" },
	{ "ringfort shell --profile python -- python3", "an interpreter instead of a shell" },
	{ "ringfort shell <install.sh",          "a script, without a terminal" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_create[] = {
	{ "ringfort create --name fix-bug --workspace .", "over the current directory" },
	{ "ringfort exec fix-bug -- make test", "a run in it" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_exec[] = {
	{ "ringfort exec fix-bug -- make test", NULL },
	{ "ringfort exec --memory 1G fix-bug -- npm install", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_shadow[] = {
	{ "ringfort shadow --workspace . --verify 'make test' -- ./agent --fix", NULL },
	{ "ringfort shadow --workspace . --ask -- ./agent --fix", "somebody looks at it instead" },
	{ "ringfort shadow --workspace . --verify true --allow .envrc -- ./agent", NULL },
	{ "ringfort undo", "takes it back" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_workspaces[] = {
	{ "ringfort workspaces", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_checkpoint[] = {
	{ "ringfort checkpoint before-refactoring", NULL },
	{ "ringfort checkpoint -w fix-bug --sync", NULL },
	{ "ringfort checkpoint --live half-way", "while a program runs in it" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_undo[] = {
	{ "ringfort undo", "the last run" },
	{ "ringfort undo 3", "the last three" },
	{ "ringfort undo before-refactoring", "to a checkpoint" },
	{ "ringfort undo @0", "to the directory as it is" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_discard[] = {
	{ "ringfort discard fix-bug", NULL },
	{ "ringfort discard --stop fix-bug", "and end what runs in it" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_log[] = {
	{ "ringfort log", NULL },
	{ "ringfort log -w fix-bug --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_changes[] = {
	{ "ringfort diff", "what differs from the directory" },
	{ "ringfort diff before-refactoring", "what has changed since" },
	{ "ringfort diff --stat", "and how much" },
	{ "ringfort diff --patch > agent.patch", "for `git apply` or `patch -p1`" },
	{ "ringfort diff @2 @5 --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_apply[] = {
	{ "ringfort apply", "all that is no danger to whoever uses the directory" },
	{ "ringfort apply --only src --only Makefile", NULL },
	{ "ringfort apply --only .github/workflows/ci.yml", "what acts later has to be named" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_fork[] = {
	{ "ringfort fork another-way", "tried out beside this one" },
	{ "ringfort fork -w fix-bug another-way", NULL },
	{ "ringfort fork -n 8 attempt", "attempt-1 to attempt-8" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_rm[] = {
	{ "ringfort rm fix-bug", "with all that was done in it" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_gc[] = {
	{ "ringfort gc", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file[] = {
	{ "ringfort file ls -w fix-bug src", NULL },
	{ "ringfort file cp ./notes.md fix-bug:docs/", "into the workspace" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_cat[] = {
	{ "ringfort file cat src/main.c", NULL },
	{ "ringfort file cat --at before-refactoring src/main.c", "as it was there" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_ls[] = {
	{ "ringfort file ls", "the top" },
	{ "ringfort file ls -l src", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_stat[] = {
	{ "ringfort file stat --json Makefile", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_find[] = {
	{ "ringfort file find --name '*.c'", NULL },
	{ "ringfort file find --content deprecated src", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_cp[] = {
	{ "ringfort file cp ./notes.md :docs/notes.md", "into the workspace" },
	{ "ringfort file cp fix-bug:report.txt .", "and out of it" },
	{ "make-input | ringfort file cp - :input.json", "from standard input" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_file_rm[] = {
	{ "ringfort file rm core", NULL },
	{ "ringfort file rm -r build dist", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent[] = {
	{ "ringfort agent create fixer --policy agent.yaml --workspace .", NULL },
	{ "ringfort agent run fixer -- make test", NULL },
	{ "ringfort diff -w fixer", "what it changed" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent_create[] = {
	{ "ringfort agent create fixer --policy agent.yaml --workspace .", NULL },
	{ "ringfort agent create writer --profile python --memory 1G --time 10m", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent_run[] = {
	{ "ringfort agent run fixer -- make test", NULL },
	{ "ringfort agent run --json fixer -- ./agent --fix", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent_ls[] = {
	{ "ringfort agent ls", NULL },
	{ "ringfort agent ls --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent_show[] = {
	{ "ringfort agent show fixer", NULL },
	{ "ringfort agent show --json fixer", "and what it did" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_agent_rm[] = {
	{ "ringfort agent rm fixer", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_export[] = {
	{ "ringfort export fix-bug > fix-bug.tar.zst", NULL },
	{ "ringfort export --at before-refactoring | tar --zstd -t", "what there was then" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_import[] = {
	{ "ringfort import fix-bug < fix-bug.tar.zst", NULL },
	{ "git archive HEAD | ringfort import --max-bytes 1G fix-bug", "plain tar does, too" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_policy[] = {
	{ "ringfort policy check agent.yaml", NULL },
	{ "ringfort policy explain --profile strict", NULL },
	{ "ringfort policy why read /etc/shadow", NULL },
	{ "ringfort policy show", "which profiles there are" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_check[] = {
	{ "ringfort policy check agent.yaml", NULL },
	{ "ringfort policy check policies/*.yaml", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_explain[] = {
	{ "ringfort policy explain --policy agent.yaml --write ./out", NULL },
	{ "ringfort policy explain --profile strict --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_why[] = {
	{ "ringfort policy why read /etc/shadow",    NULL },
	{ "ringfort policy why --write ./out write ./out/x", "under the options of a run" },
	{ "ringfort policy why exec git",            NULL },
	{ "ringfort policy why connect example.com:443", NULL },
	{ "ringfort policy why --net api.github.com net POST https://api.github.com/x", NULL },
	{ "ringfort policy why --net db.example:5433 net TCP db.example:5433", "what is neither HTTP nor TLS" },
	{ "ringfort policy why --profile strict syscall bpf", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_show[] = {
	{ "ringfort policy show",                     "which profiles there are" },
	{ "ringfort policy show git",                 "what one says" },
	{ "ringfort policy show --profile python,git --memory 1G", NULL },
	{ "ringfort policy show --policy agent.yaml --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_diff[] = {
	{ "ringfort policy diff python build-tools", NULL },
	{ "ringfort policy diff - ./agent.yaml",     "what a policy changes" },
	{ "ringfort policy diff old.yaml new.yaml --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_schema[] = {
	{ "ringfort policy schema > policy.schema.json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_gateway[] = {
	{ "ringfort gateway &",                "from now on every run with a network goes through it" },
	{ "ringfort gateway --status",         NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_warden[] = {
	{ "ringfort warden &",                 "from now on every run of yours takes a box from it" },
	{ "ringfort warden --ceiling strict",  "and none goes beyond that profile" },
	{ "ringfort warden --status",          NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_serve[] = {
	{ "ringfort serve &",                         "for processes of yours, on a unix socket" },
	{ "ringfort serve --listen 127.0.0.1:7070",   "and for who has a key" },
	{ "ringfort serve --check --listen [::1]:0",  NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_mcp[] = {
	{ "ringfort mcp </dev/null",                  "ends at once; a client's configuration starts it" },
	{ NULL },
};

const struct rf_cmd_example rf_example_key[] = {
	{ "ringfort key ls",                          NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_key_create[] = {
	{ "ringfort key create --name ci",            NULL },
	{ "ringfort key create --scope read --tenant acme --ceiling strict", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_key_ls[] = {
	{ "ringfort key ls --json",                   NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_key_rm[] = {
	{ "ringfort key rm 0123456789ab",             NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_credential[] = {
	{ "ringfort credential ls",                   NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_credential_set[] = {
	{ "ringfort credential set --tenant acme github hosts=api.github.com", NULL },
	{ "ringfort credential set npm hosts=npm.example from=env:NPM_TOKEN", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_credential_ls[] = {
	{ "ringfort credential ls --tenant acme --json", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_credential_rm[] = {
	{ "ringfort credential rm --tenant acme github", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_approval[] = {
	{ "ringfort approval ls", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_approval_ls[] = {
	{ "ringfort approval ls --tenant acme --json", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_approval_show[] = {
	{ "ringfort approval show 3f2a9c0d1e4b5a67", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_approval_allow[] = {
	{ "ringfort approval allow --reason \"looked at it\" 3f2a9c0d1e4b5a67", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_approval_deny[] = {
	{ "ringfort approval deny 3f2a9c0d1e4b5a67", NULL },
	{ NULL },
};

const struct rf_cmd_example rf_example_breaker[] = {
	{ "ringfort breaker ls",                NULL },
	{ "ringfort breaker reset bot",         "let an agent go on" },
	{ "ringfort breaker trip --for 1h bot", "stop one for an hour" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_breaker_ls[] = {
	{ "ringfort breaker ls",        NULL },
	{ "ringfort breaker ls --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_breaker_reset[] = {
	{ "ringfort breaker reset bot",                  "an agent's" },
	{ "ringfort breaker reset host api.example.org", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_breaker_trip[] = {
	{ "ringfort breaker trip bot",          "until it is reset" },
	{ "ringfort breaker trip --for 1h bot", NULL },
	{ "ringfort breaker trip --reason 'under review' bot", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_ps[] = {
	{ "ringfort ps",        NULL },
	{ "ringfort ps --json", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_freeze[] = {
	{ "ringfort freeze 3fa9", "the begin of an id will do" },
	{ "ringfort freeze --reason 'what is it doing?' 3fa9c04b12aa90de", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_thaw[] = {
	{ "ringfort thaw 3fa9", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_kill[] = {
	{ "ringfort kill 3fa9", "the begin of an id will do" },
	{ "ringfort kill --reason 'took too long' 3fa9", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_metrics[] = {
	{ "ringfort metrics",      NULL },
	{ "ringfort metrics | grep ringfort_boxes", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_watch[] = {
	{ "ringfort watch &",                  "from now on every run of yours is recorded" },
	{ "ringfort watch --anchor syslog",    "and how far the log went is told to syslog" },
	{ "ringfort watch --keep 10G --keep-days 90", NULL },
	{ "ringfort watch --status",           NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit[] = {
	{ "ringfort audit show --since 1h",     "what was recorded in the last hour" },
	{ "ringfort audit verify",              "that nobody changed it" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_learn[] = {
	{ "ringfort policy learn -- curl -s https://example.com", NULL },
	{ "ringfort policy learn --write . -o npm.yaml -- npm ci", "then: ringfort run --policy npm.yaml -- npm ci" },
	{ "ringfort policy learn --paths -- ./deploy", "with methods and paths" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net[] = {
	{ "ringfort net log --since 1h",              NULL },
	{ "ringfort net summary --agent fixer",       NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_log[] = {
	{ "ringfort net log --follow",                "as it happens" },
	{ "ringfort net log --box 150fd0fb15ca92ec",  "of one run" },
	{ "ringfort net log --since 1h --csv",        NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_summary[] = {
	{ "ringfort net summary --since 1d",          NULL },
	{ "ringfort net summary --json",              NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_show[] = {
	{ "ringfort net show 3fa9",                   "the begin of an id will do" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_set[] = {
	{ "ringfort net set 3fa9 --net api.example",  "and nothing else" },
	{ "ringfort net set 3fa9 --net none --reason 'what is it doing?'", NULL },
	{ "ringfort net set 3fa9 --policy wider.yaml", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_allow[] = {
	{ "ringfort net allow 3fa9 'GET pypi.org/simple/**'", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_net_deny[] = {
	{ "ringfort net deny 3fa9 '*.example' 10.0.0.0/8", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit_show[] = {
	{ "ringfort audit show --since 1h --kind run", NULL },
	{ "ringfort audit show --verdict timeout --last 20", NULL },
	{ "ringfort audit show --follow --json", NULL },
	{ "ringfort audit show --box 150fd0fb15ca92ec", "all that is known of one run" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit_verify[] = {
	{ "ringfort audit verify", NULL },
	{ "ringfort audit verify --anchor /var/log/ringfort-heads", "its end, too" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit_report[] = {
	{ "ringfort audit report --since 7d", NULL },
	{ "ringfort audit report --agent builder --format html > builder.html", NULL },
	{ "ringfort audit report --agent builder --format policy > tighter.yaml", "what would have done" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit_index[] = {
	{ "ringfort audit index", "take in what came, from a timer" },
	{ "ringfort audit index --rebuild", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_audit_export[] = {
	{ "ringfort audit export --since 2026-11-01 > november.jsonl", NULL },
	{ "ringfort audit export --format ocsf | your-siem", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_doctor[] = {
	{ "ringfort doctor",      "a look at this machine" },
	{ "sudo ringfort doctor", "the same for root's boxes" },
	{ "ringfort doctor >/dev/null && ringfort run --write . -- make", NULL },
	{ "ringfort doctor --json | jq '.checks[] | select(.state == \"absent\").remedy'", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_help[] = {
	{ "ringfort help run",            NULL },
	{ "ringfort help policy explain", NULL },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_all[] = {
	{ "ringfort run -- python3 script.py",        "the current directory is read-only" },
	{ "ringfort run --write . -- make",           "let it change the current directory" },
	{ "ringfort run --memory 64M --time 1s --json -- node app.js", NULL },
	{ "ringfort policy explain --profile strict", "what that box would be" },
	{ NULL, NULL },
};

const struct rf_cmd_example rf_example_top[] = {
	{ "ringfort top",                 NULL },
	{ "ringfort top --agent bot",     "boxes of agents with that in their name" },
	{ "ringfort top --once | head",   "one frame, as text" },
	{ NULL, NULL },
};
/* clang-format on */
