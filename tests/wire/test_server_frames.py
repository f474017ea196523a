"""The server's frames go out as they are meant; views are made when they are written."""

from __future__ import annotations

from typing import Any

import pytest
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import errors_pb2
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.content import InputText
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.errors import FieldViolation, Reason
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import (
    AbortHandler,
    CallAccepted,
    CallCompleted,
    CallDurations,
    CallReference,
    CancelDisposition,
    CancelledCall,
    CancelResult,
    Chunk,
    Drain,
    Envelope,
    FrameError,
    Heartbeat,
    HookView,
    InvokeHandler,
    InvokeHook,
    ResumeOutcome,
    Welcome,
)
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outcome import (
    Aborted,
    AbortProgress,
    CallOutcome,
    Completed,
    Fatal,
    LifecycleFinish,
    TeardownState,
)
from sidecall_server.domain.outputs import FunctionOutput, ToolOutput
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions, View
from sidecall_server.domain.values import FunctionPayload, ToolCall, ToolMode, ToolName
from sidecall_server.wire.codec import ProtobufCodec

LIMITS = RuntimeLimits(max_calls_in_flight=3, resume_grace_seconds=2.5)
CODEC = ProtobufCodec(LIMITS, "instance", SessionOptions())
CALL = CallReference("t", "c")
REFERENCE = outcome_pb.CallReference(turn_id="t", call_id="c")
TOOL_CALL = ToolCall("c", ToolName("sh"), FunctionPayload('{"command":"ls"}'), turn_id="t")


def written(frame: Any) -> Any:
    """The frame as its reader has it; what is written by hand is as protobuf writes it."""
    data = CODEC.encode(frame)
    message = pb.ServerFrame.FromString(data)
    assert data == message.SerializeToString()
    return getattr(message, message.WhichOneof("frame") or "")


def test_welcome_says_the_limits_that_the_agent_needs() -> None:
    message = written(Welcome(1, "s", "token", ResumeOutcome.GAP, 4, 9, ToolMode.CODE_MODE))
    assert message.resume_outcome == pb.RESUME_OUTCOME_GAP
    assert (message.last_sequence_received, message.next_sequence) == (4, 9)
    assert message.max_calls_in_flight == 3
    assert message.max_message_bytes == LIMITS.max_message_bytes
    assert message.resume_grace.ToMilliseconds() == 2500
    assert message.effective_tool_mode == call_pb.TOOL_MODE_CODE_MODE
    assert message.server_instance_id == "instance"


def test_an_invocation_carries_the_call_as_hooks_left_it() -> None:
    message = written(InvokeHandler(b"token", TOOL_CALL, True, 5))
    assert message.call.payload.function.arguments == b'{"command":"ls"}'
    assert (message.rewritten, message.dispatch_order) == (True, 5)


@pytest.mark.parametrize("response", [None, '"done"'])
def test_a_hook_sees_name_input_and_after_the_handler_its_response(response: str | None) -> None:
    view = HookView("Bash", ("alias",), "c", '{"command":"ls"}', response)
    point = HookPoint.POST_TOOL_USE if response else HookPoint.PRE_TOOL_USE
    message = written(InvokeHook(b"token", CALL, point, view, 1.5))
    assert message.payload.tool_name == "Bash"
    assert list(message.payload.matcher_aliases) == ["alias"]
    assert message.payload.HasField("tool_response_json") == (response is not None)
    assert message.timeout.ToMilliseconds() == 1500


def completed(views: tuple[View, ...], kind: HookKind = HookKind.DEFAULT) -> Any:
    output = ToolOutput(FunctionOutput((InputText("hi"),), True))
    return written(
        CallCompleted(
            CALL,
            1,
            CallOutcome(Completed(True), LifecycleFinish.COMPLETED, True),
            Projection(TOOL_CALL, output),
            views,
            kind,
            ("context",),
            CallDurations(0.5, None, 2.0),
        )
    )


def test_a_completed_call_shows_the_views_asked_for_and_no_other() -> None:
    message = completed((View.RESPONSE_ITEM_JSON,))
    projections = message.projections
    assert projections.response_item_json.endswith(b'"output":"hi"}')
    assert projections.response_success
    for view in ("log", "response_item", "hook", "code_mode_json"):
        assert not projections.HasField(view)
    assert list(message.additional_contexts) == ["context"]
    assert message.durations.dispatch.ToMilliseconds() == 500
    assert not message.durations.HasField("handler")


def test_the_hook_view_is_told_as_the_tool_is_declared() -> None:
    assert completed((View.HOOK,)).projections.hook.tool_name == "sh"
    assert completed((View.HOOK,), HookKind.SHELL).projections.hook.tool_name == "Bash"
    assert not completed((View.HOOK,), HookKind.NONE).projections.HasField("hook")


