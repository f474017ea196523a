"""The gate: shared and exclusive, first come first served, released on every path (R4, G2)."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sidecall_server.runtime.gate import Gate


class Doors:
    """A gate, and who was admitted in which order."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.admitted: list[str] = []

    def enter(self, ticket: str, *, exclusive: bool) -> None:
        self.gate.enter(ticket, exclusive=exclusive, admit=lambda: self.admitted.append(ticket))


def test_those_who_may_share_hold_it_together() -> None:
    doors = Doors()
    for ticket in "abc":
        doors.enter(ticket, exclusive=False)
    assert doors.admitted == ["a", "b", "c"]


def test_one_who_holds_it_alone_is_alone() -> None:
    doors = Doors()
    doors.enter("a", exclusive=True)
    doors.enter("b", exclusive=True)
    doors.enter("c", exclusive=False)
    assert doors.admitted == ["a"]
    doors.gate.leave("a")
    assert doors.admitted == ["a", "b"]
    doors.gate.leave("b")
    assert doors.admitted == ["a", "b", "c"]
    doors.gate.leave("c")
    assert doors.gate.empty


def test_nobody_overtakes_one_who_waits_to_be_alone() -> None:
    doors = Doors()
    doors.enter("a", exclusive=False)
    doors.enter("b", exclusive=True)
    doors.enter("c", exclusive=False)
    assert doors.admitted == ["a"]


def test_a_waiter_who_leaves_makes_room_at_once() -> None:
    doors = Doors()
    doors.enter("a", exclusive=False)
    doors.enter("b", exclusive=True)
    doors.enter("c", exclusive=False)
    doors.gate.leave("b")
    assert doors.admitted == ["a", "c"]


def test_one_who_leaves_as_it_is_admitted_lets_the_next_in() -> None:
    gate = Gate()
    admitted: list[str] = []
    gate.enter("a", exclusive=True, admit=lambda: admitted.append("a"))
    gate.enter("b", exclusive=True, admit=lambda: gate.leave("b"))
    gate.enter("c", exclusive=True, admit=lambda: admitted.append("c"))
    gate.leave("a")
    assert admitted == ["a", "c"]


class GateModel(RuleBasedStateMachine):
    """The gate against a list."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.line: list[tuple[int, bool]] = []
        """Everybody who is in or waits, in the order of coming."""
        self.inside: set[int] = set()
        self.next = 0

    @rule(exclusive=st.booleans())
    def enter(self, exclusive: bool) -> None:
        ticket = self.next
        self.next += 1
        self.line.append((ticket, exclusive))
        self.gate.enter(ticket, exclusive=exclusive, admit=lambda: self.inside.add(ticket))

    @rule(pick=st.integers(min_value=0))
    def leave(self, pick: int) -> None:
        if self.line:
            ticket, _ = self.line.pop(pick % len(self.line))
            self.inside.discard(ticket)
            self.gate.leave(ticket)

    @rule()
    def a_stranger_leaves(self) -> None:
        self.gate.leave("stranger")

    @invariant()
    def who_is_inside_is_the_longest_front_of_the_line_that_may_be(self) -> None:
        expected: set[int] = set()
        for ticket, exclusive in self.line:
            if expected and (exclusive or self._alone(expected)):
                break
            expected.add(ticket)
        assert self.inside == expected
        assert len(self.gate) == len(self.line)
        assert self.gate.empty == (not self.line)

    def _alone(self, tickets: set[int]) -> bool:
        return any(exclusive for ticket, exclusive in self.line if ticket in tickets)


GateModel.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestGateModel = GateModel.TestCase
