"""Code in a language: `ringfort run --lang`, for every language that this machine has."""
import json
import os
import shutil
import subprocess

import pytest

PATH = "/usr/local/bin:/usr/bin:/bin"

# What each language needs on this machine, and five programs in it: one says hello, one prints its
# input in capitals, one prints its arguments, one never ends, one takes all the memory it can get.
LANGUAGES = {
    "python": (["python3"], "print('hello')",
               "import sys; print(sys.stdin.read().upper(), end='')",
               "import sys; print('|'.join(sys.argv[1:]))",
               "while True: pass",
               "x = []\nwhile True: x.append(bytearray(4 << 20))"),
    "node": (["node"], "console.log('hello')",
             "process.stdout.write(require('fs').readFileSync(0, 'utf8').toUpperCase())",
             "console.log(process.argv.slice(2).join('|'))",
             "for (;;);",
             "const x = []; for (;;) x.push(Buffer.alloc(4 << 20, 1))"),
    "bash": (["bash"], "echo hello", "tr a-z A-Z", "IFS='|'; echo \"$*\"", "while :; do :; done",
             "x=x; while :; do x=$x$x; done"),
    "sh": (["sh"], "echo hello", "tr a-z A-Z", "IFS='|'; echo \"$*\"", "while :; do :; done",
           "x=x; while :; do x=$x$x; done"),
    "ruby": (["ruby"], "puts 'hello'", "print STDIN.read.upcase", "puts ARGV.join('|')",
             "loop {}", "x = []; loop { x << 'x' * (4 << 20) }"),
    "perl": (["perl"], "print \"hello\\n\";", "print uc while <STDIN>;",
             "print join('|', @ARGV), \"\\n\";", "1 while 1;",
             "my @x; push @x, 'x' x (4 << 20) . $_ for 1 .. 1e6;"),
    "lua": (["lua5.4"], "print('hello')", "io.write(io.read('a'):upper())",
            "print(table.concat(arg, '|'))", "while true do end",
            "local x = {} while true do x[#x + 1] = ('x'):rep(4 << 20) .. #x end"),
    "php": (["php"], "<?php echo \"hello\\n\";",
            "<?php echo strtoupper(stream_get_contents(STDIN));",
            "<?php echo implode('|', array_slice($argv, 1)), \"\\n\";", "<?php while (true);",
            "<?php ini_set('memory_limit', -1); $x = []; while (true) $x[] = str_repeat('x', 4 << 20);"),
    "r": (["Rscript"], "cat('hello\\n')", "cat(toupper(readLines(file('stdin'))), sep='\\n')",
          "cat(paste(commandArgs(TRUE), collapse='|'), '\\n', sep='')", "repeat {}",
          "x <- list(); repeat x[[length(x) + 1]] <- runif(1e6)"),
    "c": (["gcc"], "#include <stdio.h>\nint main(void) { puts(\"hello\"); }",
          "#include <ctype.h>\n#include <stdio.h>\n"
          "int main(void) { for (int c; (c = getchar()) >= 0;) putchar(toupper(c)); }",
          "#include <stdio.h>\nint main(int c, char **v) "
          "{ for (int i = 1; i < c; i++) printf(\"%s%s\", i > 1 ? \"|\" : \"\", v[i]); puts(\"\"); }",
          "int main(void) { for (volatile int x = 0;;) x++; }",
          "#include <stdlib.h>\n#include <string.h>\n"
          "int main(void) { for (;;) { char *x = malloc(4 << 20); if (!x) abort(); memset(x, 1, 4 << 20); "
          "__asm__ volatile(\"\" :: \"r\"(x) : \"memory\"); } }"),
    "cpp": (["g++"], "#include <cstdio>\nint main() { std::puts(\"hello\"); }",
            "#include <cctype>\n#include <cstdio>\n"
            "int main() { for (int c; (c = std::getchar()) >= 0;) std::putchar(std::toupper(c)); }",
            "#include <iostream>\nint main(int c, char **v) "
            "{ for (int i = 1; i < c; i++) std::cout << (i > 1 ? \"|\" : \"\") << v[i]; std::cout << std::endl; }",
            "int main() { for (volatile int x = 0;;) x = x + 1; }",
            "#include <vector>\nint main() { std::vector<std::vector<char>> x; "
            "for (;;) x.emplace_back(4 << 20, 1); }"),
    "go": (),  # below: its programs are long
    "rust": (["rustc", "cc"], "fn main() { println!(\"hello\"); }",
             "use std::io::Read;\nfn main() { let mut s = String::new(); "
             "std::io::stdin().read_to_string(&mut s).unwrap(); print!(\"{}\", s.to_uppercase()); }",
             "fn main() { println!(\"{}\", std::env::args().skip(1).collect::<Vec<_>>().join(\"|\")); }",
             "fn main() { let mut x = 0u64; loop { x = unsafe { std::ptr::read_volatile(&x) }.wrapping_add(1); } }",
             "fn main() { let mut x = Vec::new(); loop { x.push(vec![1u8; 4 << 20]); let _ = unsafe { std::ptr::read_volatile(x[x.len() - 1].as_ptr()) }; } }"),
    "java": (["java", "javac"],
             "public class Hello { public static void main(String[] a) { System.out.println(\"hello\"); } }",
             "class Main { public static void main(String[] a) throws Exception { "
             "System.out.print(new String(System.in.readAllBytes()).toUpperCase()); } }",
             "class Main { public static void main(String[] a) { System.out.println(String.join(\"|\", a)); } }",
             "class Main { public static void main(String[] a) { for (;;); } }",
             "class Main { public static void main(String[] a) { var x = new java.util.ArrayList<byte[]>(); "
             "for (;;) { byte[] b = new byte[4 << 20]; java.util.Arrays.fill(b, (byte) 1); x.add(b); } } }"),
    "typescript": (["deno|tsx|bun|ts-node"], "const x: string = 'hello'; console.log(x)", None, None,
                   "for (;;);", None),
    "deno": (["deno"], "console.log('hello')", None, "console.log(Deno.args.join('|'))", "for (;;);",
             "const x = []; for (;;) x.push(new Uint8Array(4 << 20).fill(1))"),
}
LANGUAGES["go"] = (
    ["go"], "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n",
    "package main\n\nimport (\n\t\"bytes\"\n\t\"io\"\n\t\"os\"\n)\n\n"
    "func main() { b, _ := io.ReadAll(os.Stdin); os.Stdout.Write(bytes.ToUpper(b)) }\n",
    "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n\n"
    "func main() { fmt.Println(strings.Join(os.Args[1:], \"|\")) }\n",
    "package main\n\nfunc main() { for { } }\n",
    "package main\n\nvar x [][]byte\n\nfunc main() { for { b := make([]byte, 4<<20); "
    "for i := range b { b[i] = 1 }; x = append(x, b) } }\n")
