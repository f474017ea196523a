"""Dispatch: record first, look up, queue, invoke, complete (F1-F3, G2, R2-R4)."""

from __future__ import annotations

from typing import Any

import pytest
from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.errors import Reason
from sidecall_server.domain.fields import replace
from sidecall_server.domain.frames import (
    CallAccepted,
    CallCompleted,
    CallReference,
    CancelTarget,
    FatalError,
    FrameError,
    HandlerResult,
    RespondToModel,
    ServerFrame,
    UnhandledError,
    UpdateTools,
)
from sidecall_server.domain.outcome import (
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
)
from sidecall_server.domain.prompt_description import Prompt, PromptOutput
from sidecall_server.domain.session_options import SessionOptions, ToolModeOptions, TurnOptions
from sidecall_server.domain.values import (
    CustomPayload,
    DirectPlaintextMessage,
    FunctionPayload,
    PayloadKind,
    ToolMode,
    ToolName,
    ToolSearchPayload,
)

from tests.runtime.clock import by_hand
from tests.runtime.peer import Peer, call, hook, new_sessions, text_output, tool


def recorded(peer: Peer, *call_ids: str, turn: str = "turn") -> list[int]:
    """Which of these calls have a record."""
    outputs = [PromptOutput(PayloadKind.FUNCTION, call_id, turn, None) for call_id in call_ids]
    return [item.output_index for item in peer.session.attach(Prompt(outputs), "sample").items]


@by_hand
async def test_a_call_goes_to_its_handler_and_comes_back_once() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    assert peer.invocation("a").call == call("a")
    await peer.answer("a")
    outcome = peer.outcome("a")
    assert outcome.result == Completed(success=True)
    assert outcome.lifecycle is LifecycleFinish.COMPLETED
    assert not peer.of(CallAccepted), "nothing had to wait"


@by_hand
async def test_every_attempt_is_recorded_before_anything_else() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("echo"), tool("later", ready=False)], [hook(HookPoint.PRE_TOOL_USE)]
    )
    await peer.dispatch(
        call("unknown", "nope"),
        call("waits", "later"),
        call("asked", turn="other"),
        call("custom", payload=CustomPayload("x"), turn="third"),
    )
    assert recorded(peer, "unknown", "waits") == [0, 1]
    assert recorded(peer, "asked", turn="other") == [0]
    assert recorded(peer, "custom", turn="third") == [0]


@by_hand
async def test_a_refused_dispatch_is_not_recorded() -> None:
    peer = await Peer(new_sessions(max_calls_in_flight=1)).attach([tool("echo")])
    await peer.dispatch(call("a"), call("b"), call("c", turn=""))
    errors = peer.of(FrameError)
    assert [error.reason for error in errors] == [Reason.CALL_LIMIT, Reason.MISSING_FIELD]
    assert errors[0].call == CallReference("turn", "b")
    assert errors[1].field_violations[0].field == "dispatch_call.call.turn_id"
    assert recorded(peer, "a", "b", "c") == [0]
    await peer.answer("a")
    assert peer.ended_calls() == ["a"]


@by_hand
async def test_the_wrapper_of_code_mode_is_not_recorded_by_the_mode_in_effect() -> None:
    options = SessionOptions(tool_mode=ToolModeOptions(code_mode_feature=True))
    peer = await Peer(new_sessions()).attach(
        [tool("exec", payload_kinds=(PayloadKind.CUSTOM,))], options=options
    )
    assert peer.welcome is not None
    assert peer.welcome.effective_tool_mode is ToolMode.CODE_MODE
    await peer.dispatch(call("a", "exec", CustomPayload("1")))
    direct = TurnOptions(tool_mode=ToolModeOptions(model_tool_mode=ToolMode.DIRECT))
    await peer.dispatch(call("b", "exec", CustomPayload("2"), turn="two"), turn_options=direct)
    assert recorded(peer, "a") == []
    assert recorded(peer, "b", turn="two") == [0]


@by_hand
async def test_with_the_recorder_off_nothing_is_recorded() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("echo")], options=SessionOptions(recorder_enabled=False)
    )
    await peer.dispatch(call("a"))
    assert recorded(peer, "a") == []


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (FunctionPayload("{}"), "unsupported call: nope"),
        (CustomPayload("x"), "unsupported custom tool call: nope"),
        (ToolSearchPayload("x"), "unsupported call: nope"),
    ],
)
@by_hand
async def test_an_unknown_tool_is_a_model_error_without_events(payload: object, text: str) -> None:
    peer = await Peer(new_sessions()).attach()
    watcher = peer.session.watch()
    await peer.dispatch(call("a", "nope", payload))  # type: ignore[arg-type]
    outcome = peer.outcome("a")
    assert outcome.result == ModelFailure(text)
    assert outcome.lifecycle is LifecycleFinish.NONE
    watcher.end()
    kinds = [type(event.event).__name__ async for event in watcher]
    assert kinds == ["CallRecorded"]


@by_hand
async def test_a_payload_that_the_tool_does_not_take_ends_the_turn() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a", payload=CustomPayload("x")))
    assert peer.outcome("a").result == Fatal("tool echo invoked with incompatible payload")
    await peer.dispatch(call("b"))
    assert [error.reason for error in peer.of(FrameError)] == [Reason.TURN_ENDED]


