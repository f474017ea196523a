"""What an agent declares about its tools and hooks."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.limits import DEFAULT_TEARDOWN_SECONDS
from sidecall_server.domain.values import NamePart, PayloadKind, ToolName


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


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool of the agent. Times are seconds; `call_timeout_seconds` None: no limit."""

    tool_name: ToolName
    hook_kind: HookKind = HookKind.DEFAULT
    payload_kinds: tuple[PayloadKind, ...] = DEFAULT_PAYLOAD_KINDS
    supports_parallel_calls: bool = False
    hidden: bool = False
    ready: bool = True
    cancel_mode: CancelMode = CancelMode.ABORT
    teardown_timeout_seconds: Annotated[float, Field(ge=0)] = DEFAULT_TEARDOWN_SECONDS
    call_timeout_seconds: Annotated[float, Field(gt=0)] | None = None

    @property
    def size_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        return DECLARATION_BYTES + len(self.tool_name.flat)

    @property
    def shares_gate(self) -> bool:
        """Whether it may run beside others that may (G2)."""
        return self.supports_parallel_calls and not self.hidden


@dataclass(frozen=True, slots=True)
class HookDeclaration:
    """A hook of the agent. No matchers: every tool. `timeout_seconds` None: the default."""

    point: HookPoint
    matchers: tuple[NamePart, ...] = ()
    timeout_seconds: Annotated[float, Field(gt=0)] | None = None

    @property
    def size_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        return DECLARATION_BYTES + sum(64 + len(matcher) for matcher in self.matchers)

    def matches(self, names: Iterable[str]) -> bool:
        """Whether the hook wants a call that goes by these names."""
        return not self.matchers or any(name in self.matchers for name in names)
