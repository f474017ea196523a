"""Truncation and projection agree with the reference runtime, line by line."""

from __future__ import annotations

import pytest
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.truncation import truncate, truncate_formatted

from tests.domain import vectors

_TRUNCATE = vectors.read("truncate")
_PROJECT = vectors.read("project")


@pytest.mark.parametrize("line", _TRUNCATE, ids=lambda line: line["name"])
def test_a_text_is_cut_as_the_reference_cuts_it(line: vectors.Json) -> None:
    request = line["request"]
    cut = truncate_formatted if request["formatted"] else truncate
    assert cut(request["text"], vectors.policy(request["policy"])) == line["expect"]["text"]


@pytest.mark.parametrize("line", _PROJECT, ids=lambda line: line["name"])
def test_every_view_is_the_reference_s(line: vectors.Json) -> None:
    request = line["request"]
    projection = Projection(
        vectors.tool_call(request),
        vectors.tool_output(request["output"]),
        request.get("feedback"),
    )
    hook = projection.hook_payload()
    assert {
        "log_preview": projection.log_preview,
        "success_for_logging": projection.success_for_logging,
        "contains_external_context": projection.contains_external_context,
        "response_item_json": projection.response_item_json,
        "response_success": projection.response_success,
        "post_tool_use": hook
        and {
            "tool_name": hook.tool_name,
            "tool_use_id": hook.tool_use_id,
            "tool_input_json": hook.tool_input_json,
            "tool_response_json": hook.tool_response_json,
        },
        "code_mode_result_json": projection.code_mode_json,
    } == line["expect"]


def test_no_vector_is_left_out() -> None:
    assert (len(_TRUNCATE), len(_PROJECT)) == (197, 256)
