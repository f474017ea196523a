"""Chaos stays alive, and finds what is planted."""

from __future__ import annotations

import sys

import pytest

from tests.chaos.ledger import Fault, Ledger
from tests.chaos.run import run

SEED = 30
"""Of the first stays of six agents one ends in silence, and none stalls, which takes long."""
PLANTED: list[tuple[str, Fault]] = [
    ("drop-terminal", "lost"),
    ("send-terminal-twice", "duplicates"),
    ("keep-deleted-sessions", "leaked"),
    ("hold-the-gate", "hung"),
    ("record-what-is-refused", "broken"),
    ("never-give-up-on-the-lost", "hung"),
]


async def test_a_short_run_breaks_no_rule() -> None:
    said: list[str] = []
    ledger = await run(2.0, SEED, said.append, agents=6, workers=1)
    assert ledger.clean, said
    assert ledger.line == (
        f"calls={ledger.calls} terminals={ledger.calls} duplicates=0 lost=0 hung=0 leaked=0"
    )
    assert ledger.evil["SIGKILL"] + ledger.evil["worker left"] >= 1
    assert ledger.evil["Forge"] > 0


@pytest.mark.interpreted
@pytest.mark.parametrize(("planted", "fault"), PLANTED)
async def test_a_planted_fault_is_found(planted: str, fault: Fault) -> None:
    said: list[str] = []
    command = (sys.executable, "-m", "tests.chaos.sabotaged_server", planted)
    ledger = await run(0.5, SEED, said.append, agents=6, workers=0, end_seconds=2, command=command)
    assert not ledger.clean
    assert ledger.count(fault) > 0, said
    assert any(line.startswith("broke first: ") for line in said), "the first is told apart"


def test_a_run_without_calls_proves_nothing() -> None:
    assert not Ledger(print).clean
