"""The boundary of the tool outputs: what is refused, and with which field's name."""

from __future__ import annotations

from typing import Any

import pytest
from sidecall_server.domain.errors import InvalidValue
from sidecall_server.domain.outputs import (
    ExecCommandOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    McpRawOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.truncation import BytesPolicy

POLICY = BytesPolicy(10)
RESULT = '{"content":[]}'


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        (JsonOutput, {"value_json": ""}, "value_json"),
        (JsonOutput, {"value_json": "NaN"}, "value_json"),
        (
            FunctionOutput,
            {"post_tool_use_response_json": "{"},
            "post_tool_use_response_json",
        ),
        (ToolSearchOutput, {"tools_json": ("{}", "nope")}, "tools_json[1]"),
        (McpRawOutput, {"result_json": "[]"}, "result_json"),
        (
            McpOutput,
            {"result_json": "{}", "truncation_policy": POLICY},
            "result_json",
        ),
        (
            McpOutput,
            {"result_json": RESULT, "truncation_policy": POLICY, "tool_input_json": " "},
            "tool_input_json",
        ),
        (
            McpOutput,
            {"result_json": RESULT, "truncation_policy": POLICY, "wall_time_nanoseconds": -1},
            "wall_time_nanoseconds",
        ),
        *(
            (
                ExecCommandOutput,
                {"output": b"", "truncation_policy": POLICY, field: value},
                field,
            )
            for field, value in [
                ("wall_time_nanoseconds", -1),
                ("wall_time_nanoseconds", 1 << 64),
                ("max_output_tokens", -1),
                ("max_output_tokens", 1 << 64),
                ("original_token_count", 1 << 64),
                ("output_omitted_bytes", -1),
                ("exit_code", 1 << 31),
                ("exit_code", -(1 << 31) - 1),
                ("process_id", 1 << 63),
                ("chunk_id", "x" * 513),
            ]
        ),
    ],
)
def test_an_unusable_field_is_refused_by_name(
    kind: type[Any], fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        kind(**fields)
    assert [fault.field for fault in refused.value.faults] == [field]


def test_json_text_is_kept_compact_with_its_numbers_as_they_were() -> None:
    assert JsonOutput('{ "a" : 1.10, "a" : 1e400 }').value_json == '{"a":1e400}'
    assert ToolSearchOutput(("[ ]",)).tools_json == ("[]",)


def test_a_missing_mcp_input_is_an_empty_object() -> None:
    fields: dict[str, Any] = {"result_json": RESULT, "truncation_policy": POLICY}
    assert McpOutput(**fields).tool_input_json == "{}"
    assert McpOutput(**fields, tool_input_json="").tool_input_json == "{}"
