"""What can go wrong, as one small tree. Every error carries the server's reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """A field that cannot be used: its path in the request and what was expected."""

    field: str
    description: str


class SidecallError(Exception):
    """The sidecar refused something, or cannot be reached.

    Attributes:
        reason: a name of `sidecall.v1.ErrorReason` without its prefix, such as
            ``SESSION_NOT_FOUND``; empty where the sidecar said none.
        message: what is wrong and what to do.
        field_violations: the fields that cannot be used.
        retry_after_seconds: when to try again, where the sidecar said so.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field_violations: tuple[FieldViolation, ...] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.field_violations = field_violations
        self.retry_after_seconds = retry_after_seconds


class InvalidArgumentError(SidecallError):
    """The request is malformed; `field_violations` says where."""


class NotFoundError(SidecallError):
    """There is no such session or call."""


class AlreadyExistsError(SidecallError):
    """The id is taken."""


class FailedPreconditionError(SidecallError):
    """Not in this state: a closed session, an ended turn, a missing token."""


class LimitError(SidecallError):
    """A limit is reached; try again after `retry_after_seconds`."""


class UnavailableError(SidecallError):
    """The sidecar cannot be reached, or shuts down."""


class AuthenticationError(SidecallError):
    """The sidecar does not know, or does not accept, who is calling."""


class InternalError(SidecallError):
    """A defect of the sidecar; its log has the reference in the message."""


class SessionLostError(SidecallError):
    """The session is gone with its server; start over with a new one."""


_CLASSES: dict[grpc.StatusCode, type[SidecallError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExistsError,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPreconditionError,
    grpc.StatusCode.ABORTED: FailedPreconditionError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: LimitError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: UnavailableError,
    grpc.StatusCode.UNAUTHENTICATED: AuthenticationError,
    grpc.StatusCode.PERMISSION_DENIED: AuthenticationError,
}


def error_of(call: grpc.RpcError) -> SidecallError:
    """The error that a failed rpc stands for."""
    code: grpc.StatusCode = call.code()
    message: str = call.details() or code.name
    reason = ""
    violations: tuple[FieldViolation, ...] = ()
    retry_after: float | None = None
    try:
        status = rpc_status.from_call(call)  # type: ignore[arg-type]  # an RpcError is a Call
    except ValueError:  # details that contradict the status are not ours
        status = None
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        bad_request = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad_request):
            violations = tuple(
                FieldViolation(violation.field, violation.description)
                for violation in bad_request.field_violations
            )
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return _CLASSES.get(code, InternalError)(
        message, reason=reason, field_violations=violations, retry_after_seconds=retry_after
    )


def error_for_reason(
    reason: str, message: str, violations: tuple[FieldViolation, ...]
) -> SidecallError:
    """The error that a FrameError stands for."""
    kinds = {
        "CALL_ID_CONFLICT": AlreadyExistsError,
        "TURN_ENDED": FailedPreconditionError,
        "SESSION_CLOSED": FailedPreconditionError,
        "CALL_LIMIT": LimitError,
        "BUFFER_LIMIT": LimitError,
        "MESSAGE_TOO_LARGE": LimitError,
        "TOOL_LIMIT": LimitError,
        "DRAINING": UnavailableError,
        "INTERNAL": InternalError,
        "UNKNOWN_INVOCATION": NotFoundError,
    }
    kind = kinds.get(reason, InvalidArgumentError)
    return kind(message, reason=reason, field_violations=violations)


@contextmanager
def raising() -> Iterator[None]:
    """Turn a failed rpc into a `SidecallError`."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error) from None
