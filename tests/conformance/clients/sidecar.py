"""The sidecar process of one language's scenarios."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.conformance.live_server import ServerFailed


class Sidecar:
    """``sidecall serve`` on a socket of its own. `serving` makes it."""

    def __init__(self, socket: Path, flags: Sequence[str]) -> None:
        self.socket = socket
        self._flags = flags
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            ServerFailed: it ended before it was.
        """
        command = ["serve", "--socket", str(self.socket), "--exit-on-stdin-eof"]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "sidecall_server", *command, "--log-level", "error", *self._flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        try:
            json.loads(await self._process.stdout.readline())
        except ValueError:
            status = await self._process.wait()
            raise ServerFailed(f"the sidecar ended with status {status}") from None

    async def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.communicate()

    def terminate(self) -> None:
        """Ask it to drain and leave."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)


@contextlib.asynccontextmanager
async def serving(flags: Sequence[str]) -> AsyncIterator[Sidecar]:
    """Run a sidecar on a fresh socket.

    Raises:
        ServerFailed: it ended before it was ready.
    """
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        sidecar = Sidecar(Path(folder, "s.sock"), flags)
        try:
            await sidecar.start()
            yield sidecar
        finally:
            await sidecar.kill()
