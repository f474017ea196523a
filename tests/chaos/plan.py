"""What an agent is going to do, decided by its seed before it begins.

A plan holds every choice: which calls, what their handlers and hooks come to, when the
connection breaks, what is forged. What happens then still depends on timing; the plan does not.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

MAX_PAUSE_SECONDS: Final = 0.03
NEVER_TIMEOUT_SECONDS: Final = 0.6
"""The time of a call whose handler never answers."""


class Work(enum.Enum):
    """What a handler comes to."""

    RETURN = enum.auto()
    RETURN_MUCH = enum.auto()
    FAIL = enum.auto()
    FATAL = enum.auto()
    BREAK = enum.auto()
    TWICE = enum.auto()
    NEVER = enum.auto()
    MISFIT = enum.auto()
    """First a result that cannot be used, then a good one."""


class Verdict(enum.Enum):
    """What the hooks come to."""

    PROCEED = enum.auto()
    REWRITE = enum.auto()
    BAD_REWRITE = enum.auto()
    BLOCK = enum.auto()
    FEEDBACK = enum.auto()
    FAILED = enum.auto()
    TWICE = enum.auto()
    NEVER = enum.auto()


class Forgery(enum.Enum):
    """A message no good client writes."""

    GARBAGE = enum.auto()
    TRUNCATED = enum.auto()
    EMPTY_FRAME = enum.auto()
    UNKNOWN_FRAME = enum.auto()
    UNKNOWN_ENUM = enum.auto()
    MISSING_FIELDS = enum.auto()
    WRONG_TOKEN = enum.auto()
    SOMEBODYS_TOKEN = enum.auto()
    STALE_TOKEN = enum.auto()
    PAST = enum.auto()
    FUTURE = enum.auto()
    ACKNOWLEDGED_FUTURE = enum.auto()
    UNNUMBERED = enum.auto()
    HELLO_AGAIN = enum.auto()
    OVERSIZE = enum.auto()
    OVERLONG_CHUNK = enum.auto()
    CHUNK_OF_CHUNK = enum.auto()
    WRONG_RESUME_TOKEN = enum.auto()
    HELLO_FROM_THE_FUTURE = enum.auto()


class Again(enum.Enum):
    """A call that is dispatched a second time."""

    NO = enum.auto()
    SAME = enum.auto()
    OTHER_PAYLOAD = enum.auto()


class Leave(enum.Enum):
    """How an agent goes."""

    DETACH = enum.auto()
    DETACH_AND_CLOSE = enum.auto()
    DELETE = enum.auto()
    LOSE = enum.auto()
    """The connection breaks and the agent does not come back."""
    STALL = enum.auto()
    """The agent neither reads nor writes any more, but holds its connection."""


@dataclass(frozen=True)
class CallPlan:
    """One call."""

    call_id: str
    turn_id: str
    tool: str
    work: Work
    verdict: Verdict
    again: Again
    custom: bool
    cell_id: str
    argument_bytes: int
    delay_seconds: float
    timeout_seconds: float | None
    tears_down: bool


@dataclass(frozen=True)
class Dispatch:
    """Dispatch calls, in one message or in one each."""

    calls: Sequence[CallPlan]
    together: bool


@dataclass(frozen=True)
class Cancel:
    """Cancel the n-th last call, a turn, or all (`of`: "call", "turn", "all")."""

    of: str
    back: int
    by_operator: bool


@dataclass(frozen=True)
class Drop:
    """Lose the connection and come back: maybe while the old stream still lives."""

    seconds: float
    take_over: bool


@dataclass(frozen=True)
class Stall:
    """Do not read for a while."""

    seconds: float


@dataclass(frozen=True)
class Forge:
    """Send a forgery."""

    forgery: Forgery


@dataclass(frozen=True)
class EndTurn:
    """End a turn, then dispatch in it."""

    turn_id: str


@dataclass(frozen=True)
class Ready:
    """Say that the late tool can run, or cannot."""

    ready: bool


@dataclass(frozen=True)
class Watch:
    """Begin a watch that ends after some events; a slow one sleeps before each."""

    events: int
    slow_seconds: float


Step: TypeAlias = Dispatch | Cancel | Drop | Stall | Forge | EndTurn | Ready | Watch


@dataclass(frozen=True)
class VisitPlan:
    """One stay of an agent, from Hello to its end."""

    steps: Sequence[Step]
    pauses: Sequence[float]
    leave: Leave
    cancels_at_end: bool
    reject_result: bool


TOOLS: Final = ("share", "share", "share", "alone", "shell", "late", "hooked", "hooked", "unknown")
_WORKS: Final = (Work.RETURN,) * 12 + tuple(Work)
_VERDICTS: Final = (Verdict.PROCEED,) * 4 + tuple(Verdict)
_AGAIN: Final = (Again.NO,) * 8 + tuple(Again)
_LEAVES: Final = (Leave.DETACH_AND_CLOSE, Leave.DELETE) * 4 + tuple(Leave)


def plan_visit(rng: random.Random, *, steps: int = 24) -> VisitPlan:
    """A stay of so many steps."""
    writer = _Writer(rng)
    return VisitPlan(
        steps=[writer.step() for _ in range(steps)],
        pauses=[rng.choice((0.0, 0.0, rng.uniform(0, MAX_PAUSE_SECONDS))) for _ in range(steps)],
        leave=rng.choice(_LEAVES),
        cancels_at_end=rng.random() < 0.5,
        reject_result=rng.random() < 0.3,
    )


class _Writer:
    """Writes steps; call ids begin anew in each turn, as providers' do."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._turn = 1
        self._calls = 0

    def step(self) -> Step:
        rng = self._rng
        choice = rng.randrange(100)
        if choice < 45:
            count = rng.choice((1, 1, 2, 3, 5, 8))
            return Dispatch([self._call() for _ in range(count)], rng.random() < 0.6)
        if choice < 57:
            of = rng.choice(("call", "call", "call", "turn", "all"))
            return Cancel(of, rng.randrange(6), rng.random() < 0.3)
        if choice < 65:
            return Drop(rng.choice((0.0, rng.uniform(0, 0.3))), rng.random() < 0.3)
        if choice < 69:
            return Stall(rng.uniform(0.05, 0.5))
        if choice < 86:
            return Forge(rng.choice(tuple(Forgery)))
        if choice < 91:
            ended = self._turn_id
            self._turn += 1
            self._calls = 0
            return EndTurn(ended)
        if choice < 95:
            return Ready(rng.random() < 0.6)
        return Watch(rng.randrange(1, 40), rng.choice((0.0, 0.0, 0.01)))

    @property
    def _turn_id(self) -> str:
        return f"turn-{self._turn}"

    def _call(self) -> CallPlan:
        rng = self._rng
        self._calls += 1
        work = rng.choice(_WORKS)
        tool = rng.choice(TOOLS)
        endless = work is Work.NEVER or tool == "late"
        return CallPlan(
            call_id=f"call_{self._calls}",
            turn_id=self._turn_id,
            tool=tool,
            work=work,
            verdict=rng.choice(_VERDICTS),
            again=rng.choice(_AGAIN),
            custom=rng.random() < 0.1,
            cell_id=rng.choice(("", "", "", "", "cell-1", "cell-2")),
            argument_bytes=rng.choice((0, 0, 0, 10, 200, 9_000, 300_000)),
            delay_seconds=rng.choice((0.0, 0.0, rng.uniform(0, 0.05))),
            timeout_seconds=NEVER_TIMEOUT_SECONDS
            if endless
            else rng.choice((None, None, None, 0.02)),
            tears_down=rng.random() < 0.7,
        )
