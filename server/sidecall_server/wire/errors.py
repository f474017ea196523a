"""errors.proto: what is refused, as google.rpc.Status and as reasons of frames.

The status of an rpc travels in its trailing metadata, where peers allow only a few KiB in
all; beyond that every error turns into another one. Hence the cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.any_pb2 import Any as PackedMessage
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import (
    BadRequest,
    ErrorInfo,
    QuotaFailure,
    ResourceInfo,
    RetryInfo,
)
from google.rpc.status_pb2 import Status
from sidecall.v1 import errors_pb2 as pb

from sidecall_server.domain.errors import (
    AlreadyExists,
    DomainError,
    FieldViolation,
    InvalidArgument,
    NotFound,
    Reason,
    ResourceExhausted,
    Unavailable,
)
from sidecall_server.wire.durations import write_duration

ERROR_DOMAIN: Final = "sidecall"
MAX_MESSAGE_BYTES: Final = 1024
"""A status message; as metadata it may take three times that."""
MAX_DETAIL_BYTES: Final = 4096
"""A whole status: message and details."""
MAX_TEXT_BYTES: Final = 256
"""One text among the details."""
_NOTICE_BYTES: Final = 128
"""Room for the violation that says how many others were left out."""
_VIOLATION_TAGS_BYTES: Final = 12
"""Tags and lengths around the two texts of a violation, at most."""


def write_reason(reason: Reason) -> pb.ErrorReason.ValueType:
    """The reason as the contract's enum."""
    return pb.ErrorReason.Value(f"ERROR_REASON_{reason}")


def fitting_violations(
    violations: Sequence[FieldViolation], room_bytes: int
) -> list[FieldViolation]:
    """As many violations as fit, each cut to a readable size, and how many more there are."""
    room = room_bytes - _NOTICE_BYTES
    shown: list[FieldViolation] = []
    for violation in violations:
        cut = FieldViolation(
            cut_text(violation.field, MAX_TEXT_BYTES),
            cut_text(violation.description, MAX_TEXT_BYTES),
        )
        room -= len(cut.field.encode()) + len(cut.description.encode()) + _VIOLATION_TAGS_BYTES
        if room < 0:
            more = len(violations) - len(shown)
            return [*shown, FieldViolation("", f"and {more} more violations")]
        shown.append(cut)
    return shown


def write_status(error: DomainError, code: int) -> Status:
    """The rich status of an error; at most `MAX_DETAIL_BYTES` as protobuf."""
    status = Status(code=code, message=write_message(error.reason, str(error)))
    _add(status, ErrorInfo(reason=error.reason, domain=ERROR_DOMAIN))
    match error:
        case InvalidArgument():
            room = MAX_DETAIL_BYTES - status.ByteSize()
            if shown := fitting_violations(error.violations, room):
                _add(status, BadRequest(field_violations=map(_write_violation, shown)))
        case NotFound() | AlreadyExists():
            resource = ResourceInfo(
                resource_type=error.resource_type,
                resource_name=cut_text(error.resource_name, MAX_TEXT_BYTES),
            )
            _add(status, resource)
        case ResourceExhausted():
            violation = QuotaFailure.Violation(
                subject=error.subject, description=cut_text(str(error), MAX_TEXT_BYTES)
            )
            _add(status, QuotaFailure(violations=[violation]))
            if error.retry_after_seconds is not None:
                _add(status, RetryInfo(retry_delay=write_duration(error.retry_after_seconds)))
        case Unavailable():
            _add(status, RetryInfo(retry_delay=write_duration(error.retry_after_seconds)))
    return status


def write_message(reason: Reason, text: str) -> str:
    """A message that reads well without its details: ``REASON: what to do``."""
    return cut_text(f"{reason}: {text}", MAX_MESSAGE_BYTES)


def cut_text(text: str, limit_bytes: int) -> str:
    """The text, its end cut off at a character's edge where it is too long."""
    data = text.encode()
    if len(data) <= limit_bytes:
        return text
    ellipsis_bytes = len("…".encode())
    return data[: limit_bytes - ellipsis_bytes].decode(errors="ignore") + "…"


def _write_violation(violation: FieldViolation) -> BadRequest.FieldViolation:
    return BadRequest.FieldViolation(field=violation.field, description=violation.description)


def _add(status: Status, detail: Message) -> None:
    packed = PackedMessage()
    packed.Pack(detail)
    status.details.append(packed)
