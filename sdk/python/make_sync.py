"""Makes ringfort/_sync/ from ringfort/_async/, file by file: the same client without an event loop, so that there is one text to change.

    make_sync.py            writes it
    make_sync.py --check    says whether it is as it should be

Names are replaced by the table below, `async` and `await` go, and so do lines that end with `# async only`; lines that begin with `# sync: `
come instead.
"""
import io
import pathlib
import sys
import tokenize
from typing import Dict

HERE = pathlib.Path(__file__).resolve().parent / "ringfort"
NAMES = {
    "AsyncClient": "Client", "AsyncHTTPTransport": "HTTPTransport", "AsyncIterator": "Iterator", "__aenter__": "__enter__",
    "__aexit__": "__exit__", "__aiter__": "__iter__", "aclose": "close", "aiter_bytes": "iter_bytes", "aiter_lines": "iter_lines",
    "aread": "read", "asyncio": "time", "run_async": "run", "run_stream_async": "run_stream",
    "AsyncAgent": "Agent", "AsyncApprovals": "Approvals", "AsyncAudit": "Audit", "AsyncBreakers": "Breakers", "AsyncCommands": "Commands",
    "AsyncFiles": "Files", "AsyncNetwork": "SandboxNetwork", "AsyncPortSocket": "PortSocket", "AsyncProgram": "Program", "AsyncPty": "Pty",
    "AsyncSandbox": "Sandbox", "AsyncTerminal": "Terminal", "AsyncWorkspaces": "Workspaces",
}


def convert(name: str, text: str) -> str:
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
    return f'"""Made from _async/{name} by make_sync.py: change that one."""\n' + "".join(lines[1:])


def made() -> Dict[pathlib.Path, str]:
    return {HERE / "_sync" / file.name: convert(file.name, file.read_text(encoding="utf-8")) for file in (HERE / "_async").glob("*.py")}


def main() -> int:
    wanted = made()
    there = {file: file.read_text(encoding="utf-8") for file in (HERE / "_sync").glob("*.py")}
    odd = sorted(file for file in {**wanted, **there} if wanted.get(file) != there.get(file))
    if sys.argv[1:] == ["--check"]:
        for file in odd:
            print(f"ringfort/_sync/{file.name} is not what make_sync.py makes of ringfort/_async/{file.name}", file=sys.stderr)
        return 1 if odd else 0
    (HERE / "_sync").mkdir(exist_ok=True)
    for file in odd:
        if file in wanted:
            file.write_text(wanted[file], encoding="utf-8")
        else:
            file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
