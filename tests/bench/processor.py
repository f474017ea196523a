"""Processor time of a process, its own or another's."""

from __future__ import annotations

import time


def processor_seconds(pid: int) -> float:
    """What all threads of a running process have used, in the kernel and outside.

    Linux only: the id is what clock_getcpuclockid(3) makes, which Python does not have.
    """
    return time.clock_gettime(~pid << 3 | 2)
