"""SPEC I3, I5: the effective mode, and what a script may pass."""

from __future__ import annotations

import pytest
from sidecall_server.domain.json_text import JsonError
from sidecall_server.domain.tool_mode import NestedInputError, effective_tool_mode, nested_payload
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    PayloadKind,
    ToolMode,
    ToolName,
)

DIRECT, CODE, ONLY = ToolMode.DIRECT, ToolMode.CODE_MODE, ToolMode.CODE_MODE_ONLY
NAME = ToolName("t", "ns::")


@pytest.mark.parametrize(
    ("model_mode", "code_mode", "code_mode_only", "mode"),
    [
        (None, False, False, DIRECT),
        (None, True, False, CODE),
        (None, True, True, ONLY),
        (None, False, True, ONLY),
        (DIRECT, True, True, DIRECT),
        (CODE, False, True, CODE),
        (ONLY, False, False, ONLY),
    ],
)
def test_the_model_s_own_mode_comes_before_the_features(
    model_mode: ToolMode | None, code_mode: bool, code_mode_only: bool, mode: ToolMode
) -> None:
    assert (
        effective_tool_mode(
            model_mode=model_mode,
            feature_code_mode=code_mode,
            feature_code_mode_only=code_mode_only,
            provider_available=True,
            fallback_disabled=False,
        )
        is mode
    )


@pytest.mark.parametrize(
    ("requested", "available", "fallback_disabled", "mode"),
    [
        (CODE, False, False, DIRECT),
        (CODE, False, True, CODE),
        (CODE, True, True, CODE),
        (ONLY, False, False, ONLY),
        (DIRECT, False, False, DIRECT),
    ],
)
def test_only_code_mode_falls_back_to_direct(
    requested: ToolMode, available: bool, fallback_disabled: bool, mode: ToolMode
) -> None:
    assert (
        effective_tool_mode(
            model_mode=requested,
            feature_code_mode=False,
            feature_code_mode_only=False,
            provider_available=available,
            fallback_disabled=fallback_disabled,
        )
        is mode
    )


@pytest.mark.parametrize(
    ("input_json", "arguments"), [(None, "{}"), ('{ "a" : 1.0 }', '{"a":1.0}'), ("{}", "{}")]
)
def test_a_script_passes_an_object_or_nothing(input_json: str | None, arguments: str) -> None:
    assert nested_payload(NAME, PayloadKind.FUNCTION, input_json) == FunctionPayload(arguments)


@pytest.mark.parametrize("input_json", ["null", "5", '"s"', "[]", "true"])
def test_a_function_takes_nothing_but_an_object(input_json: str) -> None:
    with pytest.raises(NestedInputError) as refused:
        nested_payload(NAME, PayloadKind.FUNCTION, input_json)
    assert str(refused.value) == "tool `ns::t` expects a JSON object for arguments"


def test_a_free_form_tool_takes_a_string() -> None:
    assert nested_payload(NAME, PayloadKind.CUSTOM, '"a\\n"') == CustomPayload("a\n")


@pytest.mark.parametrize("input_json", [None, "5", "{}", "null"])
def test_a_free_form_tool_takes_nothing_but_a_string(input_json: str | None) -> None:
    with pytest.raises(NestedInputError) as refused:
        nested_payload(NAME, PayloadKind.CUSTOM, input_json)
    assert str(refused.value) == "tool `ns::t` expects a string input"


@pytest.mark.parametrize("namespace", [None, "", "functions"])
@pytest.mark.parametrize("kind", [PayloadKind.CUSTOM, PayloadKind.FUNCTION])
def test_a_cell_does_not_start_a_cell(namespace: str | None, kind: PayloadKind) -> None:
    with pytest.raises(NestedInputError, match=r"^exec cannot invoke itself$"):
        nested_payload(ToolName("exec", namespace), kind, '"code"')


def test_another_namespace_s_exec_is_an_ordinary_tool() -> None:
    assert nested_payload(ToolName("exec", "ns"), PayloadKind.CUSTOM, '"c"') == CustomPayload("c")


def test_an_argument_that_is_not_json_is_refused() -> None:
    with pytest.raises(JsonError):
        nested_payload(NAME, PayloadKind.FUNCTION, "{")
