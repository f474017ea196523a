"""What a tool call is made of (SPEC A1, A2): validated once, here, then trusted.

Every value is frozen. Building one with something unusable raises InvalidValue, which ``wire/``
turns into field violations; what several values demand of their fields stands here. Text is any
Unicode that UTF-8 can hold; sizes are UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

from msgspec import Struct

from sidecall_server.domain.errors import Fault, InvalidValue, Reason
from sidecall_server.domain.limits import MAX_UINT64, TEXT_LIMITS

DEFAULT_NAMESPACES = (None, "", "functions")
"""The namespaces that mean "no namespace" to rules G5 and J2."""

Faults: TypeAlias = tuple[Fault, ...]
NO_FAULTS: Final[Faults] = ()


def utf8_size(text: str) -> int:
    """Bytes of the text in UTF-8. Constant time for ASCII text."""
    return len(text) if text.isascii() else len(text.encode())


def refuse(faults: Sequence[Fault]) -> None:
    """Raise InvalidValue for a value that has any."""
    if faults:
        raise InvalidValue(faults)


def required_id_faults(field: str, text: str) -> Faults:
    """Of an id that must be given (S6)."""
    if not text:
        return (Fault(field, "is required", Reason.MISSING_FIELD),)
    return _size_faults(field, text, TEXT_LIMITS.max_id_bytes)


def id_faults(field: str, text: str) -> Faults:
    """Of an id that may be empty where the rules say what that means."""
    return _size_faults(field, text, TEXT_LIMITS.max_id_bytes)


def name_faults(field: str, text: str | None) -> Faults:
    """Of a tool's name, of what matches one, or of a namespace that may be absent."""
    if text is None:
        return NO_FAULTS
    return _size_faults(field, text, TEXT_LIMITS.max_tool_name_bytes)


def count_faults(field: str, number: int | None) -> Faults:
    """Of a count, budget or size that may be absent."""
    return range_faults(field, number, 0, MAX_UINT64)


def range_faults(field: str, number: int | None, least: int, most: int) -> Faults:
    """Of a whole number that may be absent."""
    if number is None or least <= number <= most:
        return NO_FAULTS
    return (Fault(field, f"must be from {least} to {most}"),)


def _size_faults(field: str, text: str, limit_bytes: int) -> Faults:
    if utf8_size(text) <= limit_bytes:
        return NO_FAULTS
    return (Fault(field, f"must be at most {limit_bytes} bytes of UTF-8"),)


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


class ToolName(Struct, frozen=True):
    """A tool's name; an absent and an empty namespace differ (A2)."""

    name: str
    namespace: str | None = None

    def __post_init__(self) -> None:
        fits = TEXT_LIMITS.max_tool_name_bytes >> 2  # so many characters, whatever they are
        if len(self.name) > fits or (self.namespace is not None and len(self.namespace) > fits):
            refuse(name_faults("name", self.name) + name_faults("namespace", self.namespace))

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


class FunctionPayload(Struct, frozen=True):
    """Arguments as the model wrote them: raw, unparsed, maybe not JSON."""

    kind: ClassVar[PayloadKind] = PayloadKind.FUNCTION

    arguments: str


class CustomPayload(Struct, frozen=True):
    """Free-form input."""

    kind: ClassVar[PayloadKind] = PayloadKind.CUSTOM

    input: str


class ToolSearchPayload(Struct, frozen=True):
    """A search among tools; `limit` counts results."""

    kind: ClassVar[PayloadKind] = PayloadKind.TOOL_SEARCH

    query: str
    limit: int | None = None

    def __post_init__(self) -> None:
        refuse(count_faults("limit", self.limit))


ToolPayload: TypeAlias = FunctionPayload | CustomPayload | ToolSearchPayload


class Direct(Struct, frozen=True):
    """The model called the tool itself."""


class DirectPlaintextMessage(Struct, frozen=True):
    """The call was found in a plain text message of the model."""


class CodeMode(Struct, frozen=True):
    """A script called the tool from inside a cell."""

    cell_id: str
    runtime_tool_call_id: str = ""

    def __post_init__(self) -> None:
        refuse(
            required_id_faults("cell_id", self.cell_id)
            + id_faults("runtime_tool_call_id", self.runtime_tool_call_id)
        )


ToolCallSource: TypeAlias = Direct | DirectPlaintextMessage | CodeMode


class ToolCall(Struct, frozen=True):
    """One call. `call_id` must be given (S6); `turn_id` may be empty: no known turn (S2)."""

    call_id: str
    tool_name: ToolName
    payload: ToolPayload
    source: ToolCallSource = Direct()
    turn_id: str = ""

    def __post_init__(self) -> None:
        fits = TEXT_LIMITS.max_id_bytes >> 2  # so many characters, whatever they are
        if not 0 < len(self.call_id) <= fits or len(self.turn_id) > fits:
            refuse(required_id_faults("call_id", self.call_id) + id_faults("turn_id", self.turn_id))

    @property
    def nested(self) -> bool:
        """Whether a script made the call, so that its result goes to the script."""
        return isinstance(self.source, CodeMode)
