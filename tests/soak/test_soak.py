"""A soak of seconds stays alive, and finds a planted leak."""

from __future__ import annotations

import re
import sys

import pytest

from tests.soak.run import soak

SECONDS = 4.0


async def test_a_short_soak_leaves_nothing() -> None:
    report = await soak(SECONDS, 1, print)
    assert report.judge() == []
    assert re.fullmatch(
        r"rss_start=\d+ rss_end=\d+ fds_start=\d+ fds_end=\d+ tasks_left=0", report.line
    )


@pytest.mark.interpreted
async def test_a_planted_leak_is_found() -> None:
    command = (sys.executable, "-m", "tests.chaos.sabotaged_server", "hoard-memory")
    faults = (await soak(SECONDS, 1, print, command)).judge()
    assert any(fault.startswith("memory grew by ") for fault in faults), faults


@pytest.mark.interpreted
async def test_a_task_that_is_left_is_found() -> None:
    command = (sys.executable, "-m", "tests.chaos.sabotaged_server", "leave-tasks")
    faults = (await soak(SECONDS, 1, print, command)).judge()
    assert any(fault.endswith(" tasks are left") for fault in faults), faults