HELLO, UPPER, ARGUMENTS, ENDLESS, HUNGRY = 1, 2, 3, 4, 5

# A limit that lets the compiler or the virtual machine start and stops the program soon after.
MEMORY = {"go": "600M", "rust": "700M", "java": "300M"}
CALLERS_PATH = os.environ.get("PATH", "")


def take(name, which, who):
    """The language's program, or a skip that says what is missing."""
    path = PATH + ":" + CALLERS_PATH if who == "root" or os.geteuid() else PATH
    for need in LANGUAGES[name][0]:
        if not any(shutil.which(choice, path=path) for choice in need.split("|")):
            pytest.skip(f"no {need.replace('|', ' or ')} on this machine for {who}")
    if LANGUAGES[name][which] is None:
        pytest.skip(f"no such program in {name}")
    return LANGUAGES[name][which]


@pytest.fixture
def caller(who):
    """The environment in which the toolchains of whoever runs the tests are found."""
    return {"PATH": PATH + ":" + CALLERS_PATH} if who == "root" or os.geteuid() else {}


def put(path, text):
    path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
    path.chmod(0o644)
    return path


EVERY = pytest.mark.parametrize("name", LANGUAGES)


@EVERY
def test_a_program_says_hello(run_box, as_who, caller, name):
    done = run_box("--lang", name, "-c", take(name, HELLO, as_who), env=caller, timeout=150)
    assert (done.code, done.out) == (0, b"hello\n"), done.err


