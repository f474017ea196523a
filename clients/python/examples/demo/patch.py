"""A patch tool: a unified diff, applied by the real `git apply`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sidecall.client import ApplyPatchOutput, Custom, Invocation, RespondToModelError


class Patch:
    """Applies patches in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def __call__(self, invocation: Invocation) -> ApplyPatchOutput:
        """The handler: a custom call whose input is the patch."""
        payload = invocation.call.payload
        if not isinstance(payload, Custom):
            raise RespondToModelError("expected the patch as plain text")
        process = await asyncio.create_subprocess_exec(
            "git",
            "apply",
            "--verbose",
            "-",
            cwd=self._folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate(payload.input.encode())
        text = said.decode(errors="replace")
        if process.returncode:
            raise RespondToModelError(text)
        return ApplyPatchOutput(text)
