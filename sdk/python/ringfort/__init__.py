"""The client of a Ringfort server: programs in disposable boxes."""
from ._api import (Checkpoint, CommandError, Conflict, Event, FileEvent, FileInfo, Found, InvalidRequest, Metrics, Network, NetworkLog, NotAuthorized,
                   NotFound, ProcessInfo, Refused, Result, RingfortError, SandboxInfo, ServerError, TooManyRequests, Unreachable,
                   Unsupported, Workspace, WrittenFile)
from ._async import AsyncCommands, AsyncFiles, AsyncNetwork, AsyncProgram, AsyncPty, AsyncSandbox, AsyncTerminal, run_async
from ._sync import Commands, Files, Program, Pty, Sandbox, SandboxNetwork, Terminal, run

__version__ = "0.1.0"
__all__ = ["AsyncCommands", "AsyncFiles", "AsyncNetwork", "AsyncProgram", "AsyncPty", "AsyncSandbox", "AsyncTerminal", "Checkpoint", "CommandError",
           "Commands", "Conflict", "Event", "FileEvent", "FileInfo", "Files", "Found", "InvalidRequest", "Metrics", "Network", "NetworkLog", "NotAuthorized", "NotFound",
           "ProcessInfo", "Program", "Pty", "Refused", "Result", "RingfortError", "Sandbox", "SandboxInfo", "SandboxNetwork",
           "ServerError", "Terminal", "TooManyRequests", "Unreachable", "Unsupported", "Workspace", "WrittenFile", "run", "run_async"]
