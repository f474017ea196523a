"""What is read by hand is what protobuf reads; what is not usual, or wrong, protobuf is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.limits import MAX_LIST_ITEMS
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.wire.client_frames import ClientFrames
from sidecall_server.wire.usual_frames import read_usual

FRAMES = ClientFrames(SessionOptions())

_texts = st.text(max_size=12)
_data = st.binary(max_size=12)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def _messages(kind: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **fields)


_payloads = (
    _messages(call_pb.ToolPayload, function=_messages(call_pb.FunctionPayload, arguments=_data))
    | _messages(call_pb.ToolPayload, custom=_messages(call_pb.CustomPayload, input=_data))
    | _messages(call_pb.ToolPayload, tool_search=_messages(call_pb.ToolSearchPayload, query=_texts))
    | st.just(call_pb.ToolPayload())
)
_sources = (
    st.just(call_pb.ToolCallSource(direct=call_pb.DirectSource()))
    | st.just(call_pb.ToolCallSource())
    | _messages(
        call_pb.ToolCallSource,
        code_mode=_messages(call_pb.CodeModeSource, cell_id=_texts, runtime_tool_call_id=_texts),
    )
)
_calls = _messages(
    call_pb.ToolCall,
    call_id=_texts,
    turn_id=_texts,
    tool_name=_maybe(_messages(call_pb.ToolName, name=_texts, namespace=_maybe(_texts))),
    payload=_maybe(_payloads),
    source=_maybe(_sources),
)
_dispatches = _messages(
    pb.DispatchCall,
    call=_maybe(_calls),
    turn_options=_maybe(st.just(session_pb.TurnOptions(recorder_enabled=False))),
    views=_maybe(st.just(output_pb.ViewSelection(views=[output_pb.VIEW_LOG]))),
    traceparent=_texts,
)
_items = _messages(
    output_pb.ContentItem, input_text=_messages(output_pb.InputText, text=_data)
) | _messages(output_pb.ContentItem, input_image=_messages(output_pb.InputImage, image_url=_data))
_outputs = _messages(
    output_pb.ToolOutput,
    function=_messages(
        output_pb.FunctionOutput,
        content=st.lists(_items, max_size=3),
        success=_maybe(st.booleans()),
        post_tool_use_response_json=_maybe(st.just(b"1")),
    ),
    contains_external_context=st.booleans(),
) | _messages(output_pb.ToolOutput, json=st.just(output_pb.JsonOutput(value_json=b"1")))
_results = _messages(pb.HandlerResult, invocation_token=_data, output=_outputs) | _messages(
    pb.HandlerResult, invocation_token=_data, fatal=_messages(pb.Fatal, message=_data)
)
_frames = (
    _messages(pb.ClientFrame, dispatch_call=_dispatches)
    | _messages(pb.ClientFrame, handler_result=_results)
    | st.just(pb.ClientFrame(heartbeat=pb.Heartbeat()))
)


def _agrees(data: bytes) -> None:
    usual = read_usual(data)
    try:
        read = FRAMES.read_any(data)
    except InvalidArgument:
        assert usual is None
        return
    assert usual is None or usual == read


@given(_frames)
def test_a_frame_is_read_by_hand_as_protobuf_reads_it(frame: pb.ClientFrame) -> None:
    _agrees(frame.SerializeToString())


@given(_frames, _frames, st.data())
def test_so_are_frames_that_were_cut_joined_or_changed(
    one: pb.ClientFrame, other: pb.ClientFrame, data: st.DataObject
) -> None:
    whole = bytearray(one.SerializeToString() + other.SerializeToString())
    for _ in range(data.draw(st.integers(0, 3))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    begin = data.draw(st.integers(0, len(whole)))
    _agrees(bytes(whole[begin:]))
    _agrees(bytes(whole[: len(whole) - begin]))


@pytest.mark.parametrize("items", [MAX_LIST_ITEMS, MAX_LIST_ITEMS + 1])
def test_so_are_frames_with_as_many_items_as_there_may_be_and_one_more(items: int) -> None:
    output = output_pb.ToolOutput(function=output_pb.FunctionOutput(content=[_TEXT] * items))
    result = pb.HandlerResult(invocation_token=b"t", output=output)
    data = pb.ClientFrame(handler_result=result).SerializeToString()
    _agrees(data)
    assert (read_usual(data) is None) == (items > MAX_LIST_ITEMS)


_CALL = call_pb.ToolCall(
    call_id="c",
    turn_id="t",
    tool_name=call_pb.ToolName(name="n"),
    payload=call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
)
_TEXT = output_pb.ContentItem(input_text=output_pb.InputText(text=b"hello"))


@pytest.mark.parametrize(
    "frame",
    [
        pb.ClientFrame(dispatch_call=pb.DispatchCall(call=_CALL)),
        pb.ClientFrame(dispatch_call=pb.DispatchCall(call=_CALL, traceparent="00-1-2-01")),
        pb.ClientFrame(
            handler_result=pb.HandlerResult(
                invocation_token=b"token",
                output=output_pb.ToolOutput(
                    function=output_pb.FunctionOutput(content=[_TEXT], success=True),
                    contains_external_context=True,
                ),
            )
        ),
    ],
)
def test_the_frames_of_most_calls_are_usual(frame: pb.ClientFrame) -> None:
    data = frame.SerializeToString()
    assert read_usual(data) == FRAMES.read_any(data)
