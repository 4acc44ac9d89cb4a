"""The client of a Ringfort server: programs in disposable boxes."""
from ._api import (CommandError, Conflict, Event, FileInfo, InvalidRequest, NotAuthorized, NotFound, Refused, Result,
                   RingfortError, SandboxInfo, ServerError, TooManyRequests, Unsupported)
from ._async import AsyncSandbox, run_async
from ._sync import Sandbox, run

__version__ = "0.1.0"
__all__ = ["AsyncSandbox", "CommandError", "Conflict", "Event", "FileInfo", "InvalidRequest", "NotAuthorized", "NotFound",
           "Refused", "Result", "RingfortError", "Sandbox", "SandboxInfo", "ServerError", "TooManyRequests", "Unsupported",
           "run", "run_async"]
