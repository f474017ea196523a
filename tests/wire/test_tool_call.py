"""Calls keep all they say on the way in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import tool_call_pb2 as pb
from sidecall_server.domain.errors import InvalidArgument
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
from sidecall_server.wire.tool_call import put_tool_call, read_tool_call
from sidecall_server.wire.wire_form import Parts

_texts = st.text(st.characters(codec="utf-8"), max_size=30)
_ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
_payloads = st.one_of(
    st.builds(FunctionPayload, _texts),
    st.builds(CustomPayload, _texts),
    st.builds(ToolSearchPayload, _texts, st.none() | st.integers(0, (1 << 64) - 1)),
)
_sources = st.one_of(
    st.builds(Direct), st.builds(DirectPlaintextMessage), st.builds(CodeMode, _ids, _texts)
)
_calls = st.builds(
    ToolCall, _ids, st.builds(ToolName, _texts, st.none() | _texts), _payloads, _sources, _texts
)


def written(call: ToolCall) -> bytes:
    parts: Parts = []
    put_tool_call(parts, call)
    return b"".join(parts)


def write_tool_call(call: ToolCall) -> pb.ToolCall:
    return pb.ToolCall.FromString(written(call))


@given(_calls)
def test_a_call_is_written_as_protobuf_writes_it(call: ToolCall) -> None:
    assert written(call) == write_tool_call(call).SerializeToString()


@given(_calls)
def test_a_call_that_goes_out_comes_back_the_same(call: ToolCall) -> None:
    assert read_tool_call(write_tool_call(call), "call") == call


def test_a_call_that_names_no_source_is_direct() -> None:
    message = pb.ToolCall(
        call_id="c",
        tool_name=pb.ToolName(name="t"),
        payload=pb.ToolPayload(custom=pb.CustomPayload()),
    )
    assert read_tool_call(message, "call").source == Direct()
    message.source.SetInParent()
    assert read_tool_call(message, "call").source == Direct()


@pytest.mark.parametrize("namespace", [None, "", "ns"])
def test_an_absent_namespace_is_not_an_empty_one(namespace: str | None) -> None:
    call = ToolCall("c", ToolName("t", namespace), CustomPayload(""))
    message = write_tool_call(call)
    assert message.tool_name.HasField("namespace") is (namespace is not None)
    assert read_tool_call(message, "call").tool_name.namespace == namespace


def test_a_model_may_call_a_tool_without_a_name() -> None:
    call = ToolCall("c", ToolName(""), CustomPayload(""))
    assert read_tool_call(write_tool_call(call), "call") == call


_BAD_PARTS = {
    "call_id": pb.ToolCall(call_id="x" * 513),
    "turn_id": pb.ToolCall(turn_id="x" * 513),
    "tool_name.name": pb.ToolCall(tool_name=pb.ToolName(name="x" * 8193)),
    "tool_name.namespace": pb.ToolCall(tool_name=pb.ToolName(namespace="x" * 8193)),
    "payload.function.arguments": pb.ToolCall(
        payload=pb.ToolPayload(function=pb.FunctionPayload(arguments=b"\xff"))
    ),
    "source.code_mode.cell_id": pb.ToolCall(
        source=pb.ToolCallSource(code_mode=pb.CodeModeSource(cell_id="x" * 513))
    ),
}


@given(st.sets(st.sampled_from(list(_BAD_PARTS))))
def test_exactly_the_parts_that_are_bad_are_named(bad: set[str]) -> None:
    message = write_tool_call(
        ToolCall("c", ToolName("t", "n"), FunctionPayload("{}"), CodeMode("cell"), "turn")
    )
    for part in bad:
        message.MergeFrom(_BAD_PARTS[part])
    named: list[str] = []
    try:
        read_tool_call(message, "call")
    except InvalidArgument as error:
        named = [violation.field for violation in error.violations]
    assert named == [f"call.{part}" for part in _BAD_PARTS if part in bad]


def test_every_field_that_is_bad_is_named() -> None:
    message = pb.ToolCall(
        call_id="x" * 513,
        turn_id="x" * 513,
        tool_name=pb.ToolName(name="x" * 8193),
        payload=pb.ToolPayload(function=pb.FunctionPayload(arguments=b"\xff")),
        source=pb.ToolCallSource(code_mode=pb.CodeModeSource(runtime_tool_call_id="x" * 513)),
    )
    with pytest.raises(InvalidArgument) as caught:
        read_tool_call(message, "frames[2].call")
    assert [violation.field for violation in caught.value.violations] == [
        "frames[2].call.call_id",
        "frames[2].call.turn_id",
        "frames[2].call.tool_name.name",
        "frames[2].call.payload.function.arguments",
        "frames[2].call.source.code_mode.cell_id",
        "frames[2].call.source.code_mode.runtime_tool_call_id",
    ]
