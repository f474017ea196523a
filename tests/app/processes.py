"""Server processes for tests: started, waited for by their ready line, and always ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import grpc

DEADLINE_SECONDS: Final = 30.0
"""Nothing in these tests takes longer, even on a busy machine."""

BELL_COMMAND: Final = (sys.executable, "-m", "tests.app.bell_server")
ROOT: Final = Path(__file__).parents[2]


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without its own settings, and with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIDECALL_")}
    kept.pop("XDG_RUNTIME_DIR", None)
    return kept | variables


def method_of(channel: grpc.Channel, method: str) -> grpc.UnaryUnaryMultiCallable[bytes, bytes]:
    """A unary method of the bell."""
    return channel.unary_unary(f"/test.Bell/{method}")


class ServerProcess:
    """A running server: its process, its ready line, its log so far."""

    def __init__(self, process: subprocess.Popen[str], ready_line: str, log: Path) -> None:
        self.process = process
        self.ready_line = ready_line
        self.ready: dict[str, object] = json.loads(ready_line)
        self._log = log

    @property
    def address(self) -> str:
        return str(self.ready["address"])

    @property
    def log(self) -> str:
        return self._log.read_text()

    def channel(self) -> grpc.Channel:
        authority = [("grpc.default_authority", "localhost")]
        return grpc.insecure_channel(self.address, authority)

    def call(self, method: str) -> bytes:
        """Call a method of the bell."""
        with self.channel() as channel:
            return method_of(channel, method)(b"", timeout=DEADLINE_SECONDS)

    def serves(self) -> bool:
        return self.call("Ring") == b""

    def signalled(self, number: int) -> int:
        """Send a signal and wait for the end; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


class Processes:
    """Starts servers; ends what is left when the test ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[str]] = []

    def start(
        self,
        *flags: str,
        command: tuple[str, ...] = BELL_COMMAND,
        variables: Mapping[str, str] | None = None,
        umask: int = -1,
    ) -> ServerProcess:
        """A server that has said it is ready."""
        log = self._folder / f"log-{len(self._started)}"
        with log.open("w") as log_file:
            process = subprocess.Popen(
                [*command, *flags],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log_file,
                text=True,
                cwd=ROOT,
                env=environment(**(variables or {})),
                umask=umask,
            )
        self._started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text()
        return ServerProcess(process, line, log)

    def close(self) -> None:
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            with process:
                process.wait(DEADLINE_SECONDS)


def finished(
    *command: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command that has run to its end."""
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment(**(variables or {})),
        timeout=DEADLINE_SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def refused(*flags: str) -> str:
    """What a server that must not start says; it ends with status 2 and no ready line."""
    result = finished(*BELL_COMMAND, *flags)
    assert (result.returncode, result.stdout) == (2, ""), result
    return result.stderr
