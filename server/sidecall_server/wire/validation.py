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
from pydantic import ValidationError

from sidecall_server.domain.errors import FieldViolation, InvalidArgument, Reason
from sidecall_server.domain.json_text import JsonError
from sidecall_server.domain.limits import (
    MAX_LIST_ITEMS,
    MAX_UINT64,
    NANOSECONDS_PER_SECOND,
    TEXT_LIMITS,
)
from sidecall_server.domain.values import utf8_size

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


def checked(path: str, build: Callable[..., T], **fields: object) -> T:
    """Build a domain value that validates itself; `fields` are named as in the request."""
    try:
        return build(**fields)
    except ValidationError as error:
        found = [
            (
                FieldViolation(_path(path, problem["loc"]), _description(problem)),
                _reason(problem),
            )
            for problem in error.errors(include_url=False)
        ]
        raise invalid([violation for violation, _ in found], found[0][1]) from None


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
    if utf8_size(text) > TEXT_LIMITS.max_id_bytes:
        raise InvalidArgument.of(path, f"must be at most {TEXT_LIMITS.max_id_bytes} bytes of UTF-8")
    return text


def read_required_id(text: str, path: str) -> str:
    """An id that must be given (S6)."""
    if not text:
        raise missing(path)
    return read_id(text, path)


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


def _path(path: str, location: tuple[int | str, ...]) -> str:
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def _description(problem: Mapping[str, object]) -> str:
    match problem:
        case {"type": "string_too_short"}:
            return "is required"
        case {"ctx": {"error": JsonError() as error}}:
            return f"must be JSON: {error}"
        case {"ctx": {"error": ValueError() as error}}:
            return str(error)
        case _:
            message = str(problem["msg"])
            return message[:1].lower() + message[1:]


def _reason(problem: Mapping[str, object]) -> Reason:
    match problem:
        case {"type": "string_too_short"}:
            return Reason.MISSING_FIELD
        case {"ctx": {"error": JsonError()}}:
            return Reason.INVALID_JSON
        case _:
            return Reason.INVALID_FIELD
