"""The one table from reasons to gRPC codes (errors.proto documents it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import grpc
from grpc import StatusCode
from grpc_status import rpc_status

from sidecall_server.domain.errors import DomainError, Reason
from sidecall_server.wire.errors import write_status

CODES: Final[Mapping[Reason, StatusCode]] = {
    Reason.INVALID_FIELD: StatusCode.INVALID_ARGUMENT,
    Reason.INVALID_JSON: StatusCode.INVALID_ARGUMENT,
    Reason.INVALID_UTF8: StatusCode.INVALID_ARGUMENT,
    Reason.MISSING_FIELD: StatusCode.INVALID_ARGUMENT,
    Reason.UNKNOWN_ENUM_VALUE: StatusCode.INVALID_ARGUMENT,
    Reason.OUTPUT_MISMATCH: StatusCode.INVALID_ARGUMENT,
    Reason.MESSAGE_TOO_LARGE: StatusCode.RESOURCE_EXHAUSTED,
    Reason.SESSION_NOT_FOUND: StatusCode.NOT_FOUND,
    Reason.CALL_NOT_FOUND: StatusCode.NOT_FOUND,
    Reason.SESSION_ALREADY_EXISTS: StatusCode.ALREADY_EXISTS,
    Reason.SESSION_CLOSED: StatusCode.FAILED_PRECONDITION,
    Reason.SESSION_ATTACHED: StatusCode.FAILED_PRECONDITION,
    Reason.TURN_ENDED: StatusCode.FAILED_PRECONDITION,
    Reason.CALL_ID_CONFLICT: StatusCode.ALREADY_EXISTS,
    Reason.TAKEN_OVER: StatusCode.ABORTED,
    Reason.PROMPT_BASE_MISMATCH: StatusCode.FAILED_PRECONDITION,
    Reason.HELLO_REQUIRED: StatusCode.FAILED_PRECONDITION,
    Reason.PROTOCOL_VERSION_UNSUPPORTED: StatusCode.FAILED_PRECONDITION,
    Reason.RESUME_TOKEN_INVALID: StatusCode.PERMISSION_DENIED,
    Reason.RESUME_GAP: StatusCode.FAILED_PRECONDITION,
    Reason.SEQUENCE_OUT_OF_ORDER: StatusCode.INVALID_ARGUMENT,
    Reason.ACKNOWLEDGEMENT_OUT_OF_RANGE: StatusCode.INVALID_ARGUMENT,
    Reason.UNKNOWN_INVOCATION: StatusCode.NOT_FOUND,
    Reason.HEARTBEAT_TIMEOUT: StatusCode.DEADLINE_EXCEEDED,
    Reason.SESSION_LIMIT: StatusCode.RESOURCE_EXHAUSTED,
    Reason.CALL_LIMIT: StatusCode.RESOURCE_EXHAUSTED,
    Reason.BUFFER_LIMIT: StatusCode.RESOURCE_EXHAUSTED,
    Reason.TOOL_LIMIT: StatusCode.RESOURCE_EXHAUSTED,
    Reason.WATCHER_LIMIT: StatusCode.RESOURCE_EXHAUSTED,
    Reason.DRAINING: StatusCode.UNAVAILABLE,
    Reason.UNAUTHENTICATED: StatusCode.UNAUTHENTICATED,
    Reason.UNIMPLEMENTED: StatusCode.UNIMPLEMENTED,
    Reason.INTERNAL: StatusCode.INTERNAL,
}


def grpc_status(error: DomainError) -> grpc.Status:
    """The status of an error: code, message, and details in the trailing metadata."""
    code: int = CODES[error.reason].value[0]
    return rpc_status.to_status(write_status(error, code))
