"""Makes ringfort/_sync.py from ringfort/_async.py: the same client without an event loop, so that there is one text to change.

    make_sync.py            writes it
    make_sync.py --check    says whether it is as it should be

Names are replaced by the table below, `async` and `await` go, and so do lines that end with `# async only`; lines that begin with `# sync: `
come instead.
"""
import io
import pathlib
import sys
import tokenize

HERE = pathlib.Path(__file__).resolve().parent / "ringfort"
HEAD = '"""The client.  Made from _async.py by make_sync.py: change that one."""\n'
NAMES = {
    "AsyncClient": "Client", "AsyncHTTPTransport": "HTTPTransport", "AsyncIterator": "Iterator", "__aenter__": "__enter__",
    "__aexit__": "__exit__", "__aiter__": "__iter__", "aclose": "close", "aiter_bytes": "iter_bytes", "aiter_lines": "iter_lines",
    "aread": "read", "asyncio": "time", "run_async": "run",
    "AsyncCommands": "Commands", "AsyncFiles": "Files", "AsyncNetwork": "SandboxNetwork", "AsyncProgram": "Program", "AsyncPty": "Pty",
    "AsyncSandbox": "Sandbox", "AsyncTerminal": "Terminal",
}


def convert(text: str) -> str:
    text = "".join(line.replace("# sync: ", "", 1) for line in text.splitlines(True) if not line.rstrip().endswith("# async only"))
    lines = text.splitlines(True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for number, token in reversed(list(enumerate(tokens))):  # from the end, so that places stay what they are
        if token.type not in (tokenize.NAME, tokenize.STRING):
            continue
        (row, begin), (_, end) = token.start, token.end
        line = lines[row - 1]
        if token.string in ("async", "await"):
            end = tokens[number + 1].start[1]
            lines[row - 1] = line[:begin] + line[end:]
        elif token.string in NAMES:
            lines[row - 1] = line[:begin] + NAMES[token.string] + line[end:]
        elif token.type == tokenize.STRING and token.start[0] == token.end[0]:
            said = token.string.replace("`async for`", "`for`").replace("AsyncCommands", "Commands")
            lines[row - 1] = line[:begin] + said + line[end:]
    return HEAD + "".join(lines[1:])


def main() -> int:
    wanted = convert((HERE / "_async.py").read_text(encoding="utf-8"))
    there = HERE / "_sync.py"
    if sys.argv[1:] == ["--check"]:
        if there.read_text(encoding="utf-8") == wanted:
            return 0
        print("ringfort/_sync.py is not what make_sync.py makes of _async.py", file=sys.stderr)
        return 1
    there.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
