"""Builds the image of the Dockerfile in a folder, without an engine.

Each stage's root is a folder. An instruction runs as it stands, but for what only an engine can
do: absolute paths of the image lie in the folder, the base image is this machine's Python, and
users are not made but noted. A stage that has ended moves away, so that the next one has the
same paths: virtual environments know where they are.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.app.processes import ROOT

BUILD_SECONDS: Final = 400

_PATHS: Final = re.compile(r"(?<![\w.$}*])/(?=\w)(?!usr/sbin/nologin\b)")
"""Absolute paths: all of them, so that no step reaches this machine's own files."""

_BASE_FILES: Final = (
    "usr/local/bin/pip3",
    "usr/local/lib/python3.11/ensurepip/__init__.py",
    "usr/local/lib/python3.11/site-packages/pip/__init__.py",
)
"""What the base image has that is not wanted."""

_BASE_PYTHON: Final = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"

_SHIMS: Final = {
    "python": 'exec {python} "$@"',
    "useradd": 'echo "$@" >> {folder}/users',
    "apt-get": 'echo "$@" >> {folder}/packages',
    # Owners need the user, who is only noted.
    "install": 'args=(); while (($#)); do case $1 in -o|-g) shift;; *) args+=("$1");; esac;'
    ' shift; done; exec /usr/bin/install "${{args[@]}}"',
}


class Instruction(NamedTuple):
    name: str
    value: str


def instructions(dockerfile: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile, each in one line."""
    lines = (line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, value = line.strip().partition(" ")
            yield Instruction(name.upper(), value.strip())


class Image:
    """What a build came to."""

    def __init__(self, folder: Path, arguments: Mapping[str, str]) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.variables: dict[str, str] = {}
        self.user = ""
        self.stop_signal = ""
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health_command: list[str] = []
        self.stages: list[str] = []
        self._given = arguments
        self._arguments: dict[str, str] = {}
        self._workdir = "/"

    @classmethod
    def build(cls, folder: Path, **arguments: str) -> Image:
        """Build the repository's Dockerfile with the files that its context would have."""
        image = cls(folder, arguments)
        for name, script in _SHIMS.items():
            shim = folder / "shims" / name
            shim.parent.mkdir(exist_ok=True)
            body = script.format(python=shlex.quote(_BASE_PYTHON), folder=folder)
            shim.write_text(f"#!/bin/bash\n{body}\n")
            shim.chmod(0o755)
        for instruction in instructions((ROOT / "Dockerfile").read_text()):
            image.take(instruction)
        return image

    @property
    def users(self) -> str:
        """What useradd was told."""
        return (self.folder / "users").read_text()

    def environment(self) -> dict[str, str]:
        """The variables of a container."""
        return {"PATH": os.defpath, **self.variables}

    def take(self, instruction: Instruction) -> None:
        """Carry out one instruction.

        Raises:
            ValueError: this build does not know it.
        """
        value = instruction.value
        match instruction.name:
            case "FROM":
                self._begin_stage(value)
            case "ARG":
                name, _, default = value.partition("=")
                self._arguments[name] = self._given.get(name, default)
            case "WORKDIR":
                self._workdir = value
                self._inside(value).mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(shlex.split(value))
            case "RUN":
                self._run(value)
            case "ENV":
                for pair in shlex.split(value):
                    name, _, text = pair.partition("=")
                    self.variables[name] = self._moved(text).replace("$PATH", os.defpath)
            case "USER":
                self.user = value
            case "STOPSIGNAL":
                self.stop_signal = value
            case "HEALTHCHECK":
                self.health_command = json.loads(value.partition(" CMD ")[2])
            case "ENTRYPOINT":
                self.entrypoint = json.loads(value)
            case "CMD":
                self.command = json.loads(value)
            case "VOLUME":
                for volume in json.loads(value):
                    assert self._inside(volume).is_dir(), f"{volume} is made before it is a volume"
            case _:
                raise ValueError(f"this build does not know {instruction.name}")

    def _begin_stage(self, value: str) -> None:
        if self.stages:
            self.root.rename(self.folder / self.stages[-1])
        self.stages.append(value.partition(" AS ")[2] or "final")
        self.root.mkdir()
        for name in _BASE_FILES:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        self._arguments, self._workdir, self.variables = {}, "/", {}

    def _inside(self, path: str) -> Path:
        return self.root / os.path.normpath(os.path.join(self._workdir, path)).lstrip("/")

    def _moved(self, text: str) -> str:
        return _PATHS.sub(f"{self.root}/", text)

    def _run(self, script: str) -> None:
        # The cache only spares the network; it would not be part of the image.
        script = self._moved(script).replace(" --no-cache-dir", "")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= self._arguments | self.variables
        environment["PATH"] = f"{self.folder / 'shims'}{os.pathsep}{os.defpath}"
        result = subprocess.run(
            ["/bin/sh", "-ec", script],
            cwd=self._inside("."),
            env=environment,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr

    def _copy(self, words: list[str]) -> None:
        stage = next((word.removeprefix("--from=") for word in words if "--from=" in word), None)
        *sources, target = [word for word in words if not word.startswith("--")]
        for source in sources:
            if stage is not None:
                place = self._inside(target)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(self.folder / stage / source.lstrip("/"), place, symlinks=True)
            elif (ROOT / source).is_dir():
                self._copy_context(source, self._inside(target))
            else:
                assert source in context(), f"{source} is not in the context"
                place = self._inside(target)
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)

    def _copy_context(self, source: str, place: Path) -> None:
        prefix = source.rstrip("/") + "/"
        found = [name for name in context() if name.startswith(prefix)]
        assert found, f"{source} is not in the context"
        for name in found:
            copied(name, place, prefix)


def copied(name: str, folder: Path, prefix: str = "") -> None:
    """Copy a file of the context into a folder, under its name without the prefix."""
    to = folder / name.removeprefix(prefix)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / name, to)


def context() -> list[str]:
    """The files that a build gets: those of the repository that .dockerignore lets in."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rules = [
        line.strip()
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    names = set(listed.stdout.split("\0")) - {""}
    return sorted(name for name in names if (ROOT / name).is_file() and _let_in(name, rules))


def _let_in(name: str, rules: list[str]) -> bool:
    """The last rule that matches the file, or a folder it is in, decides."""
    parts = name.split("/")
    places = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    allowed = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        anywhere = pattern.removeprefix("**/")
        if any(
            fnmatch.fnmatchcase(place, pattern)
            or (anywhere != pattern and fnmatch.fnmatchcase(place.split("/")[-1], anywhere))
            for place in places
        ):
            allowed = rule.startswith("!")
    return allowed
