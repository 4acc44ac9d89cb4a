"""Made from _async/commands.py by make_sync.py: change that one."""
from __future__ import annotations

from typing import Iterator, List, Literal, Mapping, Optional, Union, overload

from .. import _api
from .._api import Data, Event, ProcessInfo, Result, Words, Writer
from .line import Line, tell


class Program:
    """One that runs in the background of a sandbox.  To go through it (`for`) is to read what it writes, until it ends."""

    def __init__(self, line: Line, box: str, number: int) -> None:
        self.number, self._line, self._path = number, line, f"{box}/programs/{number}"
        self._cursor = 0
        self._written = _api.Stream()

    @property
    def pid(self) -> int:
        """Its number, by which Commands.connect() finds it again."""
        return self.number

    def read(self, wait: float = 0) -> List[Event]:
        """What it wrote since this was last called; waits up to so many seconds for something."""
        params = {"cursor": str(self._cursor), "wait_ms": str(int(min(wait, 30) * 1000))}
        log = (self._line.ask("GET", f"{self._path}/log", params=params)).json()
        self._cursor = log["cursor"]
        return self._written.keep(log["events"])

    def write(self, data: Data, close: bool = False) -> None:
        """Writes to its standard input."""
        self._line.ask("POST", f"{self._path}/stdin", {**_api.input_of(data), "close": close})

    def send_stdin(self, data: Data) -> None:
        self.write(data)

    def send_signal(self, name: str) -> None:
        """Sends it a signal: "TERM", "INT" ..."""
        self._line.ask("POST", f"{self._path}/signal", {"signal": name})

    def kill(self) -> None:
        self.send_signal("KILL")

    def result(self) -> Optional[Result]:
        """What it came to; None while it runs.  Of what it wrote it has what was read so far."""
        raw = (self._line.ask("GET", self._path)).json()["result"]
        return _api.result_of(raw, self._written.whole()) if raw else None

    def wait(self, on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result:
        """Reads what it writes until it ends; then what it came to."""
        done = None
        while not done:
            done = self.result()
            for event in self.read(wait=0 if done else 20):
                tell(on_stdout if event.stream == "stdout" else on_stderr, event)
        return _api.result_of(done.raw, self._written.whole())

    def __iter__(self) -> Iterator[Event]:
        is_over = False
        while not is_over:
            is_over = self.result() is not None
            for event in self.read(wait=0 if is_over else 20):
                yield event


class Commands:
    """The programs of a sandbox."""

    def __init__(self, line: Line, box: str) -> None:
        self._line, self._path = line, box

    @overload
    def run(
            self, command: Words, *, background: Literal[False] = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Result: ...

    @overload
    def run(
            self, command: Words, *, background: Literal[True], cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None,
            timeout: Optional[int] = None) -> Program: ...

    def run(
            self, command: Words, *, background: bool = False, cwd: Optional[str] = None,
            env: Optional[Mapping[str, str]] = None, stdin: Optional[Data] = None, timeout: Optional[int] = None,
            on_stdout: Optional[Writer] = None, on_stderr: Optional[Writer] = None) -> Union[Result, Program]:
        """Runs a program in the sandbox: a line for a shell, or words.  In the background: the same as start()."""
        if background:
            return self.start(command, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        body = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout)
        return self._line.run(f"{self._path}/exec", body, on_stdout, on_stderr)

    def start(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> Program:
        """Starts a program in the background."""
        body = {**_api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), "background": True}
        answer = self._line.ask("POST", f"{self._path}/exec", body)
        return Program(self._line, self._path, answer.json()["number"])

    def stream(
            self, command: Words, *, cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, timeout: Optional[int] = None) -> Iterator[Union[Event, Result]]:
        """Runs a program, and gives what it writes as it comes, and last its result."""
        body, stream = _api.program(command, stdin=stdin, env=env, cwd=cwd, timeout=timeout), _api.Stream()
        for event in self._line.events(f"{self._path}/exec", body, stream):
            yield event
        yield stream.end()

    def connect(self, number: int) -> Program:
        """One in the background that there is; what it wrote is read from the beginning, as far as it is kept."""
        program = Program(self._line, self._path, number)
        program.result()
        return program

    def list(self) -> List[ProcessInfo]:
        """The programs that run."""
        return [row for row in _api.info_of((self._line.ask("GET", self._path)).json()).programs if not row.ended]

    def kill(self, number: int) -> bool:
        """Ends a program in the background; False if it has ended already."""
        try:
            Program(self._line, self._path, number).kill()
        except (_api.Conflict, _api.NotFound):
            return False
        return True

    def send_stdin(self, number: int, data: Data) -> None:
        Program(self._line, self._path, number).write(data)
