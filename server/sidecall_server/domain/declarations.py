"""What an agent declares about its tools and hooks."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from sidecall_server.domain.errors import Fault
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.limits import DEFAULT_TEARDOWN_SECONDS
from sidecall_server.domain.values import (
    NO_FAULTS,
    Faults,
    PayloadKind,
    ToolName,
    name_faults,
    refuse,
)


class CancelMode(StrEnum):
    """What a cancel does to a running handler (G3)."""

    ABORT = "abort"
    WAIT_FOR_TEARDOWN = "wait_for_teardown"


class HookPoint(StrEnum):
    """Where in a call a hook runs (F1)."""

    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"


DECLARATION_BYTES = 512
"""What a declaration takes in memory beside its texts, roughly."""

DEFAULT_PAYLOAD_KINDS = (PayloadKind.FUNCTION, PayloadKind.TOOL_SEARCH)
"""What a tool takes that does not say (F3)."""


class ToolDeclaration(Struct, frozen=True):
    """A tool of the agent. Times are seconds; `call_timeout_seconds` None: no limit."""

    tool_name: ToolName
    hook_kind: HookKind = HookKind.DEFAULT
    payload_kinds: tuple[PayloadKind, ...] = DEFAULT_PAYLOAD_KINDS
    supports_parallel_calls: bool = False
    hidden: bool = False
    ready: bool = True
    cancel_mode: CancelMode = CancelMode.ABORT
    teardown_timeout_seconds: float = DEFAULT_TEARDOWN_SECONDS
    call_timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        faults = _timeout_faults("call_timeout_seconds", self.call_timeout_seconds)
        if not self.teardown_timeout_seconds >= 0:
            faults = (Fault("teardown_timeout_seconds", "must not be negative"), *faults)
        refuse(faults)

    @property
    def size_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        return DECLARATION_BYTES + len(self.tool_name.flat)

    @property
    def shares_gate(self) -> bool:
        """Whether it may run beside others that may (G2)."""
        return self.supports_parallel_calls and not self.hidden


class HookDeclaration(Struct, frozen=True):
    """A hook of the agent. No matchers: every tool. `timeout_seconds` None: the default."""

    point: HookPoint
    matchers: tuple[str, ...] = ()
    timeout_seconds: float | None = None

    def __post_init__(self) -> None:
        faults: list[Fault] = []
        for index, matcher in enumerate(self.matchers):
            faults += name_faults(f"matchers[{index}]", matcher)
        refuse([*faults, *_timeout_faults("timeout_seconds", self.timeout_seconds)])

    @property
    def size_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        return DECLARATION_BYTES + sum(64 + len(matcher) for matcher in self.matchers)

    def matches(self, names: Iterable[str]) -> bool:
        """Whether the hook wants a call that goes by these names."""
        return not self.matchers or any(name in self.matchers for name in names)


def _timeout_faults(field: str, seconds: float | None) -> Faults:
    if seconds is None or seconds > 0:
        return NO_FAULTS
    return (Fault(field, "must be above zero, or absent"),)
