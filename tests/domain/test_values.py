"""What values demand of their fields: one that is unusable cannot be built, nor changed into."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from sidecall_server.domain.content import EncryptedContent, InputText
from sidecall_server.domain.declarations import HookDeclaration, HookPoint, ToolDeclaration
from sidecall_server.domain.errors import Fault, InvalidValue, Reason
from sidecall_server.domain.fields import names_of, replace
from sidecall_server.domain.outputs import ToolSearchOutput
from sidecall_server.domain.session_options import SessionOptions, View
from sidecall_server.domain.truncation import BytesPolicy, TokensPolicy
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    DirectPlaintextMessage,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolSearchPayload,
)

NAME = ToolName("t")
PAYLOAD = FunctionPayload("{}")
CALL: dict[str, Any] = {"call_id": "c", "tool_name": NAME, "payload": PAYLOAD}
TOOL = {"tool_name": NAME}
HOOK = {"point": HookPoint.PRE_TOOL_USE}
LONG_ID = "é" * 256 + "x"
LONG_NAME = "é" * 4096 + "x"
NOT_GIVEN = ("is required", Reason.MISSING_FIELD)
ID_TOO_LONG = ("must be at most 512 bytes of UTF-8", Reason.INVALID_FIELD)
NAME_TOO_LONG = ("must be at most 8192 bytes of UTF-8", Reason.INVALID_FIELD)
NO_COUNT = ("must be from 0 to 18446744073709551615", Reason.INVALID_FIELD)
NO_TIMEOUT = ("must be above zero, or absent", Reason.INVALID_FIELD)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ToolName, {"name": "", "namespace": ""}),
        (ToolName, {"name": "é" * 4096, "namespace": "x" * 8192}),
        (ToolSearchPayload, {"query": "", "limit": 0}),
        (ToolSearchPayload, {"query": "", "limit": (1 << 64) - 1}),
        (CodeMode, {"cell_id": "é" * 256}),
        (CodeMode, {"cell_id": "c", "runtime_tool_call_id": "x" * 512}),
        (ToolCall, {**CALL, "call_id": "é" * 256, "turn_id": "x" * 512}),
        (SessionOptions, {"display_name": "x" * 512}),
        (ToolDeclaration, {**TOOL, "teardown_timeout_seconds": 0.0, "call_timeout_seconds": 1e-9}),
        (HookDeclaration, {**HOOK, "matchers": ("", "x" * 8192), "timeout_seconds": 1e-9}),
    ],
)
def test_what_just_fits_is_kept_as_it_is(kind: type[Struct], fields: dict[str, Any]) -> None:
    value = kind(**fields)
    assert {name: getattr(value, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("kind", "fields", "faults"),
    [
        (ToolName, {"name": "x" * 8193}, [("name", *NAME_TOO_LONG)]),
        (
            ToolName,
            {"name": LONG_NAME, "namespace": LONG_NAME},
            [("name", *NAME_TOO_LONG), ("namespace", *NAME_TOO_LONG)],
        ),
        (ToolSearchPayload, {"query": "", "limit": -1}, [("limit", *NO_COUNT)]),
        (ToolSearchPayload, {"query": "", "limit": 1 << 64}, [("limit", *NO_COUNT)]),
        (
            CodeMode,
            {"cell_id": "", "runtime_tool_call_id": LONG_ID},
            [("cell_id", *NOT_GIVEN), ("runtime_tool_call_id", *ID_TOO_LONG)],
        ),
        (
            ToolCall,
            {**CALL, "call_id": "", "turn_id": "x" * 513},
            [("call_id", *NOT_GIVEN), ("turn_id", *ID_TOO_LONG)],
        ),
        (ToolCall, {**CALL, "call_id": LONG_ID}, [("call_id", *ID_TOO_LONG)]),
        (SessionOptions, {"display_name": LONG_ID}, [("display_name", *ID_TOO_LONG)]),
        (
            ToolDeclaration,
            {**TOOL, "teardown_timeout_seconds": -1e-9, "call_timeout_seconds": 0.0},
            [
                ("teardown_timeout_seconds", "must not be negative", Reason.INVALID_FIELD),
                ("call_timeout_seconds", *NO_TIMEOUT),
            ],
        ),
        (
            HookDeclaration,
            {**HOOK, "matchers": ("a", LONG_NAME, LONG_NAME), "timeout_seconds": float("nan")},
            [
                ("matchers[1]", *NAME_TOO_LONG),
                ("matchers[2]", *NAME_TOO_LONG),
                ("timeout_seconds", *NO_TIMEOUT),
            ],
        ),
    ],
)
def test_each_field_that_cannot_be_is_named_with_what_was_expected(
    kind: type[Struct], fields: dict[str, Any], faults: list[Fault]
) -> None:
    with pytest.raises(InvalidValue) as refused:
        kind(**fields)
    assert list(refused.value.faults) == faults
    assert all(f"{field} {description}" in str(refused.value) for field, description, _ in faults)


def test_a_changed_value_meets_the_same_demands() -> None:
    with pytest.raises(InvalidValue):
        replace(ToolCall(**CALL), call_id="")
    assert replace(ToolSearchOutput(), tools_json=("[ ]",)).tools_json == ("[]",)


@pytest.mark.interpreted
def test_a_value_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        NAME.name = "other"  # type: ignore[misc]


def test_a_session_names_each_view_once_in_the_order_of_their_first() -> None:
    views = (View.LOG, View.HOOK, View.LOG)
    options = SessionOptions(direct_views=views, nested_views=views)
    assert options.direct_views == options.nested_views == (View.LOG, View.HOOK)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FunctionPayload("x"), CustomPayload("x")),
        (Direct(), DirectPlaintextMessage()),
        (InputText("x"), EncryptedContent("x")),
        (BytesPolicy(1), TokensPolicy(1)),
    ],
)
def test_values_of_two_kinds_are_never_equal(one: Struct, other: Struct) -> None:
    assert one != other
    assert type(one)(*[getattr(one, name) for name in names_of(type(one))]) == one
