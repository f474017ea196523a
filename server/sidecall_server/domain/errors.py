"""Everything the domain and the runtime refuse, as one small closed tree.

Each exception carries a reason from `Reason` (the names of `sidecall.v1.ErrorReason`
without their prefix) and what a caller needs to mend its request. One table in
``rpc/`` turns them into gRPC statuses; one function in ``wire/`` into FrameErrors.
`InvalidValue` is no part of the tree: it names fields of a value, and ``wire/validation.py``
makes an InvalidArgument of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct


class Reason(StrEnum):
    """Why something was refused. One to one with `sidecall.v1.ErrorReason`."""

    # the request itself
    INVALID_FIELD = "INVALID_FIELD"
    INVALID_JSON = "INVALID_JSON"
    INVALID_UTF8 = "INVALID_UTF8"
    MISSING_FIELD = "MISSING_FIELD"
    UNKNOWN_ENUM_VALUE = "UNKNOWN_ENUM_VALUE"
    OUTPUT_MISMATCH = "OUTPUT_MISMATCH"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    # what it names
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    CALL_NOT_FOUND = "CALL_NOT_FOUND"
    SESSION_ALREADY_EXISTS = "SESSION_ALREADY_EXISTS"
    # the state it finds
    SESSION_CLOSED = "SESSION_CLOSED"
    SESSION_ATTACHED = "SESSION_ATTACHED"
    TURN_ENDED = "TURN_ENDED"
    CALL_ID_CONFLICT = "CALL_ID_CONFLICT"
    TAKEN_OVER = "TAKEN_OVER"
    PROMPT_BASE_MISMATCH = "PROMPT_BASE_MISMATCH"
    # the stream protocol
    HELLO_REQUIRED = "HELLO_REQUIRED"
    PROTOCOL_VERSION_UNSUPPORTED = "PROTOCOL_VERSION_UNSUPPORTED"
    RESUME_TOKEN_INVALID = "RESUME_TOKEN_INVALID"
    RESUME_GAP = "RESUME_GAP"
    SEQUENCE_OUT_OF_ORDER = "SEQUENCE_OUT_OF_ORDER"
    ACKNOWLEDGEMENT_OUT_OF_RANGE = "ACKNOWLEDGEMENT_OUT_OF_RANGE"
    UNKNOWN_INVOCATION = "UNKNOWN_INVOCATION"
    HEARTBEAT_TIMEOUT = "HEARTBEAT_TIMEOUT"
    # limits and the server's own state
    SESSION_LIMIT = "SESSION_LIMIT"
    CALL_LIMIT = "CALL_LIMIT"
    BUFFER_LIMIT = "BUFFER_LIMIT"
    TOOL_LIMIT = "TOOL_LIMIT"
    WATCHER_LIMIT = "WATCHER_LIMIT"
    DRAINING = "DRAINING"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INTERNAL = "INTERNAL"


class FieldViolation(Struct, frozen=True):
    """One field that cannot be used: its path in the request and what was expected."""

    field: str
    description: str


class Fault(NamedTuple):
    """Why a field of a value cannot be; its path begins at the value."""

    field: str
    description: str
    reason: Reason = Reason.INVALID_FIELD


class InvalidValue(ValueError):
    """A value that cannot be built. ``wire/`` knows the request that it was to come from."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join([f"{fault.field} {fault.description}" for fault in faults]))
        self.faults = tuple(faults)


class DomainError(Exception):
    """A request that cannot be served. `reason` says why, the message what to do."""

    reason: Reason

    def __init__(self, message: str, *, reason: Reason | None = None) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason


class InvalidArgument(DomainError):
    """The request is malformed; `violations` names each field."""

    reason = Reason.INVALID_FIELD

    def __init__(
        self,
        message: str,
        *,
        reason: Reason | None = None,
        violations: Sequence[FieldViolation] = (),
    ) -> None:
        super().__init__(message, reason=reason)
        self.violations = tuple(violations)

    @classmethod
    def of(cls, field: str, description: str, *, reason: Reason | None = None) -> InvalidArgument:
        """The error for one field."""
        return cls(
            f"{field}: {description}",
            reason=reason,
            violations=[FieldViolation(field, description)],
        )


class NotFound(DomainError):
    """The request names something that does not exist here."""

    reason = Reason.SESSION_NOT_FOUND

    def __init__(
        self, message: str, *, resource_type: str, resource_name: str, reason: Reason | None = None
    ) -> None:
        super().__init__(message, reason=reason)
        self.resource_type = resource_type
        self.resource_name = resource_name


class AlreadyExists(DomainError):
    """The name is taken by something else."""

    reason = Reason.SESSION_ALREADY_EXISTS

    def __init__(
        self, message: str, *, resource_type: str, resource_name: str, reason: Reason | None = None
    ) -> None:
        super().__init__(message, reason=reason)
        self.resource_type = resource_type
        self.resource_name = resource_name


class FailedPrecondition(DomainError):
    """The request is fine but not in this state; trying again alone will not help."""

    reason = Reason.SESSION_CLOSED


class ResourceExhausted(DomainError):
    """A limit is reached; `subject` names it as GetRuntimeInfo does."""

    reason = Reason.CALL_LIMIT

    def __init__(
        self,
        message: str,
        *,
        subject: str,
        reason: Reason | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, reason=reason)
        self.subject = subject
        self.retry_after_seconds = retry_after_seconds


class Unavailable(DomainError):
    """The server cannot take this now; try again after the delay, elsewhere or later."""

    reason = Reason.DRAINING

    def __init__(
        self, message: str, *, reason: Reason | None = None, retry_after_seconds: float = 1.0
    ) -> None:
        super().__init__(message, reason=reason)
        self.retry_after_seconds = retry_after_seconds


class Unauthenticated(DomainError):
    """The caller did not prove who it is."""

    reason = Reason.UNAUTHENTICATED
