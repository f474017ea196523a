"""How soon an agent tries to connect again."""

from __future__ import annotations

import pytest
from sidecall.client import backoff
from sidecall.client.backoff import DELAYS_SECONDS, STEADY_SECONDS, Backoff


class Clock:
    """Moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("lasted_seconds", "then"),
    [(STEADY_SECONDS, DELAYS_SECONDS[0]), (STEADY_SECONDS - 0.01, DELAYS_SECONDS[3])],
)
def test_only_a_connection_that_lasts_starts_the_delays_over(
    lasted_seconds: float, then: float
) -> None:
    clock = Clock()
    delays = Backoff(clock)
    assert [delays.next_delay() for _ in range(3)] == list(DELAYS_SECONDS[:3])
    delays.connected()
    clock.now += lasted_seconds
    assert delays.next_delay() == then


def test_the_last_delay_holds_for_all_that_follow() -> None:
    delays = Backoff(Clock())
    for _ in DELAYS_SECONDS:
        delays.next_delay()
    assert [delays.next_delay() for _ in range(2)] == [DELAYS_SECONDS[-1]] * 2


def test_time_without_a_connection_is_no_good_connection() -> None:
    clock = Clock()
    delays = Backoff(clock)
    delays.connected()
    delays.next_delay()
    clock.now += 10 * STEADY_SECONDS
    assert delays.next_delay() == backoff.DELAYS_SECONDS[1]