@EVERY
def test_a_program_reads_standard_input(run_box, as_who, caller, name):
    done = run_box("--lang", name, "-c", take(name, UPPER, as_who), stdin=b"some text\nmore\n",
                   env=caller, timeout=150)
    assert (done.code, done.out) == (0, b"SOME TEXT\nMORE\n"), done.err


@EVERY
def test_a_program_gets_its_arguments_as_they_are(run_box, as_who, caller, name):
    words = ["one two", "$HOME `id`", "'", '"', "a;b", "ä", "-x", "--json"]
    if name == "r":
        words = [word for word in words if not word.startswith("-")]  # Rscript reads these itself
    done = run_box("--lang", name, "-c", take(name, ARGUMENTS, as_who), "--", *words,
                   env=caller, timeout=150)
    assert (done.code, done.out.decode()) == (0, "|".join(words) + "\n"), done.err


@EVERY
def test_a_program_in_a_file_beside_the_caller(run_box, workdir, as_who, caller, name):
    extension = {"python": "py", "node": "js", "typescript": "ts", "deno": "ts", "ruby": "rb", "perl": "pl",
                 "bash": "sh", "rust": "rs", "r": "R"}.get(name, name)
    file = put(workdir / f"Hello.{extension}", take(name, HELLO, as_who))
    done = run_box("--lang", name, file.name, env=caller, timeout=150)
    assert (done.code, done.out) == (0, b"hello\n"), done.err
    done = run_box("--lang", "auto", file.name, env=caller, timeout=150)
    assert (done.code, done.out) == (0, b"hello\n"), done.err


@EVERY
def test_a_program_that_never_ends_is_stopped(run_json, as_who, caller, name):
    # What is compiled needs some of it for that; of Go the library is compiled along.
    time = {"go": "15s", "c": "2s", "cpp": "2s", "rust": "2s", "java": "2s"}.get(name, "1s")
    result = run_json("--lang", name, "--time", time, "--cpu-time", "60s", "-c",
                      take(name, ENDLESS, as_who), env=caller, timeout=60)
    assert result["status"] == "timeout", result
    assert "build failed" not in result["stderr"]


@EVERY
def test_a_program_that_takes_too_much_memory_is_stopped(run_json, as_who, caller, name):
    result = run_json("--lang", name, "--memory", MEMORY.get(name, "200M"), "--time", "60s", "-c",
                      take(name, HUNGRY, as_who), env=caller, timeout=90)
    assert result["status"] == "memory", result
    assert "memory" in result["limits_hit"], result
    assert "build failed" not in result["stderr"]


# ------------------------------------------------------------- where code comes from

def test_code_from_standard_input_leaves_the_program_none(run_box, as_who):
    code = b"import sys\nprint(repr(sys.stdin.read()), sys.argv[1:])\n"
    assert run_box("--lang", "python", stdin=code) == (0, b"'' []\n", b"")
    assert run_box("--lang", "python", "-", "a", stdin=code) == (0, b"'' ['a']\n", b"")


def test_a_shown_file_is_run_in_its_place_and_finds_its_neighbours(run_box, workdir, as_who):
    put(workdir / "helper.py", "answer = 42\n")
    (workdir / "sub").mkdir()
    (workdir / "sub").chmod(0o755)
    put(workdir / "main.py", "import helper; print(helper.answer, __file__)\n")
    os.symlink("../main.py", workdir / "sub/link.py")
    expected = f"42 {workdir}/main.py\n".encode()
    assert run_box("--lang", "python", "main.py") == (0, expected, b"")
    assert run_box("--lang", "py", "sub/link.py") == (0, expected, b"")
    assert run_box("--read", f"{workdir}:/mnt/here", "--current", "none", "--lang", "python", "main.py") == (
        0, b"42 /mnt/here/main.py\n", b"")


def test_a_file_that_is_not_shown_is_copied_in(run_box, workdir, as_who):
    file = put(workdir / "main.py", "import os; print(__file__, sorted(os.listdir('/code')), os.getcwd())\n")
    done = run_box("--current", "none", "--lang", "python", file)
    assert done == (0, b"/code/main.py ['main.py'] /home/box\n", b"")


