"""The two sides as processes: a server, and what loads it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from tests.bench.figures import Sample
from tests.bench.plan import Cell

ROOT: Final = Path(__file__).parents[2]
SIDECALL: Final = (sys.executable, "-m", "sidecall_server", "serve")
WITH_ECHO: Final = (sys.executable, "-m", "tests.bench.server")


class ToolMissing(Exception):
    """Something cannot be measured on this machine; the message says why."""


@dataclasses.dataclass(frozen=True)
class Server:
    """A running server."""

    address: str
    pid: int


@contextlib.contextmanager
def serving(
    folder: Path,
    command: Sequence[str] = WITH_ECHO,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run a server on a socket in the folder; its log goes there, too. No environment: ours."""
    log = folder / "server.log"
    with (
        log.open("wb") as stderr,
        _running(
            [*command, "--socket", str(folder / "s.sock")], stderr=stderr, env=environment
        ) as process,
    ):
        ready = _pipe(process.stdout).readline()
        assert ready, log.read_text()
        yield Server(json.loads(ready)["address"], process.pid)


class Program:
    """A process that takes and says JSON lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def say(self, message: object) -> None:
        """Write a line."""
        print(json.dumps(message), file=_pipe(self._process.stdin), flush=True)

    def heard(self) -> Any:
        """Wait for a line."""
        line = _pipe(self._process.stdout).readline()
        assert line, "the process has ended; its stderr says why"
        return json.loads(line)


@contextlib.contextmanager
def running_program(command: Sequence[str]) -> Iterator[Program]:
    """Run it until the end of the block."""
    with _running(command, stdin=subprocess.PIPE) as process:
        yield Program(process)


class LoadSide:
    """A load process at a server. `loading` starts and ends it."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def begin(self, cell: Cell, seconds: float | None) -> None:
        """Let it do this for so long, or until `stop`; returns once it does."""
        self._program.say([cell.target, dataclasses.asdict(cell.shape), seconds])
        assert self._program.heard() == "running"

    def stop(self) -> None:
        """Enough."""
        self._program.say("stop")

    def measured(self) -> Sample:
        """Wait for what it measured."""
        return Sample(**self._program.heard())


@contextlib.contextmanager
def loading(server: Server) -> Iterator[LoadSide]:
    """Run a load process."""
    command = (sys.executable, "-m", "tests.bench.load", server.address, str(server.pid))
    with running_program(command) as program:
        yield LoadSide(program)


@contextlib.contextmanager
def _running(command: Sequence[str], **pipes: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, **pipes) as process:
        try:
            yield process
        finally:
            process.terminate()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None, "it was asked for"
    return pipe
