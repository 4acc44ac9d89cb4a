"""The client of a Ringfort server: programs in disposable boxes."""
from ._api import (AgentInfo, Applied, Approval, AuditEvent, AuditPage, Breaker, Checkpoint, CommandError, Conflict, Decision, Event, FileEvent,
                   FileInfo, Found, InvalidRequest, Metrics, Network, NetworkLog, NotAuthorized, NotFound, ProcessInfo, Refused, Result,
                   RingfortError, SandboxInfo, ServerError, TooManyRequests, Unreachable, Unsupported, Workspace, WrittenFile)
from ._async.agent import AsyncAgent
from ._async.approvals import AsyncApprovals
from ._async.audit import AsyncAudit
from ._async.breakers import AsyncBreakers
from ._async.commands import AsyncCommands, AsyncProgram
from ._async.files import AsyncFiles
from ._async.network import AsyncNetwork
from ._async.run import run_async, run_stream_async
from ._async.sandbox import AsyncSandbox
from ._async.socket import AsyncPortSocket
from ._async.terminal import AsyncPty, AsyncTerminal
from ._async.workspaces import AsyncWorkspaces
from ._sync.agent import Agent
from ._sync.approvals import Approvals
from ._sync.audit import Audit
from ._sync.breakers import Breakers
from ._sync.commands import Commands, Program
from ._sync.files import Files
from ._sync.network import SandboxNetwork
from ._sync.run import run, run_stream
from ._sync.sandbox import Sandbox
from ._sync.socket import PortSocket
from ._sync.terminal import Pty, Terminal
from ._sync.workspaces import Workspaces

__version__ = "0.1.0"
__all__ = ["Agent", "AgentInfo", "Applied", "Approval", "Approvals", "AsyncAgent", "AsyncApprovals", "AsyncAudit", "AsyncBreakers",
           "AsyncCommands", "AsyncFiles", "AsyncNetwork", "AsyncPortSocket", "AsyncProgram", "AsyncPty", "AsyncSandbox", "AsyncTerminal",
           "AsyncWorkspaces", "Audit", "AuditEvent", "AuditPage", "Breaker", "Breakers", "Checkpoint", "CommandError", "Commands", "Conflict",
           "Decision", "Event", "FileEvent", "FileInfo", "Files", "Found", "InvalidRequest", "Metrics", "Network", "NetworkLog",
           "NotAuthorized", "NotFound", "PortSocket", "ProcessInfo", "Program", "Pty", "Refused", "Result", "RingfortError", "Sandbox",
           "SandboxInfo", "SandboxNetwork", "ServerError", "Terminal", "TooManyRequests", "Unreachable", "Unsupported", "Workspace",
           "Workspaces", "WrittenFile", "run", "run_async", "run_stream", "run_stream_async"]