def test_code_in_the_box_can_be_read_and_not_changed(run_box, as_who):
    done = run_box("--lang", "sh", "-c", "echo x >>/code/main.sh; rm -f /code/main.sh; touch /code/x; cat /code/main.sh")
    assert done.code == 0 and done.out.startswith(b"echo x")
    assert done.err.count(b"Read-only") + done.err.count(b"Permission denied") >= 3, done.err


def test_a_project_that_lies_at_code_keeps_its_place(run_box, workdir, as_who):
    put(workdir / "mine", "project\n")
    done = run_box("--read", f"{workdir}:/code", "--lang", "sh", "-c", "cat /code/mine; echo $0")
    assert done == (0, b"project\n/ringfort-code/main.sh\n", b"")


def test_a_file_with_an_odd_name(run_box, workdir, as_who):
    for name in ("-c", "a b'\"$x.py", "é.py", "no-extension"):
        put(workdir / name, "print('fine')\n")
        assert run_box("--lang", "python", "--", name) == (0, b"fine\n", b""), name
        assert run_box("--lang", "python", "--current", "none", "--", name) == (0, b"fine\n", b""), name


def test_a_compiler_gets_the_extension_that_it_wants(run_box, workdir, as_who, need):
    need("java", "javac")
    put(workdir / "program.txt", LANGUAGES["java"][HELLO])
    assert run_box("--lang", "java", "program.txt").out == b"hello\n"


@pytest.mark.parametrize("code", ["print('ä → 雪 🦀')", "print('''a\"b'c`d$e\\n\nf''')", "\n\n\nprint(1)\n\n"])
def test_code_is_taken_as_it_is(run_box, as_who, code):
    expected = subprocess.run(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, check=True,
                              env={"LANG": "C.UTF-8"}).stdout
    assert run_box("--lang", "python", "-c", code) == (0, expected, b"")
    assert run_box("--lang", "python", stdin=code.encode()) == (0, expected, b"")


def test_code_with_a_nul_byte_is_refused(run_box, workdir, as_who):
    done = run_box("--lang", "python", stdin=b"print(1)\0\n")
    assert done.code == 125 and b"holds a NUL byte" in done.err and b"hint: " in done.err
    file = put(workdir / "binary.py", b"\0\0")
    done = run_box("--current", "none", "--lang", "python", file)
    assert done.code == 125 and b"holds a NUL byte" in done.err


def test_large_code_fits_and_huge_code_is_refused(run_box, workdir, as_who):
    line = b"x = 1  # " + b"y" * 1000 + b"\n"
    large = line * 9000 + b"print(x)\n"  # nine times what the skeleton of a box has room for
    assert run_box("--lang", "python", stdin=large) == (0, b"1\n", b"")
    huge = line * 17000 + b"print(x)\n"
    done = run_box("--lang", "python", stdin=huge)
    assert done.code == 125 and b"more than 16 MiB of code" in done.err and b"--read" in done.err
    put(workdir / "huge.py", huge)
    assert run_box("--lang", "python", "huge.py") == (0, b"1\n", b"")  # where it is: nothing is copied


def test_code_does_not_count_as_the_programs_disk(run_json, as_who):
    code = b"import os; os.system('head -c 900000 /dev/zero >/tmp/x')\n" + b"# " + b"x" * 4000000
    result = run_json("--disk", "1M", "--lang", "python", stdin=code)
    assert (result["status"], result["stderr"]) == ("ok", ""), result


@pytest.mark.parametrize("name, story", [
    ("missing.py", b"No such file"), (".", b"is a directory"), ("sub", b"is a directory"),
])
def test_a_file_that_is_none(run_box, workdir, as_who, name, story):
    (workdir / "sub").mkdir()
    done = run_box("--lang", "python", name)
    assert done.code == 125 and story in done.err and done.out == b"", done


def test_a_file_that_cannot_be_read(run_box, workdir):
    put(workdir / "secret.py", "print(1)").chmod(0)
    done = run_box("--lang", "python", "secret.py", user="user")
    assert done.code == 125 and b"Permission denied" in done.err


def test_code_from_a_pipe(run_box, workdir, as_who):
    script = workdir / "fifo.py"
    os.mkfifo(script, 0o644)
    os.chown(script, workdir.stat().st_uid, workdir.stat().st_gid)
    with subprocess.Popen(["sh", "-c", 'echo "print(42)" >"$0"', script]) as writer:
        done = run_box("--current", "none", "--lang", "python", script)
        assert writer.wait() == 0
    assert done == (0, b"42\n", b"")


