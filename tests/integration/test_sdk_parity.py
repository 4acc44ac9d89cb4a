"""The two SDKs have the same names, but for their spelling: what can be said in one can be said in the other."""
import ast
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from typescript import compile_to  # noqa: E402

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "sdk/python/ringfort"

# What Python has and TypeScript gets next: "Name", "Class.member" or "call(option)", in TypeScript's spelling.  Empty at most times.
LATER = set()

# What TypeScript alone has: types of what is plain data in Python, and names that E2B's SDK has in that language only.
ONLY_TYPESCRIPT = {
    "Data", "PortRequest", "ResultDocument", "Status", "WatchHandle", "WatchHandle.stop", "Files.watchDir", "Pty.sendInput",
    *(f"PortRequest.{name}" for name in ("body", "headers", "method", "signal")),
}
# Options with which TypeScript says the same in other words, or what Python says by other means (a task is cancelled, a terminal gone through).
OTHER_WORDS = {"apiKey", "cols", "envs", "metadata", "onData", "signal", "timeoutMs"}

# Calls that take options by their names, and the type that has them in TypeScript.
OPTIONS = {
    "run": "RunOptions", "runStream": "RunOptions", "Sandbox.create": "CreateOptions", "Sandbox.connect": "ConnectionOptions",
    "Sandbox.list": "ListOptions", "Sandbox.runCode": "CodeOptions", "Sandbox.run": "CodeOptions", "Commands.run": "ProgramOptions",
    "Commands.start": "StartOptions", "Commands.stream": "StartOptions", "Pty.create": "TerminalOptions", "Files.watch": "WatchOptions",
    "Files.search": "SearchOptions", "Sandbox.apply": "ApplyOptions", "Agent.create": "AgentOptions", "Agent.connect": "ConnectionOptions",
    "Agent.list": "ListOptions", "Agent.replace": "ReplaceOptions", "Agent.delete": "DeleteOptions", "Workspaces.apply": "ApplyOptions", "Audit.page": "AuditOptions", "Audit.follow": "FollowOptions",
    "Breakers.trip": "TripOptions", "SandboxNetwork.set": "ChangeOptions", "SandboxNetwork.allow": "ChangeOptions",
}
POSITIONAL = {"run": {"argv"}, "runStream": {"argv"}}  # what is no keyword in Python, and an option in TypeScript
INLINE = {"Commands.run(background)"}                  # which is in the signature, since the answer depends on it
NO_STREAM = {"runStream(onStdout)", "runStream(onStderr)", "runStream(outputs)"}  # a type that is narrowed where it is used

DUNDERS = {"__iter__": "[Symbol.asyncIterator]", "__exit__": "[Symbol.asyncDispose]"}


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


# --- Python ---

def members_of(node):
    """The public names of a class: methods, properties, fields, and what __init__ sets."""
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            yield part.target.id
        elif isinstance(part, ast.FunctionDef) and part.name == "__init__":
            for inner in ast.walk(part):
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and inner.value.id == "self":
                    yield inner.attr
        elif isinstance(part, ast.FunctionDef):
            yield DUNDERS.get(part.name, part.name)


def calls_of(tree):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                    yield f"{node.name}.{part.name}", part


@pytest.fixture(scope="module")
def python():
    """Its names; and of calls with keywords, which."""
    top, api, *client = (ast.parse(file.read_text(encoding="utf-8"))
                         for file in (PYTHON / "__init__.py", PYTHON / "_api.py", *sorted((PYTHON / "_sync").glob("*.py"))))
    public = {name.name for part in top.body if isinstance(part, ast.ImportFrom) and not part.module.startswith("_async") for name in part.names}
    names, bases, options = {camel(name) for name in public}, {}, {}
    for node in (node for tree in (api, *client) for node in tree.body if isinstance(node, ast.ClassDef) and node.name in public):
        names |= {f"{node.name}.{camel(name)}" for name in members_of(node) if not name.startswith("_")}
        bases[node.name] = {base.id for base in node.bases} & public
    for name, node in (call for tree in client for call in calls_of(tree)):
        if name.split(".")[0] in public and node.args.kwonlyargs:  # of several signatures, the last counts
            options[camel(name)] = {camel(argument.arg) for argument in node.args.kwonlyargs}
    return names, bases, options


