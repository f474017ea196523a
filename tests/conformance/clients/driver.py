"""One driver process: commands in, events out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import IO

from tests.conformance.clients.expected import Json

EVENT_SECONDS = 20.0
"""Nothing takes as long, even on a busy machine: what has not come by then does not come."""

MAX_LINE_BYTES = 256 << 20
SHOWN_LINES = 6
SHOWN_CHARACTERS = 240


class DriverFailed(Exception):
    """The driver ended, hung, or wrote what is no event."""


class Driver:
    """A running driver. `started` makes it."""

    def __init__(self, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        self._process = process
        self._log = log
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)

    async def send(self, command: Json) -> None:
        """Write a command.

        Raises:
            DriverFailed: it is not read.
        """
        line = json.dumps(command, ensure_ascii=False)
        self._note("->", line)
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                await self._process.stdin.drain()
        except TimeoutError:
            raise DriverFailed(f"it read nothing for {EVENT_SECONDS:g} s") from None
        except ConnectionError:
            raise DriverFailed(f"it ended with status {await self._process.wait()}") from None

    async def event(self) -> Json:
        """The next event.

        Raises:
            DriverFailed: there is none.
        """
        event = await self._event_or_end()
        if event is None:
            raise DriverFailed(f"it ended with status {await self._process.wait()}")
        return event

    async def end(self) -> Json | None:
        """Close its stdin: it must end well and say nothing more; else what it says.

        Raises:
            DriverFailed: it does not end, or with an error.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        event = await self._event_or_end()
        if event is not None:
            return event
        status = await self._process.wait()
        if status:
            raise DriverFailed(f"it ended with status {status}")
        return None

    def transcript(self) -> str:
        """The last lines of both sides, and what the driver wrote for people."""
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").splitlines()[-SHOWN_LINES:]
        return "\n".join([*self._lines, *(f"!  {_short(line)}" for line in said)])

    async def _event_or_end(self) -> Json | None:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise DriverFailed(f"it said nothing for {EVENT_SECONDS:g} s") from None
        except ValueError:
            raise DriverFailed(f"it wrote a line above {MAX_LINE_BYTES} bytes") from None
        if not line:
            return None
        self._note("<-", line.decode(errors="replace").rstrip("\n"))
        try:
            event = json.loads(line)
        except ValueError as error:
            raise DriverFailed(f"it wrote a line that is not JSON: {error}") from None
        if not isinstance(event, dict):
            raise DriverFailed("it wrote a line that is no event")
        return event

    def _note(self, side: str, line: str) -> None:
        self._lines.append(f"{side} {_short(line)}")


@contextlib.asynccontextmanager
async def started(command: Sequence[str]) -> AsyncIterator[Driver]:
    """Start a driver; at the end it is gone, whatever happened."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SIDECALL_")
    }
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            limit=MAX_LINE_BYTES,
            env=environment,
        )
        try:
            yield Driver(process, log)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


def _short(line: str) -> str:
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}..."