@by_hand
async def test_exclusive_tools_run_one_by_one_and_parallel_ones_together() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("echo"), tool("read", supports_parallel_calls=True)]
    )
    await peer.dispatch(
        call("r1", "read"), call("r2", "read"), call("w", "echo"), call("r3", "read")
    )
    assert peer.invoked() == ["r1", "r2"]
    assert [(one.call.call_id, one.phase) for one in peer.of(CallAccepted)] == [
        ("w", Phase.QUEUED),
        ("r3", Phase.QUEUED),
    ]
    await peer.answer("r1")
    assert peer.invoked() == ["r1", "r2"]
    await peer.answer("r2")
    assert peer.invoked() == ["r1", "r2", "w"]
    await peer.answer("w")
    assert peer.invoked() == ["r1", "r2", "w", "r3"]


@by_hand
async def test_a_hidden_tool_and_an_unknown_one_run_alone() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("secret", supports_parallel_calls=True, hidden=True)]
    )
    await peer.dispatch(call("a", "secret"), call("b", "secret"), call("c", "nope"))
    assert peer.invoked() == ["a"]
    assert peer.ended_calls() == []


@by_hand
async def test_a_cell_calls_tools_while_its_own_call_holds_the_gate() -> None:
    peer = await Peer(new_sessions()).attach([tool("exec"), tool("echo")])
    await peer.dispatch(call("exec", "exec"), call("next", "echo"))
    await peer.dispatch(
        call("n1", cell="cell"), call("n2", cell="cell"), call("other", cell="cell 2")
    )
    assert peer.invoked() == ["exec", "n1", "other"]
    await peer.answer("n1")
    assert peer.invoked()[-1] == "n2"
    for call_id in ("n2", "other", "exec"):
        await peer.answer(call_id)
    assert peer.invoked()[-1] == "next"


@by_hand
async def test_a_call_waits_until_its_tool_is_ready() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo", ready=False)])
    await peer.dispatch(call("a"))
    assert peer.invoked() == []
    assert peer.of(CallAccepted)[0].phase is Phase.READINESS
    await peer.send(UpdateTools((tool("echo"),), (), None))
    assert peer.invoked() == ["a"]


@by_hand
async def test_a_call_whose_tool_is_taken_away_fails_as_unknown() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo", ready=False)])
    await peer.dispatch(call("a"))
    await peer.send(UpdateTools((), (ToolName("echo"),), None))
    assert peer.outcome("a").result == ModelFailure("unsupported call: echo")


@by_hand
async def test_a_running_call_is_not_touched_when_its_tool_is_taken_away() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.send(UpdateTools((), (ToolName("echo"),), None))
    await peer.answer("a")
    assert peer.outcome("a").result == Completed(success=True)


@by_hand
async def test_results_come_as_they_finish_and_say_their_order() -> None:
    peer = await Peer(new_sessions()).attach([tool("read", supports_parallel_calls=True)])
    await peer.dispatch(*(call(name, "read") for name in "abc"))
    for call_id in "cab":
        await peer.answer(call_id)
    assert peer.ended_calls() == ["c", "a", "b"]
    in_order = peer.session.calls("turn")
    assert [one.reference.call_id for one in in_order] == ["a", "b", "c"]
    assert [one.dispatch_order for one in in_order] == [1, 2, 3]


@by_hand
async def test_the_same_call_again_runs_nothing_and_says_where_it_stands() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]
    (accepted,) = peer.of(CallAccepted)
    assert (accepted.duplicate, accepted.phase) == (True, Phase.HANDLER)
    await peer.answer("a")
    await peer.dispatch(call("a"))
    assert peer.ended_calls() == ["a", "a"], "the outcome is told again"
    assert peer.of(CallAccepted)[-1].phase is Phase.TERMINAL


@by_hand
async def test_the_same_ids_with_another_payload_are_a_conflict() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.dispatch(call("a", payload=FunctionPayload('{"other":1}')))
    (error,) = peer.of(FrameError)
    assert error.reason is Reason.CALL_ID_CONFLICT
    await peer.answer("a")
    assert peer.outcome("a").result == Completed(success=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": FunctionPayload('{"other":1}')},
        {"payload": CustomPayload("{}")},
        {"source": DirectPlaintextMessage()},
    ],
    ids=str,
)
@by_hand
async def test_the_same_ids_are_a_conflict_when_the_call_has_ended(changes: dict[str, Any]) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    first = call("a", payload=FunctionPayload("{}"))
    await peer.dispatch(first)
    await peer.answer("a")
    await peer.dispatch(replace(first, **changes))
    (error,) = peer.of(FrameError)
    assert error.reason is Reason.CALL_ID_CONFLICT
    assert peer.ended_calls() == ["a"]