# --- TypeScript ---

MEMBER = re.compile(r"    (?:static |readonly |get )*(\[Symbol\.\w+\]|\w+)\??[(:<]")
HEAD = re.compile(r"(?:export )?(?:declare class|interface) (\w+)(?: extends (.*?))? \{(\})?$")


def read_types(folder):
    """Classes and interfaces of the declarations: their own members, and what they extend."""
    members, extends = {}, {}
    for file in folder.glob("*.d.ts"):
        inside = None
        for line in file.read_text(encoding="utf-8").splitlines():
            if head := HEAD.match(line):
                inside = head[1]
                members[inside], extends[inside] = set(), head[2] or ""
            elif line == "}":
                inside = None
            elif inside and not line.startswith("    private") and (member := MEMBER.match(line)) and member[1] != "constructor":
                members[inside].add(member[1])
    return members, extends


def all_of(name, members, extends):
    """The members of a type with those of what it extends."""
    found, rest = set(members[name]), extends[name]
    for other, left_out in re.findall(r'Omit<(\w+), ([^>]*)>', rest):
        found |= all_of(other, members, extends) - set(re.findall(r'"(\w+)"', left_out))
    for other in re.sub(r"Omit<[^>]*>", "", rest).split(", "):
        if other.strip() in members:
            found |= all_of(other.strip(), members, extends)
    return found


@pytest.fixture(scope="module")
def typescript(public):
    folder = compile_to(public / "parity")
    index = (folder / "index.d.ts").read_text(encoding="utf-8")
    exported = {name.split(" as ")[-1].strip().removeprefix("type ")
                for block in re.findall(r"export (?:type )?\{(.*?)\}", index, re.S) for name in block.split(",") if name.strip()}
    members, extends = read_types(folder)
    return exported - {"default"}, members, extends


def test_both_have_the_same_names(python, typescript):
    names, _, _ = python
    exported, members, _ = typescript
    there = {name for name in exported if not name.endswith("Options")}
    there |= {f"{name}.{member}" for name in there & set(members) for member in members[name]}
    there.add("RingfortError.message")  # which every error has
    known_only = {name for name in there if name.split(".")[0] == "ResultDocument"}
    assert names - there - LATER == set(), "TypeScript lacks them"
    assert there - names - ONLY_TYPESCRIPT - known_only == set(), "Python lacks them"
    assert ONLY_TYPESCRIPT - there == set(), "they are gone"


def test_errors_and_other_classes_stand_on_the_same(python, typescript):
    _, bases, _ = python
    exported, members, extends = typescript
    for name in set(bases) & set(members) & exported:
        assert bases[name] == {extends[name]} & exported, name


def test_calls_take_the_same_options(python, typescript):
    _, _, options = python
    exported, members, extends = typescript
    assert set(options) - LATER == set(OPTIONS), "which type has their options?"
    assert set(OPTIONS.values()) <= exported
    for call, kind in OPTIONS.items():
        there = all_of(kind, members, extends) - OTHER_WORDS
        known = options[call] | POSITIONAL.get(call, set())
        missing = {f"{call}({name})" for name in known - there} - LATER - INLINE
        more = {f"{call}({name})" for name in there - known} - NO_STREAM
        assert (missing, more) == (set(), set()), call


def test_nothing_is_awaited_that_is_there(python, typescript):
    names, _, options = python
    exported, members, extends = typescript
    there = exported | {f"{name}.{member}" for name in members for member in members[name]}
    there |= {f"{call}({name})" for call, kind in OPTIONS.items() for name in all_of(kind, members, extends)}
    assert LATER & there == set()
