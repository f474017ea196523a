"""BENCHMARKS.md: what was measured stands in it between two marks, and is written by the tool."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import grpc
from sidecall_server.app.version import compiled

from tests.bench.plan import cell_of
from tests.bench.plots import draw
from tests.bench.processes import ROOT
from tests.bench.profile import profile
from tests.bench.report import NAMES, measure

DOCUMENT: Final = ROOT / "BENCHMARKS.md"
PLOTS: Final = Path(__file__).parent / "plots"
PROFILED: Final = ("cycle_small", "cycle_large", "attach_2000")


def publish(tell: Callable[[str], None]) -> None:
    """Measure everything, and write it into the document: about ten minutes."""
    report = measure(NAMES, quick=False, tell=tell)
    texts = {"machine": machine(), "results": "\n".join(report.lines())}
    for name in PROFILED:
        tell(f"profile of {name}")
        texts[f"profile of {name}"] = "\n".join(("```", *profile(cell_of(name)), "```"))
    draw(PLOTS, tell)
    document = DOCUMENT.read_text()
    for mark, text in texts.items():
        document = with_text(document, mark, text)
    DOCUMENT.write_text(document)


def with_text(document: str, mark: str, text: str) -> str:
    """The document with this text in the place of what stood between the marks.

    Raises:
        ValueError: the document does not have the marks, once.
    """
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    document, count = re.subn(
        pattern, lambda _: f"{begin}\n{text}\n\n{end}", document, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"the document has the marks of {mark!r} {count} times")
    return document


def machine() -> str:
    """What it was measured on."""
    cpu = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return (
        f"{os.cpu_count()} × {cpu.group(1) if cpu else platform.machine()},"
        f" Linux {platform.release()}, Python {platform.python_version()},"
        f" grpcio {grpc.__version__}; the server {'compiled' if compiled() else 'interpreted'}."
    )