@by_hand
async def test_ids_may_be_used_again_in_another_turn() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo", supports_parallel_calls=True)])
    await peer.dispatch(call("a", turn="one"), call("a", turn="two"))
    assert peer.invoked() == ["a", "a"]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (text_output(success=False), Completed(success=False)),
        (RespondToModel("sorry"), ModelFailure("sorry")),
        (FatalError("over"), Fatal("over")),
        (UnhandledError("boom"), Fatal("tool task failed to receive: boom")),
    ],
)
@by_hand
async def test_what_a_handler_comes_to_is_what_the_call_comes_to(
    result: object, outcome: object
) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.answer("a", result)
    assert peer.outcome("a").result == outcome


@by_hand
async def test_a_direct_fatal_aborts_its_turn_and_the_session_lives_on() -> None:
    peer = await Peer(new_sessions()).attach([tool("read", supports_parallel_calls=True)])
    await peer.dispatch(call("a", "read"), call("b", "read"), call("n", "read", cell="cell"))
    await peer.dispatch(call("other", "read", turn="other"))
    await peer.answer("a", FatalError("over"))
    assert peer.outcome("a").result == Fatal("over")
    assert peer.aborted("b").message == "aborted after 0.1s: the turn ended with a fatal error"
    assert peer.aborted("n").reason == "turn_fatal"
    await peer.dispatch(call("c", "read"))
    assert peer.of(FrameError)[0].reason is Reason.TURN_ENDED
    await peer.answer("other")
    assert peer.outcome("other").result == Completed(success=True)


@by_hand
async def test_a_nested_fatal_is_an_error_text_and_ends_nothing() -> None:
    peer = await Peer(new_sessions()).attach([tool("exec"), tool("echo")])
    await peer.dispatch(call("exec", "exec"), call("n", cell="cell"))
    await peer.answer("n", FatalError("over"))
    assert peer.outcome("n").result == ModelFailure("Fatal error: over")
    await peer.answer("exec")
    assert peer.outcome("exec").result == Completed(success=True)


@by_hand
async def test_a_second_result_is_counted_and_changes_nothing() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await peer.answer("a", RespondToModel("too late"))
    assert peer.ended_calls() == ["a"]
    assert peer.session.late_results == 1
    assert not peer.of(FrameError)


@by_hand
async def test_a_token_that_was_never_given_is_refused() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([tool("echo")])
    other = await Peer(sessions).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await other.send(HandlerResult(peer.invocation("a").invocation_token, text_output(), 10))
    assert other.of(FrameError)[0].reason is Reason.UNKNOWN_INVOCATION
    assert peer.ended_calls() == []
    assert peer.session.cancel(CancelTarget())[0].disposition == "accepted"


@by_hand
async def test_external_context_marks_the_session_once_if_it_wants_that() -> None:
    from sidecall_server.domain.outputs import ApplyPatchOutput, ToolOutput
    from sidecall_server.domain.session_events import ExternalContextMarked

    outside = ToolOutput(ApplyPatchOutput("x"), contains_external_context=True)
    for wanted in (True, False):
        options = SessionOptions(mark_external_context=wanted)
        peer = await Peer(new_sessions()).attach([tool("echo")], options=options)
        watcher = peer.session.watch()
        for call_id in "ab":
            await peer.dispatch(call(call_id))
            await peer.answer(call_id, outside)
        assert peer.session.external_context_marked is wanted
        watcher.end()
        events = [event.event async for event in watcher]
        marks = [event for event in events if isinstance(event, ExternalContextMarked)]
        assert marks == [ExternalContextMarked(CallReference("turn", "a"))] * wanted


@by_hand
async def test_a_defect_in_the_views_leaves_the_call_its_outcome(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    encode = peer.sessions.codec.encode

    def encode_without_views(frame: ServerFrame) -> bytes:
        if isinstance(frame, CallCompleted) and frame.projection is not None:
            raise RuntimeError("a defect")
        return encode(frame)

    monkeypatch.setattr(peer.sessions.codec, "encode", encode_without_views)
    await peer.answer("a")
    assert peer.outcome("a").result == Completed(success=True)
    assert "views failed" in caplog.text
    assert not peer.of(FrameError)


@by_hand
async def test_a_tool_that_is_taken_away_while_a_call_waits_at_the_gate_is_waited_for() -> None:
    peer = await Peer(new_sessions()).attach([tool("first"), tool("second")])
    await peer.dispatch(call("a", "first"), call("b", "second"))
    await peer.send(UpdateTools((tool("second", ready=False),), (), None))
    await peer.answer("a")
    assert peer.invoked() == ["a"]
    await peer.dispatch(call("c", "first"))
    assert peer.invoked() == ["a", "c"], "the gate is free meanwhile"
    await peer.answer("c")
    await peer.send(UpdateTools((tool("second"),), (), None))
    assert peer.invoked() == ["a", "c", "b"]


@by_hand
async def test_a_call_is_found_from_the_moment_it_has_ended() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    session, token = peer.session, peer.invocation("a").invocation_token
    session.handler_answered(HandlerResult(token, text_output(), 10))
    reference = CallReference("turn", "a")
    assert not session.open_calls
    assert session.find_call(reference).phase is Phase.TERMINAL
    assert [one.reference for one in session.calls()] == [reference]
    assert session.cancel(CancelTarget(calls=(reference,)))[0].disposition == "already_terminal"
