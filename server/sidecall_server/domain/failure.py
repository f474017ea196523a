"""The texts and items of calls that did not end well (SPEC F2, F3, G4, G5, G7-G9, R3)."""

from __future__ import annotations

from enum import StrEnum

from sidecall_server.domain.durations import abort_seconds
from sidecall_server.domain.response_item import ResponseItem, respond_or_close_search
from sidecall_server.domain.values import PayloadKind, ToolCall, ToolName

SHELL_TOOLS = ("shell_command", "unified_exec", "exec_command")
"""Tools whose abort text starts with the wall time, in the default namespace (G5)."""


class AbortReason(StrEnum):
    """Why a call was aborted (R3)."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    SESSION_LOST = "session_lost"
    DRAINED = "drained"
    TURN_FATAL = "turn_fatal"


def unknown_tool_text(tool_name: ToolName, kind: PayloadKind) -> str:
    """The model error of a call that no tool answers to (F2)."""
    what = "custom tool call" if kind is PayloadKind.CUSTOM else "call"
    return f"unsupported {what}: {tool_name.flat}"


def payload_mismatch_text(tool_name: ToolName) -> str:
    """The fatal error of a payload that the tool does not take (F3)."""
    return f"tool {tool_name.flat} invoked with incompatible payload"


def unhandled_error_text(message: str) -> str:
    """The fatal error of a handler that ended without an answer of its own (G7)."""
    return f"tool task failed to receive: {message}"


def script_error_text(message: str, *, fatal: bool = False) -> str:
    """The text of the exception that a script gets: any error, fatal ones say so (G8, G9)."""
    return f"Fatal error: {message}" if fatal else message


def abort_text(reason: AbortReason, tool_name: ToolName, elapsed_seconds: float) -> str:
    """What the caller of an aborted call reads; time counts from submission (G4, G5, R3)."""
    seconds = abort_seconds(elapsed_seconds)
    match reason:
        case AbortReason.CANCELLED:
            if tool_name.in_default_namespace and tool_name.name in SHELL_TOOLS:
                return f"Wall time: {seconds} seconds\naborted by user"
            return f"aborted by user after {seconds}s"
        case AbortReason.TIMED_OUT:
            return f"timed out after {seconds}s"
        case AbortReason.SESSION_LOST:
            return f"aborted after {seconds}s: the agent's connection was lost"
        case AbortReason.DRAINED:
            return f"aborted after {seconds}s: the sidecar is shutting down"
        case AbortReason.TURN_FATAL:
            return f"aborted after {seconds}s: the turn ended with a fatal error"


def failure_response(call: ToolCall, message: str) -> ResponseItem:
    """What answers a direct call that failed; a tool search loses the message (G8)."""
    return respond_or_close_search(call.payload.kind, call.call_id, message, False)