# ------------------------------------------------------------- builds

@pytest.mark.parametrize("name, code", [("c", "int main( { }"), ("cpp", "int main( { }"), ("rust", "fn main( {"),
                                        ("go", "package main\n\nfunc main( {\n")])
def test_a_failing_compiler_is_heard(run_json, as_who, caller, name, code):
    take(name, HELLO, as_who)
    result = run_json("--lang", name, "-c", code, env=caller, timeout=60)
    assert result["status"] == "failed" and result["exit_code"] in (1, 2), result
    assert result["stdout"] == "" and "main" in result["stderr"]
    assert result["stderr"].endswith("ringfort: the build failed, so nothing was run\n")


def test_java_says_itself_that_it_did_not_compile(run_json, as_who, need):
    need("java", "javac")
    result = run_json("--lang", "java", "-c", "class Main { int x = ; }")
    assert result["status"] == "failed" and "compilation failed" in result["stderr"]


def test_a_compiled_program_keeps_its_exit_code_and_signal(run_json, as_who, need):
    need("gcc")
    result = run_json("--lang", "c", "-c", "int main(void) { return 42; }")
    assert (result["status"], result["exit_code"]) == ("failed", 42)
    result = run_json("--lang", "c", "-c", "int main(void) { *(volatile int *)0 = 1; }")
    assert (result["status"], result["signal"]) == ("failed", 11)


def test_the_compiler_does_not_eat_the_input(run_box, workdir, as_who, need):
    need("gcc")
    config = put(workdir / "config.yaml", "languages:\n  greedy:\n    program: [gcc]\n    extensions: [c]\n"
                 "    build: 'cat >/dev/null; \"$program\" -o \"$out/main\" \"$source\"'\n")
    done = run_box("--config", config, "--lang", "greedy", "-c", LANGUAGES["c"][UPPER], stdin=b"text")
    assert done == (0, b"TEXT", b"")


# ------------------------------------------------------------- languages that are not there

def test_an_unknown_language_is_named_with_its_nearest(run_box, as_who):
    done = run_box("--lang", "pyhton", "-c", "1")
    assert done.code == 125 and b"did you mean `python`" in done.err and b"--list-langs" in done.err
    done = run_box("--lang", "brainfork", "-c", "1")
    assert done.code == 125 and b"there is no language `brainfork`" in done.err and b"--list-langs" in done.err


def test_a_language_that_is_not_installed_names_the_package(run_box, workdir, as_who):
    config = put(workdir / "config.yaml", "languages:\n  zig: { program: [no-such-zig run], package: zig-dev }\n"
                 "  rust: { program: [no-such-rustc] }\n")
    done = run_box("--config", config, "--lang", "zig", "-c", "1")
    assert done.code == 125 and b"zig needs `no-such-zig`" in done.err and b"zig-dev" in done.err
    done = run_box("--config", config, "--lang", "rs", "-c", "1")
    assert done.code == 125 and b"rust needs `no-such-rustc`" in done.err and b"apt install rustc" in done.err
    done = run_box("--json", "--config", config, "--lang", "rs", "-c", "1")
    assert json.loads(done.out)["error"]["message"].startswith("rust needs"), done.out


@pytest.mark.parametrize("args, story", [
    (["-c", "print(1)"], b"needs the language"), (["--lang", "auto", "-c", "1"], b"goes by the name of a file"),
    (["--lang", "auto", "x.unknown"], b"no language has files like"), (["--lang"], b"needs a value"),
])
def test_half_a_request_is_told_what_is_missing(run_box, args, story):
    done = run_box(*args)
    assert done.code == 125 and story in done.err and b"hint: " in done.err


@pytest.mark.parametrize("alias, name", [("py", "python"), ("JS", "node"), ("c++", "cpp"), ("golang", "go"),
                                         ("rb", "ruby"), ("rs", "rust"), ("Python", "python"), ("R", "r")])
def test_aliases(call, who, alias, name):
    take(name, HELLO, who)
    plan = call("policy", "explain", "--json", "--lang", alias, "-c", "x",
                env={"PATH": PATH + ":" + CALLERS_PATH})
    assert plan.code == 0, plan.err
    assert json.loads(plan.out)["argv"], alias


