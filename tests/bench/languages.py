"""The small cycle through the client libraries: which side costs what."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.bench.figures import Sample
from tests.bench.frames import TURN_CALLS, arguments_of, text_of
from tests.bench.plan import SMALL
from tests.bench.processes import ROOT, Program, Server, ToolMissing, running_program, serving
from tests.bench.processor import processor_seconds

PROGRAMS: Final = Path(__file__).parent / "clients"
TYPESCRIPT: Final = ROOT / "clients" / "typescript"
RUST_TARGET: Final = Path(
    os.environ.get("CARGO_TARGET_DIR", ROOT / "clients" / "rust" / "target")
).absolute()
WARM_UP_CALLS: Final = 500


@dataclass(frozen=True)
class Language:
    """How to build and run its program; `{folder}` is one for what is built."""

    name: str
    needs: str
    """The tool without which there is nothing to run."""
    command: Sequence[str]
    build: Sequence[str] = ()
    build_in: Path = PROGRAMS


LANGUAGES: Final = (
    Language("Python", sys.executable, (sys.executable, "-m", "tests.bench.clients.python_cycle")),
    Language(
        "Go",
        "go",
        ("{folder}/go_cycle",),
        ("go", "build", "-o", "{folder}/go_cycle", "."),
        PROGRAMS / "go",
    ),
    Language(
        "TypeScript",
        "npm",
        ("node", str(PROGRAMS / "typescript" / "cycle.mjs")),
        ("npm", "run", "--silent", "build"),
        TYPESCRIPT,
    ),
    Language(
        "Rust",
        "cargo",
        (str(RUST_TARGET / "release" / "sidecall-bench-cycle"),),
        ("cargo", "build", "--quiet", "--release", "--target-dir", str(RUST_TARGET)),
        PROGRAMS / "rust",
    ),
)


def run_languages(
    languages: Sequence[Language], rounds: int, seconds: float, tell: Callable[[str], None]
) -> dict[str, list[Sample]]:
    """Samples by language; one that cannot be built is told, and has none."""
    samples: dict[str, list[Sample]] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sidecall-bench-")))
        server = stack.enter_context(serving(folder))
        programs: dict[str, Program] = {}
        for language in languages:
            tell(f"preparing the client in {language.name}")
            samples[language.name] = []
            try:
                programs[language.name] = stack.enter_context(_program(language, folder))
            except ToolMissing as missing:
                tell(f"SKIPPED: {language.name}: {missing}")
        for number in range(rounds):
            tell(f"clients, round {number + 1} of {rounds}")
            names = list(programs)
            for name in names if number % 2 == 0 else reversed(names):
                samples[name].append(_measure(programs[name], server, seconds))
    return samples


@contextlib.contextmanager
def _program(language: Language, folder: Path) -> Iterator[Program]:
    if shutil.which(language.needs) is None:
        raise ToolMissing(f"{language.needs} is not installed")

    def placed(words: Sequence[str]) -> list[str]:
        return [word.format(folder=folder) for word in words]

    if language.build:
        built = subprocess.run(
            placed(language.build), cwd=language.build_in, capture_output=True, text=True
        )
        if built.returncode:
            raise ToolMissing(f"it cannot be built: {built.stdout}{built.stderr}")
    with running_program(placed(language.command)) as program:
        yield program


def _measure(program: Program, server: Server, seconds: float) -> Sample:
    program.say(
        {
            "endpoint": server.address,
            "arguments": arguments_of(SMALL.arguments_bytes).decode(),
            "output": text_of(SMALL.output_bytes),
            "in_flight": SMALL.in_flight,
            "turn_calls": TURN_CALLS,
            "warm_up_calls": WARM_UP_CALLS,
            "seconds": seconds,
        }
    )
    assert program.heard() == "running"
    begin = _clocks(program, server)
    result: dict[str, Any] = program.heard()
    load, serving_ = (
        after - before for before, after in zip(begin, _clocks(program, server), strict=True)
    )
    return Sample(result["seconds"], result["calls"], load, serving_)


def _clocks(program: Program, server: Server) -> tuple[float, float]:
    return processor_seconds(program.pid), processor_seconds(server.pid)
