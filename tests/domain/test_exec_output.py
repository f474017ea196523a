"""SPEC C: what a command's output shows, where no vector says it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sidecall_server.domain.exec_output import ExecCommandViews
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outputs import ExecCommandOutput, ToolOutput
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.truncation import BytesPolicy, TokensPolicy
from sidecall_server.domain.values import FunctionPayload, ToolCall, ToolName

CALL = ToolCall("call-1", ToolName("exec_command"), FunctionPayload('{"cmd":"ls"}'))


def exec_output(output: bytes = b"out", **fields: Any) -> ExecCommandOutput:
    return ExecCommandOutput(output, fields.pop("policy", TokensPolicy(100)), **fields)


def views(output: bytes = b"out", **fields: Any) -> ExecCommandViews:
    return ExecCommandViews(CALL, exec_output(output, **fields))


def body(output: bytes, **fields: Any) -> str:
    return views(output, **fields).log_text.partition("Output:\n")[2]


def test_every_section_stands_on_its_own_line_in_order() -> None:
    text = views(
        chunk_id="c1", wall_time_nanoseconds=1, exit_code=-9, process_id=0, original_token_count=0
    ).log_text
    assert text.split("\n") == [
        "Chunk ID: c1",
        "Wall time: 0.0000 seconds",
        "Process exited with code -9",
        "Process running with session ID 0",
        "Original token count: 0",
        "Output:",
        "out",
    ]


def test_an_empty_output_still_has_its_section() -> None:
    assert views(b"").log_text == "Wall time: 0.0000 seconds\nOutput:\n"


def test_zero_omitted_bytes_are_no_omitted_bytes() -> None:
    output = b"x" * 30
    assert body(output, output_omitted_bytes=0, policy=TokensPolicy(1)) == body(
        output, policy=TokensPolicy(1)
    )
    assert body(output, output_omitted_bytes=0) == "x" * 30


@pytest.mark.parametrize(
    ("output", "fields", "expected"),
    [
        (b"abc", {}, "... 5 bytes omitted ...\nabc"),
        (b"a\n... 5 bytes omitted ...\nb", {}, "a\n... 5 bytes omitted ...\nb"),
        (
            b"x" * 30,
            {"max_output_tokens": 1},
            "Warning: truncated output (original token count: 8)\n"
            "... 5 bytes omitted ...\n\nxx…7 tokens truncated…xx",
        ),
        (
            b"x" * 30,
            {"max_output_tokens": 1, "original_token_count": 99},
            "Warning: truncated output (original token count: 99)\n"
            "... 5 bytes omitted ...\n\nxx…7 tokens truncated…xx",
        ),
        (
            b"... 5 bytes omitted ...\n" + b"x" * 100,
            {"max_output_tokens": 13},
            "Warning: truncated output (original token count: 31)\n"
            "\n... 5 bytes omitted ...\nxx…18 tokens truncated…" + "x" * 26,
        ),
        (
            b"x" * 40 + b"... 5 bytes omitted ..." + b"x" * 40,
            {"max_output_tokens": 24},
            "Warning: truncated output (original token count: 26)\n"
            "... 5 bytes omitted ...\n\n"
            + "x" * 40
            + "... 5 by…2 tokens truncated…tted ..."
            + "x" * 40,
        ),
    ],
)
def test_the_marker_of_omitted_bytes_stands_once_and_whole(
    output: bytes, fields: dict[str, Any], expected: str
) -> None:
    assert body(output, output_omitted_bytes=5, **fields) == expected


def test_sizes_are_those_of_the_decoded_text() -> None:
    # four bytes that are not UTF-8 are twelve once decoded
    assert body(b"\xff" * 4, max_output_tokens=2).startswith(
        "Warning: truncated output (original token count: 3)\nTotal output lines: 1\n"
    )


def test_zero_tokens_asked_for_is_a_budget_of_zero() -> None:
    assert body(b"abcd", max_output_tokens=0).endswith("…1 tokens truncated…")


def test_the_smaller_of_both_budgets_holds_for_the_model() -> None:
    assert body(b"x" * 12, max_output_tokens=50, policy=BytesPolicy(5)).endswith(
        "xxxx…1 tokens truncated…xxxx"
    )
    assert body(b"x" * 40_001, policy=TokensPolicy(20_000)).endswith("x" * 20_000)


def test_a_script_gets_what_it_asked_for_whatever_the_policy() -> None:
    output = views(b"x" * 12, max_output_tokens=3, policy=BytesPolicy(1)).code_mode_json
    assert json.loads(output)["output"] == "x" * 12


def test_a_script_that_asked_for_nothing_gets_all_without_a_marker() -> None:
    output = views(b"x" * 50_000, output_omitted_bytes=9).code_mode_json
    assert json.loads(output)["output"] == "x" * 50_000


def test_a_script_gets_its_keys_in_order_and_absent_ones_not_at_all() -> None:
    assert views(wall_time_nanoseconds=1_500_000_000).code_mode_json == (
        '{"wall_time_seconds":1.5,"output":"out"}'
    )
    full = views(chunk_id="c", exit_code=0, process_id=7, original_token_count=1).code_mode_json
    assert list(json.loads(full)) == [
        "chunk_id",
        "wall_time_seconds",
        "exit_code",
        "session_id",
        "original_token_count",
        "output",
    ]


@pytest.mark.parametrize(
    ("fields", "heard"),
    [
        ({"hook_command": "ls"}, True),
        ({"hook_command": "ls", "process_id": 1}, False),
        ({}, False),
    ],
)
def test_a_runtime_tells_hooks_only_of_ended_commands_that_have_one(
    fields: dict[str, Any], heard: bool
) -> None:
    projection = Projection(CALL, ToolOutput(exec_output(**fields)))
    for kind in (HookKind.DEFAULT, HookKind.SHELL):
        assert (projection.post_tool_use(kind) is not None) is heard


def test_a_hook_hears_the_body_alone_under_the_event_s_id() -> None:
    output = exec_output(hook_command="ls -la", event_call_id="exec-9", chunk_id="c")
    heard = Projection(CALL, ToolOutput(output)).post_tool_use(HookKind.SHELL)
    assert heard is not None
    assert (heard.tool_name, heard.tool_use_id) == ("Bash", "exec-9")
    assert (heard.tool_input_json, heard.tool_response_json) == ('{"command":"ls -la"}', '"out"')
