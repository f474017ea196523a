"""A shell tool: a real process, its output collected within bounds, killed when cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

from sidecall.client import ExecCommandOutput, HeadTailBuffer, Invocation, RespondToModelError

READ_BYTES = 65_536


class Shell:
    """Runs `bash -c` in a folder.

    Attributes:
        running: set when a command has written something.
        omitted_bytes: what the collection buffer dropped, by call id.
        killed: the exit statuses of processes that a cancel ended, by call id.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.running = asyncio.Event()
        self.omitted_bytes: dict[str, int] = {}
        self.killed: dict[str, int] = {}

    async def __call__(self, invocation: Invocation) -> ExecCommandOutput:
        """The handler: arguments `{"command": text}`."""
        arguments = invocation.arguments
        command = arguments.get("command") if isinstance(arguments, dict) else None
        if not isinstance(command, str):
            raise RespondToModelError('expected {"command": "…"}')
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            command,
            cwd=self._folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        call_id = invocation.call.call_id
        try:
            output = await self._collect(process)
        except asyncio.CancelledError:
            self.killed[call_id] = await _kill(process)
            raise
        self.omitted_bytes[call_id] = output.omitted_bytes
        return ExecCommandOutput(
            output.collected(),
            exit_code=await process.wait(),
            wall_time_seconds=time.monotonic() - started,
            original_token_count=output.original_token_count,
            output_omitted_bytes=output.omitted_bytes or None,
            hook_command=command,
        )

    async def _collect(self, process: asyncio.subprocess.Process) -> HeadTailBuffer:
        assert process.stdout is not None, "its output is a pipe"
        output = HeadTailBuffer()
        while data := await process.stdout.read(READ_BYTES):
            output.write(data)
            self.running.set()
        return output


async def _kill(process: asyncio.subprocess.Process) -> int:
    """The teardown: end the whole process group and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    return await process.wait()
