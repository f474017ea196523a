"""From protobuf fields to domain values: every refusal names the field of the request.

A path names a field as the caller wrote it: ``call.tool_name.name``, ``outputs[3].kind``.
All functions raise InvalidArgument; its reason is that of the first violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from sidecall_server.domain.errors import (
    Fault,
    FieldViolation,
    InvalidArgument,
    InvalidValue,
    Reason,
)
from sidecall_server.domain.limits import (
    MAX_LIST_ITEMS,
    MAX_UINT64,
    NANOSECONDS_PER_SECOND,
)
from sidecall_server.domain.values import id_faults, required_id_faults

T = TypeVar("T")

MAX_PROBLEMS = 64
"""Refused parts of one request that are collected; then it is not read on."""

MAX_NAMED_VALUES = 64
"""Values of an enum in one list: more of them say nothing more."""

SHOWN_VIOLATIONS = 3
"""Violations that the message spells out; the details have them all."""


class Problems:
    """Collects the violations of one request, so that its sender mends them at once.

    Put each part that may be refused into a ``with problems:`` block of its own, then call
    `check` before what the parts gave is used.
    """

    __slots__ = ("_errors",)

    def __init__(self) -> None:
        self._errors: list[InvalidArgument] = []

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, InvalidArgument):
            return False
        self._errors.append(error)
        if len(self._errors) >= MAX_PROBLEMS:
            self.check()
        return True

    def check(self) -> None:
        """Raise one error for all that was refused, if anything was."""
        if self._errors:
            raise invalid(
                [violation for error in self._errors for violation in error.violations],
                self._errors[0].reason,
            )


def invalid(violations: list[FieldViolation], reason: Reason) -> InvalidArgument:
    """One error for several fields."""
    shown = [f"{violation.field}: {violation.description}" for violation in violations]
    message = "; ".join(shown[:SHOWN_VIOLATIONS])
    if len(shown) > SHOWN_VIOLATIONS:
        message += f"; and {len(shown) - SHOWN_VIOLATIONS} more"
    return InvalidArgument(message, reason=reason, violations=violations)


def checked(path: str, build: Callable[..., T], *parts: object, **fields: object) -> T:
    """Build a domain value that validates itself; its fields are named as in the request."""
    try:
        return build(*parts, **fields)
    except InvalidValue as error:
        raise _refusal(error.faults, f"{path}." if path else "") from None


def bounded(items: Sequence[T], path: str, limit: int = MAX_LIST_ITEMS) -> Sequence[T]:
    """A list that is not too long to be read at once."""
    if len(items) > limit:
        raise InvalidArgument.of(path, f"must have at most {limit} items, not {len(items)}")
    return items


def missing(path: str, alternatives: Iterable[str] = ()) -> InvalidArgument:
    """The error for a field that is not set; of a oneof, its alternatives."""
    names = ", ".join(alternatives)
    description = f"is required; set exactly one of {names}" if names else "is required"
    return InvalidArgument.of(path, description, reason=Reason.MISSING_FIELD)


def read_oneof(message: Message, oneof: str, path: str, alternatives: Iterable[str]) -> str:
    """The name of the alternative that is set."""
    chosen: str | None = message.WhichOneof(oneof)
    if chosen is None:
        raise missing(path, alternatives)
    return chosen


def read_enum(values: Mapping[int, T], number: int, path: str) -> T:
    """The domain value of an enum number."""
    try:
        return values[number]
    except KeyError:
        pass
    known = ", ".join(f"{number} ({value})" for number, value in values.items())
    if number == 0:
        raise InvalidArgument.of(path, f"is required; one of {known}", reason=Reason.MISSING_FIELD)
    raise InvalidArgument.of(
        path,
        f"{number} is not a value that this server knows; use one of {known}",
        reason=Reason.UNKNOWN_ENUM_VALUE,
    )


def read_text(data: bytes, path: str) -> str:
    """Bytes that must be UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument.of(
            path,
            f"must be UTF-8; the byte at offset {error.start} is not",
            reason=Reason.INVALID_UTF8,
        ) from None


def read_id(text: str, path: str) -> str:
    """An id that may be empty."""
    if faults := id_faults(path, text):
        raise _refusal(faults)
    return text


def read_required_id(text: str, path: str) -> str:
    """An id that must be given (S6)."""
    if faults := required_id_faults(path, text):
        raise _refusal(faults)
    return text


def read_nanoseconds(message: Message, field: str, path: str) -> int:
    """A Duration that may be absent (zero), but not negative; nanoseconds."""
    if not message.HasField(field):
        return 0
    duration: Duration = getattr(message, field)
    path = f"{path}.{field}" if path else field
    if duration.seconds < 0 or duration.nanos < 0:
        raise InvalidArgument.of(path, "must not be negative")
    if duration.nanos >= NANOSECONDS_PER_SECOND:
        raise InvalidArgument.of(path, "nanos must be below 1,000,000,000")
    nanoseconds = duration.seconds * NANOSECONDS_PER_SECOND + duration.nanos
    if nanoseconds > MAX_UINT64:
        raise InvalidArgument.of(path, "must be at most 584 years")
    return nanoseconds


def _refusal(faults: Sequence[Fault], prefix: str = "") -> InvalidArgument:
    violations = [FieldViolation(prefix + fault.field, fault.description) for fault in faults]
    return invalid(violations, faults[0].reason)
