"""What full record tables cost in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.bench.figures import Basis, Figure
from tests.bench.fill import Fill
from tests.bench.footprint import rss_bytes
from tests.bench.plan import Cell
from tests.bench.processes import SIDECALL, loading, serving

FULL: Final = Fill(sessions=1_000, records=256, arguments_bytes=8 << 10)
"""2 GiB of arguments, where nothing bounded them."""


def record_memory(fill: Fill = FULL) -> Figure:
    """MiB that the server holds more once so many records were asked for.

    Ended calls, which have a bound of their own, are not kept.
    """
    with (
        tempfile.TemporaryDirectory(prefix="sidecall-bench-") as folder,
        serving(Path(folder), (*SIDECALL, "--max-retained-calls", "1")) as server,
        loading(server) as load,
    ):
        before = rss_bytes(server.pid)
        load.begin(Cell("fill", fill), 0)
        recorded = load.measured().calls
        assert recorded == fill.sessions * fill.records, recorded
        grown = (rss_bytes(server.pid) - before) / (1 << 20)
    return Figure(grown, grown, grown, Basis.MEMORY)
