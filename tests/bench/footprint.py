"""How small the sidecar is before it has done anything: its start and its memory."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.bench.figures import Basis, Figure
from tests.bench.processes import SIDECALL, serving
from tests.bench.processor import processor_seconds

EMPTY: Final = (sys.executable, "-m", "tests.bench.empty_server")


def footprint(starts: int) -> tuple[Figure, Figure]:
    """Resident MiB once ready, and processor time until then ÷ an empty server's.

    Both as they are once installed: their modules are compiled, by a first start of each.
    """
    mebibytes, ratios = [], []
    with tempfile.TemporaryDirectory(prefix="sidecall-bench-") as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in (SIDECALL, EMPTY):
            _start(command, environment)
        for _ in range(starts):
            cpu, rss = _start(SIDECALL, environment)
            empty_cpu, _ = _start(EMPTY, environment)
            mebibytes.append(rss / (1 << 20))
            ratios.append(cpu / empty_cpu)
    return Figure.of(mebibytes, Basis.MEMORY), Figure.of(ratios, Basis.SERVER_CPU)


def rss_bytes(pid: int) -> int:
    """Memory a process holds."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _start(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, int]:
    with (
        tempfile.TemporaryDirectory(prefix="sidecall-bench-") as folder,
        serving(Path(folder), command, environment) as server,
    ):
        return processor_seconds(server.pid), rss_bytes(server.pid)
