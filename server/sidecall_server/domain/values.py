"""What a tool call is made of (SPEC A1, A2): validated once, here, then trusted.

Every value is frozen. Building one with something unusable raises pydantic's
``ValidationError``, which ``wire/`` turns into field violations. Text is any Unicode
that UTF-8 can hold; sizes are UTF-8 bytes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints
from pydantic.dataclasses import dataclass

from sidecall_server.domain.limits import TEXT_LIMITS

DEFAULT_NAMESPACES = (None, "", "functions")
"""The namespaces that mean "no namespace" to rules G5 and J2."""


def utf8_size(text: str) -> int:
    """Bytes of the text in UTF-8. Constant time for ASCII text."""
    return len(text) if text.isascii() else len(text.encode())


def _check_size(text: str, limit_bytes: int) -> str:
    if utf8_size(text) > limit_bytes:
        raise ValueError(f"must be at most {limit_bytes} bytes of UTF-8")
    return text


def _check_id(text: str) -> str:
    return _check_size(text, TEXT_LIMITS.max_id_bytes)


def _check_name(text: str) -> str:
    return _check_size(text, TEXT_LIMITS.max_tool_name_bytes)


RequiredId: TypeAlias = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_id)]
"""An id that must be given (S6)."""

Id: TypeAlias = Annotated[str, AfterValidator(_check_id)]
"""An id that may be empty where the rules say what that means."""

NamePart: TypeAlias = Annotated[str, AfterValidator(_check_name)]


class PayloadKind(StrEnum):
    """The three shapes a model calls tools with (A1)."""

    FUNCTION = "function"
    CUSTOM = "custom"
    TOOL_SEARCH = "tool_search"


class ToolMode(StrEnum):
    """How tools are offered to the model (I5)."""

    DIRECT = "direct"
    CODE_MODE = "code_mode"
    CODE_MODE_ONLY = "code_mode_only"


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool's name; an absent and an empty namespace differ (A2)."""

    name: NamePart
    namespace: NamePart | None = None

    @property
    def flat(self) -> str:
        """Namespace immediately followed by name: the form of error texts and hooks (A2)."""
        return (self.namespace or "") + self.name

    @property
    def recorder_name(self) -> str:
        """The name an executed-call record carries (I6)."""
        if self.namespace is None:
            return self.name
        if self.namespace.endswith("_") or self.name.startswith("_"):
            return self.namespace + self.name
        return f"{self.namespace}__{self.name}"

    @property
    def in_default_namespace(self) -> bool:
        """Whether the namespace is absent, empty or ``functions`` (G5)."""
        return self.namespace in DEFAULT_NAMESPACES


@dataclass(frozen=True, slots=True)
class FunctionPayload:
    """Arguments as the model wrote them: raw, unparsed, maybe not JSON."""

    arguments: str

    @property
    def kind(self) -> PayloadKind:
        return PayloadKind.FUNCTION


@dataclass(frozen=True, slots=True)
class CustomPayload:
    """Free-form input."""

    input: str

    @property
    def kind(self) -> PayloadKind:
        return PayloadKind.CUSTOM


@dataclass(frozen=True, slots=True)
class ToolSearchPayload:
    """A search among tools; `limit` counts results."""

    query: str
    limit: Annotated[int, Field(ge=0, lt=1 << 64)] | None = None

    @property
    def kind(self) -> PayloadKind:
        return PayloadKind.TOOL_SEARCH


ToolPayload: TypeAlias = FunctionPayload | CustomPayload | ToolSearchPayload

_EMPTY_PAYLOADS: dict[PayloadKind, ToolPayload] = {
    PayloadKind.FUNCTION: FunctionPayload(""),
    PayloadKind.CUSTOM: CustomPayload(""),
    PayloadKind.TOOL_SEARCH: ToolSearchPayload(""),
}


@dataclass(frozen=True, slots=True)
class Direct:
    """The model called the tool itself."""


@dataclass(frozen=True, slots=True)
class DirectPlaintextMessage:
    """The call was found in a plain text message of the model."""


@dataclass(frozen=True, slots=True)
class CodeMode:
    """A script called the tool from inside a cell."""

    cell_id: RequiredId
    runtime_tool_call_id: Id = ""


ToolCallSource: TypeAlias = Direct | DirectPlaintextMessage | CodeMode


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. `call_id` must be given (S6); `turn_id` may be empty: no known turn (S2)."""

    call_id: RequiredId
    tool_name: ToolName
    payload: ToolPayload
    source: ToolCallSource = Direct()
    turn_id: Id = ""

    @property
    def without_payload(self) -> ToolCall:
        """The same call with an empty payload of its kind."""
        empty = _EMPTY_PAYLOADS[self.payload.kind]
        return ToolCall(self.call_id, self.tool_name, empty, self.source, self.turn_id)

    @property
    def nested(self) -> bool:
        """Whether a script made the call, so that its result goes to the script."""
        return isinstance(self.source, CodeMode)