# ------------------------------------------------------------- with the rest of a run

def test_a_language_under_the_strict_profile(run_json, workdir, as_who):
    put(workdir / "main.py", "import os; print(os.getcwd(), __file__)\n")
    result = run_json("--profile", "strict", "--lang", "python", "main.py")
    assert (result["status"], result["stdout"]) == ("ok", "/home/box /code/main.py\n"), result


def test_what_a_language_wants_is_the_weakest_source(call, workdir, need):
    need("go")

    def memory(*args):
        done = call("policy", "explain", "--json", *args, "--lang", "go", "-c", "package main")
        return json.loads(done.out)["limits"]["memory"]["text"]

    put(workdir / "policy.yaml", "limits: { memory: 300M }\n")
    assert memory() == "1G"
    assert memory("--profile", "strict") == "256M"
    assert memory("--profile", "default") == "512M"
    assert memory("--policy", "policy.yaml") == "300M"
    assert memory("--memory", "100M") == "100M"


def test_explain_reads_no_input_and_shows_the_code_by_name(call):
    done = call("policy", "explain", "--lang", "python")
    assert done.code == 0 and b"/code/main.py" in done.out and b"[lang]" in done.out


# ------------------------------------------------------------- toolchains in other places

FAKE = "#!/bin/sh\ncase $1 in --version) echo fake 1.0;; *) ls \"$HOME_OF_TEST/.cargo\" 2>&1; cat \"$1\";; esac\n"


def toolchain(folder, name, text=FAKE):
    (folder / "bin").mkdir(parents=True)
    program = put(folder / "bin" / name, text)
    for path in [program, *program.parents]:
        if path == folder.parent.parent.parent:
            break
        path.chmod(0o755)
    return program


def test_rustups_toolchain_is_shown_and_its_credentials_are_not(run_box, call, workdir, as_who):
    home = workdir / "home"
    (home / ".cargo/bin").mkdir(parents=True)
    put(home / ".cargo/credentials.toml", "token\n")
    put(home / ".cargo/bin/rustup", "#!/bin/sh\necho proxy\n").chmod(0o755)
    os.symlink("rustup", home / ".cargo/bin/fakec")
    os.link(home / ".cargo/bin/rustup", home / ".cargo/bin/hardc")
    for name in ("fakec", "hardc"):
        if not (home / ".rustup/toolchains/stable-x/bin").exists():
            toolchain(home / ".rustup/toolchains/stable-x", name)
        else:
            put(home / ".rustup/toolchains/stable-x/bin" / name, FAKE).chmod(0o755)
    put(home / ".rustup/settings.toml", 'version = "12"\ndefault_toolchain = "stable-x"\n')
    config = put(workdir / "config.yaml", "languages: { fake: { program: [fakec] }, hard: { program: [hardc] } }\n")
    env = {"RUSTUP_HOME": str(home / ".rustup"), "PATH": f"{PATH}:{home}/.cargo/bin"}
    for lang in ("fake", "hard"):
        done = run_box("--config", config, "--current", "none", "--env", f"HOME_OF_TEST={home}", "--lang", lang,
                       "-c", "the code\n", env=env)
        assert done.code == 0 and b"the code\n" in done.out and b"token" not in done.out, done
        assert b"No such file" in done.out, done  # .cargo is not there at all
    done = call("policy", "explain", "--config", config, "--current", "none", "--lang", "fake", "-c", "x", env=env)
    shown = [line for line in done.out.decode().split("\n") if "[lang]" in line and "/code" not in line]
    assert len(shown) == 1 and f"{home}/.rustup/toolchains/stable-x " in shown[0], done.out
    done = run_box("--config", config, "--lang", "fake", "-c", "x", env={**env, "RUSTUP_TOOLCHAIN": "nightly"})
    assert done.code == 125 and b"leads to no program" in done.err


