"""A sidecar of the agent's own: started, waited for, and stopped with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from sidecall.client.errors import UnavailableError
from sidecall.endpoint import Endpoint

BINARY_VARIABLE = "SIDECALL_BIN"
READY_SECONDS = 30.0
STOP_SECONDS = 15.0


@contextlib.asynccontextmanager
async def spawn(
    *, executable: str | None = None, arguments: Sequence[str] = ()
) -> AsyncIterator[Endpoint]:
    """Run `sidecall serve` on a private socket for the time of the block.

    The sidecar leaves by itself when this process is gone, however it ends.

    Args:
        executable: the program; None: what `SIDECALL_BIN` says, else `sidecall` on the path.
        arguments: more flags for `sidecall serve`.

    Raises:
        UnavailableError: it cannot be started; its last words are in the message.
    """
    program = executable or os.environ.get(BINARY_VARIABLE) or "sidecall"
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        socket = str(Path(folder) / "s.sock")
        command = [program, "serve", "--socket", socket, "--exit-on-stdin-eof", *arguments]
        words = Path(folder) / "stderr"
        with words.open("wb") as stderr:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=stderr,
                )
            except OSError as error:
                raise UnavailableError(
                    f"cannot start {program!r}: {error}; install the sidecar, or set"
                    f" {BINARY_VARIABLE}"
                ) from None
        try:
            yield Endpoint(await _ready(program, process, words))
        finally:
            await _stop(process)


async def _ready(program: str, process: asyncio.subprocess.Process, words: Path) -> str:
    assert process.stdout is not None, "its output is a pipe"
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
        address: str = json.loads(line)["address"]
    except (TimeoutError, ValueError, KeyError):
        await _stop(process)
        last_words = await asyncio.to_thread(words.read_text, errors="replace")
        raise UnavailableError(
            f"{program!r} did not get ready and ended with {process.returncode}; its last words:"
            f" {last_words[-2000:] or '(none)'}"
        ) from None
    return address


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
    if process.stdin is not None:
        process.stdin.close()
