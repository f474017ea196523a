"""The client libraries under test: what each needs, and how its driver is made and started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
CLIENTS = ROOT / "clients"


class BuildFailed(Exception):
    """A driver could not be made; the message says what the tool said."""


@dataclass(frozen=True)
class Language:
    """One client library.

    Attributes:
        name: as `--language` takes it.
        needs: the program without which there is no driver.
        get: where a person gets it.
        build: makes the driver, with a folder for what it makes; gives the command that runs it.
    """

    name: str
    needs: str
    get: str
    build: Callable[[Path], list[str]]

    @property
    def available(self) -> bool:
        """Whether its driver can be made here."""
        return shutil.which(self.needs) is not None


def _python(folder: Path) -> list[str]:
    return [sys.executable, str(CLIENTS / "python/conformance/driver.py")]


def _go(folder: Path) -> list[str]:
    program = folder / "driver"
    _make(CLIENTS / "go", "go", "build", "-o", str(program), "./conformance")
    return [str(program)]


def _rust(folder: Path) -> list[str]:
    here = CLIENTS / "rust"
    _make(here, "cargo", "build", "--quiet", "--example", "conformance_driver")
    target = Path(os.environ.get("CARGO_TARGET_DIR", here / "target"))
    return [str(here / target / "debug/examples/conformance_driver")]


def _typescript(folder: Path) -> list[str]:
    here = CLIENTS / "typescript"
    if not (here / "node_modules").is_dir():
        raise BuildFailed("its packages are not installed; `make conformance` does that")
    _make(here, "npm", "run", "--silent", "build")
    return ["node", str(here / "dist/conformance/driver.js")]


def _make(folder: Path, *command: str) -> None:
    made = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if made.returncode:
        raise BuildFailed(f"`{' '.join(command)}` failed:\n{made.stdout.strip()}")


LANGUAGES = (
    Language("python", sys.executable, "Python 3.11", _python),
    Language("go", "go", "Go 1.26 from https://go.dev/dl", _go),
    Language("rust", "cargo", "Rust 1.88 from https://rustup.rs", _rust),
    Language("typescript", "npm", "Node.js 20 with npm from https://nodejs.org", _typescript),
)
