"""What truncating a large text costs, in copies of its bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sidecall_server.domain.truncation import TokensPolicy, truncate_formatted

from tests.bench.figures import Basis, Figure
from tests.bench.frames import text_of

SIZE_BYTES: Final = 10 << 20
POLICY: Final = TokensPolicy(10_000)
WARM_UPS: Final = 3
"""Until malloc has the memory and keeps it."""

REPEATS: Final = 15
TEXTS: Final = {
    "ASCII": text_of(SIZE_BYTES),
    "Latin": "Größe, à bientôt; " * (SIZE_BYTES // 22),
    "emoji": "日本語 🙂 text " * (SIZE_BYTES // 20),
}
"""Texts of about the size, by what they are written in."""


def truncation_copies(text: str) -> Figure:
    """Time of bytes in, cut bytes out ÷ time of one copy of the bytes, measured in turn."""
    data = text.encode()
    source = bytearray(data)
    ratios = [
        _seconds(lambda: truncate_formatted(data, POLICY).encode())
        / _seconds(lambda: bytes(source))
        for _ in range(WARM_UPS + REPEATS)
    ]
    return Figure.of(ratios[WARM_UPS:], Basis.TIME)


def _seconds(run: Callable[[], object]) -> float:
    """Processor time, so that a neighbour on the machine does not count."""
    began = time.thread_time()
    run()
    return time.thread_time() - began
