"""The time of an event loop, as it is looked at several times in every call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


def clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's monotonic seconds.

    Of asyncio's own loops that is `time.monotonic` behind a method of Python; it is called
    itself, for a call looks ten times.
    """
    if type(loop).time is asyncio.BaseEventLoop.time:
        return time.monotonic
    return loop.time
