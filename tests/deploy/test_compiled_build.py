"""The server compiles where nothing is installed but what setup.py says it takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.app.processes import ROOT
from tests.deploy.image import context, copied

BUILD_SECONDS = 400


def _build(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | {"SIDECALL_COMPILE": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What an image is built of."""
    folder = tmp_path / "sources"
    for name in context():
        copied(name, folder)
    return folder


def test_all_that_compiling_takes_is_asked_for(sources: Path, tmp_path: Path) -> None:
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
    # The C compiler is told to do nothing: that mypyc makes its C is what is to be seen.
    built = _build(
        sources, *(str(python), "-m", "pip", "wheel", "--no-deps", "--quiet", "."), CC="/bin/false"
    )
    called = r"error: Command '\['/bin/false', .*__native_sidecall_server\.c"
    assert re.search(called, built.stderr), built.stderr


def test_a_source_distribution_has_what_compiling_takes(sources: Path) -> None:
    shutil.copy(ROOT / "MANIFEST.in", sources)
    program = "from setuptools import build_meta; print(build_meta.build_sdist('.'))"
    built = _build(sources, sys.executable, "-c", program)
    assert built.returncode == 0, built.stderr
    (distribution,) = sources.glob("*.tar.gz")
    with tarfile.open(distribution) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.py", "server/native_sources.py"} <= names


def test_what_cannot_be_compiled_is_not_built(sources: Path) -> None:
    program = (
        "import sys; sys.modules['mypyc'] = None\n"
        "from setuptools import build_meta; build_meta.build_wheel('.')"
    )
    built = _build(sources, sys.executable, "-c", program)
    assert built.returncode != 0
    assert "mypyc" in built.stderr
    assert not list(sources.glob("*.whl"))