@pytest.mark.interpreted
def test_views_are_made_when_the_frame_is_written_and_only_then() -> None:
    made: list[str] = []

    class Watched(Projection):
        @property
        def response_item_json(self) -> str:
            made.append("model")
            return "{}"

    output = ToolOutput(FunctionOutput((InputText("hi"),), True))
    outcome = CallOutcome(Completed(True), LifecycleFinish.COMPLETED, True)
    frame = CallCompleted(
        CALL,
        1,
        outcome,
        Watched(TOOL_CALL, output),
        (View.RESPONSE_ITEM_JSON,),
        HookKind.DEFAULT,
        (),
        CallDurations(None, None, None),
    )
    assert not made
    written(frame)
    assert made == ["model"]


def test_a_fatal_call_shows_nothing() -> None:
    outcome = CallOutcome(Fatal("over"), LifecycleFinish.FAILED, True)
    frame = CallCompleted(
        CALL,
        1,
        outcome,
        None,
        (View.LOG,),
        HookKind.DEFAULT,
        (),
        CallDurations(None, None, 1.0),
    )
    message = written(frame)
    assert message.outcome.fatal.message == "over"
    assert not message.HasField("projections")


def test_an_aborted_call_says_how_far_it_got() -> None:
    aborted = Aborted(
        AbortReason.DRAINED, AbortProgress.HANDLER_INTERRUPTED, TeardownState.TIMED_OUT, "text"
    )
    outcome = CallOutcome(aborted, LifecycleFinish.ABORTED, True)
    frame = CallCompleted(
        CALL,
        1,
        outcome,
        None,
        (),
        HookKind.DEFAULT,
        (),
        CallDurations(None, None, 1.0),
    )
    message = written(frame).outcome.aborted
    assert message.reason == outcome_pb.ABORT_REASON_DRAINED
    assert message.progress == outcome_pb.ABORT_PROGRESS_HANDLER_INTERRUPTED
    assert message.teardown == outcome_pb.TEARDOWN_STATE_TIMED_OUT


def test_the_small_frames() -> None:
    accepted = written(CallAccepted(CALL, 2, Phase.QUEUED, duplicate=True))
    assert (accepted.call, accepted.phase) == (REFERENCE, outcome_pb.CALL_PHASE_QUEUED)
    abort = written(AbortHandler(b"x", CALL, AbortReason.TIMED_OUT, True, 1.0))
    assert (abort.token, abort.wait_for_teardown) == (b"x", True)
    result = written(CancelResult(4, (CancelledCall(CALL, CancelDisposition.UNKNOWN),)))
    assert result.calls[0].disposition == pb.CANCEL_DISPOSITION_UNKNOWN
    assert written(Drain(1.5)).time_left.ToMilliseconds() == 1500
    assert written(Heartbeat()) == pb.Heartbeat()


@pytest.mark.parametrize("index", [None, 0, 3])
def test_a_frame_error_says_which_frame_and_why(index: int | None) -> None:
    violation = FieldViolation("end_turn.turn_id", "is required")
    message = written(FrameError(5, index, Reason.MISSING_FIELD, "text", (violation,), CALL))
    assert message.HasField("frame_index") == (index is not None)
    assert message.reason == errors_pb2.ERROR_REASON_MISSING_FIELD
    assert message.field_violations[0].field == "end_turn.turn_id"
    assert message.call == REFERENCE


def test_a_frame_error_stays_small_and_says_what_it_left_out() -> None:
    violations = tuple(FieldViolation("f" * 999, "d" * 999) for _ in range(1000))
    frame = FrameError(5, None, Reason.INVALID_FIELD, "t" * 9999, violations, None)
    assert len(CODEC.encode(frame)) <= 6000
    message = written(frame)
    assert message.message.startswith("INVALID_FIELD: ttt")
    assert message.field_violations[-1].description.endswith("more violations")


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_number(reason: Reason) -> None:
    message = written(FrameError(0, None, reason, "", (), None))
    assert errors_pb2.ErrorReason.Name(message.reason) == f"ERROR_REASON_{reason}"


def test_a_message_is_what_the_contract_says_though_its_frames_are_bytes() -> None:
    data = CODEC.seal(Envelope(7, 3, [CODEC.encode(Heartbeat()), CODEC.encode(Drain(1.0))]))
    message = pb.ConnectResponse.FromString(data)
    assert (message.sequence, message.acknowledged) == (7, 3)
    assert [frame.WhichOneof("frame") for frame in message.frames] == ["heartbeat", "drain"]
    request = pb.ConnectRequest(
        sequence=1, acknowledged=2, frames=[pb.ClientFrame(heartbeat=pb.Heartbeat())]
    )
    opened = CODEC.open(request.SerializeToString())
    assert (opened.sequence, opened.acknowledged) == (1, 2)
    assert CODEC.decode(opened.frames[0]) is not None


def test_a_piece_is_a_frame() -> None:
    message = pb.ServerFrame.FromString(CODEC.encode(Chunk(1, 9, b"abc")))
    assert message.output_chunk == pb.OutputChunk(transfer_id=1, size_bytes=9, data=b"abc")