def test_shims_lead_to_the_version_that_was_chosen(run_box, workdir, as_who):
    root = workdir / "pyenv"
    toolchain(root / "versions/3.99", "fakepy")
    (root / "shims").mkdir()
    put(root / "shims/fakepy", "#!/bin/sh\necho shim\n").chmod(0o755)
    put(root / "version", "3.99\n")
    config = put(workdir / "config.yaml", "languages: { fake: { program: [fakepy] } }\n")
    done = run_box("--config", config, "--current", "none", "--lang", "fake", "-c", "the code\n",
                   env={"PATH": f"{PATH}:{root}/shims"})
    assert done.code == 0 and b"the code\n" in done.out, done


def test_a_prefix_of_its_own_is_shown_and_is_on_the_path(run_box, workdir, as_who):
    toolchain(workdir / "tools/node-v1", "fakenode", "#!/bin/sh\nhelper; echo \"$PATH\"\n")
    put(workdir / "tools/node-v1/bin/helper", "#!/bin/sh\necho helped\n").chmod(0o755)
    put(workdir / "tools/other", "private\n")
    config = put(workdir / "config.yaml", "languages: { fake: { program: [fakenode] } }\n")
    done = run_box("--config", config, "--current", "none", "--lang", "fake", "-c", "x",
                   env={"PATH": f"{PATH}:{workdir}/tools/node-v1/bin"})
    assert done == (0, f"helped\n{workdir}/tools/node-v1/bin:{PATH}\n".encode(), b"")


def test_a_program_by_its_whole_path(run_box, workdir, as_who):
    if not os.path.exists("/usr/local/go/bin/go"):
        pytest.skip("no /usr/local/go on this machine")
    config = put(workdir / "config.yaml", "languages: { go: { program: [/usr/local/go/bin/go] } }\n")
    done = run_box("--config", config, "--lang", "go", "-c", LANGUAGES["go"][HELLO], timeout=130)
    assert (done.code, done.out) == (0, b"hello\n"), done.err


# ------------------------------------------------------------- the list

def test_the_list_of_languages(call, workdir, as_who):
    config = put(workdir / "config.yaml", "languages: { zig: { program: [no-such-zig], package: zig-dev } }\n")
    done = call("run", "--list-langs", "--json", "--config", config, timeout=60)
    assert done.code == 0, done.err
    rows = {row["name"]: row for row in json.loads(done.out)["languages"]}
    assert set(LANGUAGES) <= set(rows)
    assert rows["python"]["program"] == "/usr/bin/python3" and rows["python"]["installed"] is True
    assert rows["python"]["version"].startswith("Python 3.") and "py" in rows["python"]["aliases"]
    assert rows["zig"] == {"name": "zig", "aliases": [], "extensions": [], "compiled": False, "installed": False,
                           "program": None, "shown": None, "version": None, "package": "zig-dev",
                           "problem": "zig needs `no-such-zig`, which is not on this machine",
                           "from": "configuration"}
    done = call("run", "--list-langs", "--config", config, timeout=60)
    lines = done.out.decode().split("\n")
    assert lines[0].split() == ["language", "program", "version"]
    assert any(line.startswith("python ") and "/usr/bin/python3" in line and "Python 3." in line for line in lines)
    assert any(line.startswith("zig ") and "not installed: apt install zig-dev" in line for line in lines)


def test_the_documentation_lists_every_language(call):
    rows = json.loads(call("run", "--list-langs", "--json", timeout=60).out)["languages"]
    path = os.path.join(os.path.dirname(__file__), "../../docs/languages.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for row in rows:
        line = next(line for line in text.split("\n") if line.startswith(f"| `{row['name']}` "))
        for word in row["aliases"] + row["extensions"] + ([row["package"]] if row["package"] else []):
            assert word in line, (row["name"], word)


@pytest.mark.parametrize("name", ["shown.py", "elsewhere/secret.py"])
def test_a_denied_file_is_not_carried_in(run_box, as_who, workdir, name):
    (workdir / name).parent.mkdir(exist_ok=True)
    (workdir / name).write_text("print('carried')")
    done = run_box("--deny", f"**/{name.rsplit('/', 1)[-1]}", "--lang", "python", workdir / name)
    assert done.code == 125 and b"carried" not in done.out and b"files.deny" in done.err, done
    outside = run_box("--current", "none", "--deny", workdir / name, "--lang", "python", workdir / name)
    assert outside.code == 125 and outside.out == b"" and b"files.deny" in outside.err, outside
