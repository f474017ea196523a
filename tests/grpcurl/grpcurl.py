"""The real grpcurl, run against a sidecar's socket; it knows the services by reflection alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 30.0
"""Nothing here takes longer, even on a busy machine."""

Json = dict[str, Any]


def installed() -> str | None:
    """Where grpcurl is; None: nowhere."""
    return shutil.which("grpcurl", path=f"{ROOT / '.tools/bin'}:{os.environ['PATH']}")


class Stream:
    """A streaming rpc under way: messages in, messages out."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def send(self, message: Mapping[str, Any]) -> None:
        """Write a message."""
        self._stdin.write(json.dumps(message))
        self._stdin.flush()

    def next(self) -> Json:
        """The next message; they are written over several lines."""
        text = ""
        for line in self._stdout:
            text += line
            with contextlib.suppress(ValueError):
                message: Json = json.loads(text)
                return message
        raise AssertionError(f"the stream has ended; read so far: {text!r}")


class Grpcurl:
    """Runs grpcurl."""

    def __init__(self, program: str, address: str) -> None:
        self._command = [program, "-plaintext", "-authority", "localhost"]
        self._address = address

    def text(self, *arguments: str) -> str:
        """What a command such as `list` says."""
        run = self._run(self._address, *arguments)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def call(self, method: str, request: Mapping[str, Any]) -> Json:
        """The response to a request."""
        run = self._run("-d", json.dumps(request), self._address, method)
        assert run.returncode == 0, run.stderr
        response: Json = json.loads(run.stdout)
        return response

    def refused(self, method: str, request: Mapping[str, Any]) -> Json:
        """The status that a request is refused with, its details decoded."""
        run = self._run("-format-error", "-d", json.dumps(request), self._address, method)
        assert run.returncode > 0, run.stdout
        status: Json = json.loads(run.stderr)
        return status

    def refused_text(self, method: str, request: Mapping[str, Any]) -> str:
        """What a person reads of a refusal."""
        run = self._run("-d", json.dumps(request), self._address, method)
        assert run.returncode > 0, run.stdout
        return run.stderr

    @contextlib.contextmanager
    def stream(self, method: str, request: Mapping[str, Any] | None = None) -> Iterator[Stream]:
        """A streaming rpc, with one request or with all that are sent; leaving the block ends
        it."""
        data = "@" if request is None else json.dumps(request)
        command = [*self._command, "-d", data, self._address, method]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            deadline = threading.Timer(DEADLINE_SECONDS, process.kill)
            deadline.start()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield Stream(process.stdin, process.stdout)
            finally:
                deadline.cancel()
                process.terminate()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments],
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
