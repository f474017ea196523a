"""SPEC F2, F3, G4, G5, G7-G9, R3: the texts of calls that did not end well."""

from __future__ import annotations

import pytest
from sidecall_server.domain.failure import (
    AbortReason,
    abort_text,
    failure_response,
    payload_mismatch_text,
    script_error_text,
    unhandled_error_text,
    unknown_tool_text,
)
from sidecall_server.domain.response_item import (
    CustomToolCallOutput,
    FunctionCallOutput,
    ResponseItem,
    ToolSearchCallOutput,
)
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)

NAME = ToolName("unsupported_tool", "test_namespace::")
SHELL_TEXT = "Wall time: 1.0 seconds\naborted by user"
OTHER_TEXT = "aborted by user after 1.0s"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PayloadKind.FUNCTION, "unsupported call: test_namespace::unsupported_tool"),
        (PayloadKind.TOOL_SEARCH, "unsupported call: test_namespace::unsupported_tool"),
        (PayloadKind.CUSTOM, "unsupported custom tool call: test_namespace::unsupported_tool"),
    ],
)
def test_an_unknown_tool_is_named_flat(kind: PayloadKind, text: str) -> None:
    assert unknown_tool_text(NAME, kind) == text


def test_a_payload_of_the_wrong_kind_names_the_tool_flat() -> None:
    assert payload_mismatch_text(NAME) == (
        "tool test_namespace::unsupported_tool invoked with incompatible payload"
    )


def test_a_handler_without_an_answer_says_what_happened() -> None:
    assert unhandled_error_text("panicked") == "tool task failed to receive: panicked"


def test_a_script_reads_every_error_and_which_ones_are_fatal() -> None:
    assert script_error_text("m") == "m"
    assert script_error_text("m", fatal=True) == "Fatal error: m"


@pytest.mark.parametrize(
    ("name", "namespace", "text"),
    [
        ("shell_command", None, SHELL_TEXT),
        ("unified_exec", "", SHELL_TEXT),
        ("exec_command", "functions", SHELL_TEXT),
        ("exec_command", "mcp__", OTHER_TEXT),
        ("shell", None, OTHER_TEXT),
        ("exec", None, OTHER_TEXT),
    ],
)
def test_a_cancelled_shell_says_its_wall_time(name: str, namespace: str | None, text: str) -> None:
    assert abort_text(AbortReason.CANCELLED, ToolName(name, namespace), 1.0) == text


@pytest.mark.parametrize("name", ["t", "exec_command"])
@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (AbortReason.TIMED_OUT, "timed out after 0.1s"),
        (AbortReason.SESSION_LOST, "aborted after 0.1s: the agent's connection was lost"),
        (AbortReason.DRAINED, "aborted after 0.1s: the sidecar is shutting down"),
        (AbortReason.TURN_FATAL, "aborted after 0.1s: the turn ended with a fatal error"),
    ],
)
def test_every_other_reason_has_one_text_for_all_tools(
    reason: AbortReason, text: str, name: str
) -> None:
    assert abort_text(reason, ToolName(name), 0.0) == text


@pytest.mark.parametrize(
    ("payload", "item"),
    [
        (FunctionPayload(""), FunctionCallOutput("c1", "m", success=False)),
        (CustomPayload(""), CustomToolCallOutput("c1", "m", success=False)),
        (ToolSearchPayload(""), ToolSearchCallOutput("c1")),
    ],
)
def test_a_failure_answers_in_the_call_s_own_kind(payload: ToolPayload, item: ResponseItem) -> None:
    assert failure_response(ToolCall("c1", ToolName("t"), payload), "m") == item
