"""How often the server copies a large output."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.bench.cycle import WARM_UP_CALLS
from tests.bench.figures import Basis, Figure
from tests.bench.plan import LARGE, Cell
from tests.bench.processes import WITH_ECHO, ToolMissing, loading, serving

COMPILER: Final = "cc"
SECONDS: Final = 1.0
_SOURCE: Final = Path(__file__).with_name("copies.c")


def copies_per_output(target: str, seconds: float = SECONDS) -> Figure:
    """Bytes that a large cycle copies in pieces of 64 KiB or more ÷ the bytes of its output.

    Raises:
        ToolMissing: there is no C compiler.
    """
    if shutil.which(COMPILER) is None:
        raise ToolMissing(f"{COMPILER} is not installed")
    with tempfile.TemporaryDirectory(prefix="sidecall-bench-") as folder:
        counter = Path(folder) / "copies.so"
        build = (COMPILER, "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", counter, _SOURCE)
        subprocess.run(build, check=True)
        preloaded = ("env", f"LD_PRELOAD={counter}", *WITH_ECHO)
        with serving(Path(folder), preloaded) as server, loading(server) as load:
            load.begin(Cell(target, LARGE), seconds)
            calls = load.measured().calls + WARM_UP_CALLS + LARGE.in_flight
            os.kill(server.pid, signal.SIGUSR2)
        # the server has ended, and what it wrote is there
        log = (Path(folder) / "server.log").read_text()
    (copied,) = (line.split() for line in log.splitlines() if line.startswith("copied "))
    copies = int(copied[2]) / calls / LARGE.output_bytes
    return Figure(copies, copies, copies, Basis.COUNT)
