"""An agent's frames come in as values; what cannot be used is named by its path."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall_server.domain.declarations import (
    CancelMode,
    HookDeclaration,
    HookPoint,
    ToolDeclaration,
)
from sidecall_server.domain.errors import DomainError, InvalidArgument, Reason
from sidecall_server.domain.frames import (
    Block,
    CallReference,
    CancelCalls,
    CancelTarget,
    Chunk,
    Detach,
    DispatchCall,
    EndTurn,
    FatalError,
    Feedback,
    HandlerResult,
    Heartbeat,
    Hello,
    HookFailed,
    HookVerdict,
    Proceed,
    RegisterCell,
    RespondToModel,
    Rewrite,
    TeardownComplete,
    UnhandledError,
    UpdateTools,
)
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outputs import ApplyPatchOutput, ToolOutput
from sidecall_server.domain.session_options import SessionOptions, TurnOptions, View
from sidecall_server.domain.values import (
    CodeMode,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolName,
)
from sidecall_server.wire.client_frames import ClientFrames

FRAMES = ClientFrames(SessionOptions(recorder_enabled=False))


def read(**frame: Any) -> Any:
    return FRAMES.read(pb.ClientFrame(**frame).SerializeToString())


def name(text: str) -> call_pb.ToolName:
    return call_pb.ToolName(name=text)


def duration(seconds: float) -> Any:
    from google.protobuf.duration_pb2 import Duration

    message = Duration()
    message.FromMilliseconds(round(seconds * 1000))
    return message


CALL = call_pb.ToolCall(
    call_id="c",
    turn_id="t",
    tool_name=name("echo"),
    payload=call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b'{"a":1}')),
    source=call_pb.ToolCallSource(code_mode=call_pb.CodeModeSource(cell_id="cell")),
)


def test_hello_declares_tools_and_hooks() -> None:
    hello = read(
        hello=pb.Hello(
            protocol_versions=[1, 2],
            session_id="s",
            resume_token="token",
            last_sequence_received=7,
            client_name="me",
            tools=[
                pb.ToolDeclaration(
                    tool_name=name("sh"),
                    hook_kind=pb.HOOK_KIND_SHELL,
                    payload_kinds=[call_pb.PAYLOAD_KIND_CUSTOM],
                    supports_parallel_calls=True,
                    hidden=True,
                    not_ready=True,
                    cancel_mode=pb.CANCEL_MODE_WAIT_FOR_TEARDOWN,
                    teardown_timeout=duration(1.5),
                    call_timeout=duration(60),
                ),
                pb.ToolDeclaration(tool_name=name("plain")),
            ],
            hooks=[
                pb.HookDeclaration(
                    point=pb.HOOK_POINT_POST_TOOL_USE, matchers=["sh"], timeout=duration(5)
                )
            ],
        )
    )
    assert hello == Hello(
        (1, 2),
        "s",
        "token",
        7,
        SessionOptions(recorder_enabled=False),
        (
            ToolDeclaration(
                ToolName("sh"),
                HookKind.SHELL,
                (PayloadKind.CUSTOM,),
                True,
                True,
                False,
                CancelMode.WAIT_FOR_TEARDOWN,
                1.5,
                60.0,
            ),
            ToolDeclaration(ToolName("plain")),
        ),
        (HookDeclaration(HookPoint.POST_TOOL_USE, ("sh",), 5.0),),
        "me",
    )


def test_a_session_says_what_differs_from_the_server_s_defaults() -> None:
    options = session_pb.SessionOptions(recorder_enabled=True)
    hello = read(hello=pb.Hello(protocol_versions=[1], options=options))
    assert hello.options == SessionOptions(recorder_enabled=True)


def test_a_dispatch_carries_the_call_and_its_wishes() -> None:
    message = pb.DispatchCall(
        call=CALL,
        turn_options=session_pb.TurnOptions(recorder_enabled=False),
        views=output_pb.ViewSelection(views=[output_pb.VIEW_LOG, output_pb.VIEW_LOG]),
        timeout=duration(2.5),
        traceparent="00-1-2-01",
    )
    data = pb.ClientFrame(dispatch_call=message).SerializeToString()
    assert FRAMES.read(data) == DispatchCall(
        ToolCall("c", ToolName("echo"), FunctionPayload('{"a":1}'), CodeMode("cell"), "t"),
        TurnOptions(recorder_enabled=False),
        (View.LOG,),
        2.5,
        "00-1-2-01",
        len(data),
    )


def test_a_dispatch_that_wishes_nothing_leaves_it_to_session_and_tool() -> None:
    frame = read(dispatch_call=pb.DispatchCall(call=CALL))
    assert (frame.turn_options, frame.views, frame.timeout_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            {"output": output_pb.ToolOutput(apply_patch=output_pb.ApplyPatchOutput(text=b"ok"))},
            ToolOutput(ApplyPatchOutput("ok")),
        ),
        ({"respond_to_model": pb.RespondToModel(message=b"sorry \xff")}, RespondToModel("sorry �")),
        ({"fatal": pb.Fatal(message=b"over")}, FatalError("over")),
        ({"unhandled_error": pb.UnhandledError(message=b"boom")}, UnhandledError("boom")),
    ],
)
def test_a_handler_s_result_is_one_of_four(result: dict[str, Any], expected: object) -> None:
    frame = read(handler_result=pb.HandlerResult(invocation_token=b"token", **result))
    assert isinstance(frame, HandlerResult)
    assert (frame.invocation_token, frame.result) == (b"token", expected)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ({}, Proceed()),
        ({"proceed": pb.Proceed()}, Proceed()),
        ({"rewrite": pb.Rewrite(input_json=b' {"a" : 1e400} ')}, Rewrite('{"a":1e400}')),
        ({"block": pb.Block(reason=b"no")}, Block("no")),
        ({"feedback": pb.Feedback(message=b"look")}, Feedback("look")),
        ({"failed": pb.HookFailed(message=b"oops")}, HookFailed("oops")),
    ],
)
def test_a_hook_s_verdict_is_one_of_five(verdict: dict[str, Any], expected: object) -> None:
    message = pb.HookVerdict(hook_token=b"token", additional_contexts=[b"a", b"\xff"], **verdict)
    size = pb.ClientFrame(hook_verdict=message).ByteSize()
    assert read(hook_verdict=message) == HookVerdict(b"token", expected, ("a", "�"), size)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [b"{", b"\xff", b"", b"NaN"])
def test_a_rewrite_that_is_not_json_is_unusable_not_a_bad_frame(text: bytes) -> None:
    message = pb.HookVerdict(hook_token=b"token", rewrite=pb.Rewrite(input_json=text))
    assert isinstance(read(hook_verdict=message).verdict, HookFailed)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            {
                "update_tools": pb.UpdateTools(
                    upsert=[pb.ToolDeclaration(tool_name=name("a"))], remove=[name("b")]
                )
            },
            UpdateTools((ToolDeclaration(ToolName("a")),), (ToolName("b"),), None),
        ),
        (
            {"update_tools": pb.UpdateTools(hooks=pb.HookDeclarations())},
            UpdateTools((), (), ()),
        ),
        (
            {"cancel_calls": pb.CancelCalls(cancel_id=3, target=pb.CancelTarget(turn_id="t"))},
            CancelCalls(3, CancelTarget(turn_id="t")),
        ),
        (
            {"teardown_complete": pb.TeardownComplete(invocation_token=b"x")},
            TeardownComplete(b"x"),
        ),
        (
            {
                "register_cell": pb.RegisterCell(
                    cell_id="cell", output_call=outcome_pb.CallReference(call_id="c")
                )
            },
            RegisterCell("cell", CallReference("", "c")),
        ),
        ({"end_turn": pb.EndTurn(turn_id="t")}, EndTurn("t")),
        (
            {"output_chunk": pb.OutputChunk(transfer_id=1, size_bytes=2, data=b"x")},
            Chunk(1, 2, b"x"),
        ),
        ({"heartbeat": pb.Heartbeat()}, Heartbeat()),
        ({"detach": pb.Detach(close_session=True)}, Detach(True)),
    ],
)
def test_each_other_frame_has_its_value(frame: dict[str, Any], expected: object) -> None:
    assert read(**frame) == expected


@pytest.mark.parametrize(
    ("frame", "reason", "fields"),
    [
        ({}, Reason.MISSING_FIELD, ["frame"]),
        ({"hello": pb.Hello()}, Reason.MISSING_FIELD, ["hello.protocol_versions"]),
        (
            {"hello": pb.Hello(protocol_versions=[1], tools=[pb.ToolDeclaration()])},
            Reason.MISSING_FIELD,
            ["hello.tools[0].tool_name"],
        ),
        (
            {
                "hello": pb.Hello(
                    protocol_versions=[1],
                    tools=[pb.ToolDeclaration(tool_name=name("a"), hook_kind=99)],  # type: ignore[arg-type]
                )
            },
            Reason.UNKNOWN_ENUM_VALUE,
            ["hello.tools[0].hook_kind"],
        ),
        (
            {"hello": pb.Hello(protocol_versions=[1], hooks=[pb.HookDeclaration()])},
            Reason.MISSING_FIELD,
            ["hello.hooks[0].point"],
        ),
        (
            {
                "update_tools": pb.UpdateTools(
                    upsert=[
                        pb.ToolDeclaration(tool_name=name("a"), call_timeout=duration(-1)),
                    ]
                )
            },
            Reason.INVALID_FIELD,
            ["update_tools.upsert[0].call_timeout"],
        ),
        ({"dispatch_call": pb.DispatchCall()}, Reason.MISSING_FIELD, ["dispatch_call.call"]),
        (
            {"dispatch_call": pb.DispatchCall(call=CALL, timeout=duration(0))},
            Reason.INVALID_FIELD,
            ["dispatch_call.timeout"],
        ),
        (
            {"handler_result": pb.HandlerResult(fatal=pb.Fatal())},
            Reason.MISSING_FIELD,
            ["handler_result.invocation_token"],
        ),
        (
            {"handler_result": pb.HandlerResult(invocation_token=b"x")},
            Reason.MISSING_FIELD,
            ["handler_result"],
        ),
        (
            {"hook_verdict": pb.HookVerdict()},
            Reason.MISSING_FIELD,
            ["hook_verdict.hook_token"],
        ),
        ({"cancel_calls": pb.CancelCalls()}, Reason.MISSING_FIELD, ["cancel_calls.target"]),
        (
            {"register_cell": pb.RegisterCell()},
            Reason.MISSING_FIELD,
            ["register_cell.cell_id"],
        ),
        ({"end_turn": pb.EndTurn()}, Reason.MISSING_FIELD, ["end_turn.turn_id"]),
    ],
)
def test_what_a_frame_cannot_hold_is_refused_by_its_path(
    frame: dict[str, Any], reason: Reason, fields: list[str]
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read(**frame)
    assert refused.value.reason is reason
    assert [violation.field for violation in refused.value.violations] == fields


@given(st.binary(max_size=300))
def test_any_bytes_are_a_frame_or_an_error(data: bytes) -> None:
    with contextlib.suppress(DomainError):
        FRAMES.read(data)
