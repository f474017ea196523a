"""Hooks run in the agent, once per point and call (F4-F11)."""

from __future__ import annotations

import pytest
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.frames import (
    AbortHandler,
    Block,
    CallCompleted,
    Feedback,
    HookFailed,
    HookVerdict,
    InvokeHook,
    Proceed,
    RespondToModel,
    Rewrite,
)
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outcome import Completed, LifecycleFinish, ModelFailure
from sidecall_server.domain.session_options import PostHookBlock, SessionOptions
from sidecall_server.domain.values import CustomPayload, FunctionPayload, PayloadKind

from tests.runtime.clock import advance, by_hand
from tests.runtime.peer import Peer, call, hook, new_sessions, text_output, tool

PRE = hook(HookPoint.PRE_TOOL_USE)
POST = hook(HookPoint.POST_TOOL_USE)


@by_hand
async def test_a_pre_hook_is_asked_before_the_handler() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [PRE])
    await peer.dispatch(call("a", payload=FunctionPayload(' {"x": 1} ')))
    (asked,) = peer.of(InvokeHook)
    assert asked.point is HookPoint.PRE_TOOL_USE
    assert (asked.payload.tool_name, asked.payload.tool_input_json) == ("echo", '{"x":1}')
    assert peer.invoked() == []
    await peer.judge("a")
    assert peer.invoked() == ["a"]


@by_hand
async def test_hooks_that_do_not_match_are_not_asked() -> None:
    peer = await Peer(new_sessions()).attach(
        [
            tool("echo"),
            tool("patch", hook_kind=HookKind.APPLY_PATCH),
            tool("quiet", hook_kind=HookKind.NONE),
        ],
        [hook(HookPoint.PRE_TOOL_USE, "Write", "other")],
    )
    await peer.dispatch(call("a"), call("q", "quiet"))
    await peer.answer("a")
    await peer.answer("q")
    await peer.dispatch(call("p", "patch", FunctionPayload('{"input":"x"}')))
    assert [asked.call.call_id for asked in peer.of(InvokeHook)] == ["p"]


@by_hand
async def test_a_rewrite_changes_what_the_handler_gets() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [PRE])
    await peer.dispatch(call("a"))
    await peer.judge("a", Rewrite('{"new":1}'), "because")
    invocation = peer.invocation("a")
    assert invocation.rewritten
    assert invocation.call.payload == FunctionPayload('{"new":1}')
    await peer.answer("a")
    (completed,) = peer.of(CallCompleted)
    assert completed.additional_contexts == ("because",)


@by_hand
async def test_a_block_fails_the_call_with_its_reason_and_keeps_the_contexts() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [PRE])
    await peer.dispatch(call("a"))
    await peer.judge("a", Block("not here"), "context")
    outcome = peer.outcome("a")
    assert outcome.result == ModelFailure(
        "Tool call blocked by PreToolUse hook: not here. Tool: echo"
    )
    assert outcome.lifecycle is LifecycleFinish.BLOCKED
    assert not outcome.handler_executed
    assert peer.of(CallCompleted)[0].additional_contexts == ("context",)


@by_hand
async def test_the_block_of_a_command_names_the_command() -> None:
    peer = await Peer(new_sessions()).attach([tool("sh", hook_kind=HookKind.SHELL)], [PRE])
    await peer.dispatch(call("a", "sh", FunctionPayload('{"command":"rm -rf /"}')))
    await peer.judge("a", Block("no"))
    assert peer.outcome("a").result == ModelFailure(
        "Command blocked by PreToolUse hook: no. Command: rm -rf /"
    )


@pytest.mark.parametrize(
    "verdict", [HookFailed("raised"), Block("  \n"), Feedback("not here")], ids=str
)
@by_hand
async def test_a_pre_verdict_that_cannot_be_used_fails_open_and_is_counted(verdict: object) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [PRE])
    await peer.dispatch(call("a"))
    await peer.judge("a", verdict)
    assert peer.invoked() == ["a"]
    assert peer.session.hooks_failed_open == 1


