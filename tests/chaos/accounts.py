"""What one agent knows of its calls, and which rules that breaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sidecall.v1 import errors_pb2
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.chaos.ledger import Fault, Ledger
from tests.chaos.plan import CallPlan


class Reference(NamedTuple):
    """A call's name."""

    turn_id: str
    call_id: str


@dataclass
class Account:
    """One call of one agent."""

    plan: CallPlan
    attempts: int = 0
    refusals: int = 0
    dispatched_again: int = 0
    terminal: bytes | None = None
    """Its outcome as it came first."""
    may_repeat: int = 0
    """Repetitions that the contract allows: after a gap, or because it was dispatched again."""

    @property
    def refused(self) -> bool:
        """No attempt was taken."""
        return self.terminal is None and self.refusals >= self.attempts > 0


@dataclass
class Accounts:
    """All calls of one stay."""

    ledger: Ledger
    who: str
    calls: dict[Reference, Account] = field(default_factory=dict)
    forged: set[Reference] = field(default_factory=set)
    """Calls of forged messages: nobody may ever have taken them."""
    gaps: int = 0
    _attempts: dict[int, dict[int, Reference]] = field(default_factory=dict)
    _allowed: set[int] = field(default_factory=set)

    def broke(self, fault: Fault, what: str) -> None:
        """A rule does not hold for this agent."""
        self.ledger.broke(fault, f"{self.who}: {what}")

    def attempted(self, sequence: int, index: int, plan: CallPlan, *, again: bool) -> None:
        """A dispatch goes out, in this message at this place."""
        reference = Reference(plan.turn_id, plan.call_id)
        account = self.calls.setdefault(reference, Account(plan))
        account.attempts += 1
        if again:
            account.may_repeat += 1
        self._attempts.setdefault(sequence, {})[index] = reference

    def forgery(self, sequence: int) -> None:
        """A message that may be answered by errors."""
        self._allowed.add(sequence)

    def refused(self, frame: pb.FrameError) -> None:
        """A frame or message was refused."""
        reason = errors_pb2.ErrorReason.Name(frame.reason)
        if frame.reason == errors_pb2.ERROR_REASON_INTERNAL:
            self.broke("broken", f"{reason}: {frame.message}")
        attempts = self._attempts.get(frame.sequence, {})
        if not frame.HasField("frame_index"):
            hit = list(attempts.values())
        else:
            hit = [attempts[frame.frame_index]] if frame.frame_index in attempts else []
        for reference in hit:
            self.calls[reference].refusals += 1
        if not hit and frame.sequence not in self._allowed:
            self.broke("broken", f"refused without cause: {reason}: {frame.message}")

    def completed(self, frame: pb.CallCompleted) -> None:
        """A terminal frame came."""
        reference = Reference(frame.call.turn_id, frame.call.call_id)
        account = self.calls.get(reference)
        if account is None:
            self.broke("broken", f"{reference} ended and never was")
            return
        outcome = frame.outcome.SerializeToString(deterministic=True)
        if account.terminal is None:
            account.terminal = outcome
            if frame.outcome.WhichOneof("outcome") is None:
                self.broke("broken", f"{reference} ended without outcome")
        elif account.terminal != outcome:
            self.broke("duplicates", f"{reference} ended in two ways")
        elif not account.may_repeat:
            self.broke("duplicates", f"{reference} ended twice")
        else:
            account.may_repeat -= 1

    def gap(self) -> None:
        """The server says that messages are gone: outcomes may come again."""
        self.gaps += 1
        for account in self.calls.values():
            account.may_repeat += 1

    @property
    def waiting(self) -> list[Reference]:
        """Calls that have neither ended nor been refused."""
        return [
            reference
            for reference, account in self.calls.items()
            if account.terminal is None and not account.refused
        ]

    @property
    def accepted(self) -> list[Reference]:
        """Calls that were taken."""
        return [reference for reference, account in self.calls.items() if not account.refused]

    @property
    def terminals(self) -> int:
        """Calls that have ended."""
        return sum(account.terminal is not None for account in self.calls.values())

    @property
    def never(self) -> set[Reference]:
        """Calls that must not be known to the server."""
        refused = {reference for reference, account in self.calls.items() if account.refused}
        return refused | self.forged
