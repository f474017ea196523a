"""Fixtures of the process tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.processes import Processes


@pytest.fixture
def folder() -> Iterator[Path]:
    """A private folder with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="sc-") as name:
        yield Path(name)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Starts servers, and ends them with the test."""
    started = Processes(tmp_path)
    yield started
    started.close()