@by_hand
async def test_a_hook_that_takes_too_long_fails_open_and_is_told_to_stop() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("echo")], [hook(HookPoint.PRE_TOOL_USE, timeout_seconds=5)]
    )
    await peer.dispatch(call("a"))
    (asked,) = peer.of(InvokeHook)
    assert asked.timeout_seconds == 5
    await advance(4.9)
    assert peer.invoked() == []
    await advance(0.2)
    assert peer.invoked() == ["a"]
    assert [frame.token for frame in peer.of(AbortHandler)] == [asked.hook_token]
    assert peer.session.hooks_failed_open == 1
    await peer.send(HookVerdict(asked.hook_token, Block("too late"), ()))
    await peer.answer("a")
    assert peer.outcome("a").result == Completed(success=True)
    assert peer.session.late_results == 1


@by_hand
async def test_a_rewrite_of_a_payload_that_takes_none_fails_the_call() -> None:
    peer = await Peer(new_sessions()).attach(
        [tool("patch", hook_kind=HookKind.APPLY_PATCH, payload_kinds=(PayloadKind.CUSTOM,))], [PRE]
    )
    await peer.dispatch(call("a", "patch", CustomPayload("x")))
    await peer.judge("a", Rewrite("{}"))
    outcome = peer.outcome("a")
    assert outcome.result == ModelFailure(
        "hook input rewrite received unsupported function tool payload"
    )
    assert (outcome.lifecycle, outcome.handler_executed) == (LifecycleFinish.FAILED, False)


@by_hand
async def test_a_post_hook_is_asked_after_a_success_with_the_rewritten_input() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [PRE, POST])
    await peer.dispatch(call("a"))
    await peer.judge("a", Rewrite('{"new":1}'), "one")
    await peer.answer("a", text_output("hello"))
    asked = peer.of(InvokeHook)[-1]
    assert asked.point is HookPoint.POST_TOOL_USE
    assert asked.payload.tool_input_json == '{"new":1}'
    assert asked.payload.tool_response_json == '"hello"'
    assert not peer.ended_calls()
    await peer.judge("a", Proceed(), "two")
    assert peer.outcome("a").result == Completed(success=True)
    assert peer.of(CallCompleted)[0].additional_contexts == ("one", "two")


@pytest.mark.parametrize(
    "result", [text_output(success=False), RespondToModel("sorry")], ids=["unsuccessful", "failed"]
)
@by_hand
async def test_no_post_hook_without_a_success(result: object) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [POST])
    await peer.dispatch(call("a"))
    await peer.answer("a", result)
    assert not peer.of(InvokeHook)
    assert peer.ended_calls() == ["a"]


def shown(peer: Peer) -> tuple[str, str]:
    """What the model and the script read of the call `a`."""
    (shown,) = peer.shown
    return shown.response_item_json, shown.code_mode_json


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Feedback("look again"), "look again"),
        (Block("bad"), "bad"),
        (Block(""), "PostToolUse hook blocked the tool result"),
    ],
    ids=str,
)
@by_hand
async def test_feedback_and_block_replace_what_the_model_reads(verdict: object, text: str) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [POST])
    await peer.dispatch(call("a"))
    await peer.answer("a", text_output("original"))
    await peer.judge("a", verdict)
    outcome = peer.outcome("a")
    assert outcome.result == Completed(success=True)
    item, script = shown(peer)
    assert item == '{"type":"function_call_output","call_id":"a","output":"' + text + '"}'
    assert script == '"original"'


@by_hand
async def test_a_rejecting_session_fails_the_call_after_it_completed() -> None:
    options = SessionOptions(post_hook_block=PostHookBlock.REJECT_RESULT)
    peer = await Peer(new_sessions()).attach([tool("echo")], [POST], options=options)
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await peer.judge("a", Block("bad"))
    outcome = peer.outcome("a")
    assert outcome.result == ModelFailure("bad")
    assert (outcome.lifecycle, outcome.handler_executed) == (LifecycleFinish.COMPLETED, True)


@pytest.mark.parametrize("verdict", [HookFailed("raised"), Rewrite("{}")], ids=str)
@by_hand
async def test_a_post_verdict_that_cannot_be_used_fails_open_and_is_counted(
    verdict: object,
) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [POST])
    await peer.dispatch(call("a"))
    await peer.answer("a", text_output("original"))
    await peer.judge("a", verdict)
    assert peer.outcome("a").result == Completed(success=True)
    assert "original" in shown(peer)[0]
    assert peer.session.hooks_failed_open == 1
