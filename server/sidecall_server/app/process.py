"""One process that serves one application: its event loop, and what keeps it from starting."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from sidecall_server.app.server import Application, serve
from sidecall_server.app.settings import Settings, SettingsError
from sidecall_server.app.sockets import SocketError
from sidecall_server.app.tcp import ListenRefused
from sidecall_server.rpc.authentication import TokenFileError


def run_server(settings: Settings, build: Callable[[Settings], Application]) -> int:
    """Serve on a loop of its own; returns the exit status (2: it cannot start, and stderr why)."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory(settings)) as runner:
            return runner.run(serve(settings, build, sys.stdout))
    except (SettingsError, SocketError, ListenRefused, TokenFileError) as error:
        print(f"sidecall serve: {error}", file=sys.stderr)
        return 2


def _loop_factory(settings: Settings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if not settings.uvloop:
        return None
    try:
        import uvloop
    except ImportError:
        raise SettingsError(
            "uvloop is not installed; `pip install sidecall-server[uvloop]`"
        ) from None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
