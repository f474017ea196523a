"""Cancels, time-outs and teardowns: one outcome, whoever comes first (G1-G7, R3, S7, S8)."""

from __future__ import annotations

import pytest
from sidecall_server.domain.declarations import CancelMode, HookPoint
from sidecall_server.domain.frames import (
    AbortHandler,
    CallReference,
    CancelCalls,
    CancelResult,
    CancelTarget,
    FrameError,
    HookVerdict,
    InvokeHook,
    Proceed,
    TeardownComplete,
    UnhandledError,
)
from sidecall_server.domain.outcome import (
    AbortProgress,
    Completed,
    Fatal,
    TeardownState,
)
from sidecall_server.domain.session_events import CallFinished, CallStarted

from tests.runtime.clock import advance, by_hand
from tests.runtime.peer import Peer, call, hook, new_sessions, tool

SHELL = tool("sh", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN, teardown_timeout_seconds=3)


@by_hand
async def test_a_running_call_ends_at_once_and_its_handler_is_told() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await advance(1.0)
    await peer.cancel("a")
    aborted = peer.aborted("a")
    assert aborted.message == "aborted by user after 1.0s"
    assert aborted.progress is AbortProgress.HANDLER_INTERRUPTED
    (abort,) = peer.of(AbortHandler)
    assert abort.token == peer.invocation("a").invocation_token
    assert not abort.wait_for_teardown
    await peer.answer("a")
    assert peer.ended_calls() == ["a"]
    assert peer.session.late_results == 1


@by_hand
async def test_a_shell_says_how_long_it_ran() -> None:
    peer = await Peer(new_sessions()).attach([tool("exec_command")])
    await peer.dispatch(call("a", "exec_command"))
    await advance(0.25)
    await peer.cancel("a")
    assert peer.aborted("a").message == "Wall time: 0.2 seconds\naborted by user"


@by_hand
async def test_a_cancelled_waiter_leaves_the_gate_and_never_starts() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    watcher = peer.session.watch()
    await peer.dispatch(call("a"), call("b"), call("c"))
    await peer.cancel("b")
    assert peer.aborted("b").progress is AbortProgress.NOT_STARTED
    assert not peer.of(AbortHandler)
    await peer.answer("a")
    assert peer.invoked() == ["a", "c"]
    watcher.end()
    events = [event.event async for event in watcher]
    started = [event.call.call_id for event in events if isinstance(event, CallStarted)]
    finished = [event.call.call_id for event in events if isinstance(event, CallFinished)]
    assert (started, finished) == (["a", "c"], ["b", "a"])


@by_hand
async def test_a_cancel_between_decision_and_writing_takes_the_invocation_back() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo"), SHELL])
    await peer.stop_reading()
    for tool_name in ("echo", "sh"):
        await peer.dispatch(call(tool_name, tool_name, turn=tool_name))
        await peer.cancel(tool_name, turn=tool_name)
    await peer.lose()
    await peer.again([tool("echo"), SHELL])
    assert peer.invoked() == []
    assert not peer.of(AbortHandler)
    for tool_name in ("echo", "sh"):
        assert peer.aborted(tool_name).progress is AbortProgress.NOT_STARTED
        assert not peer.outcome(tool_name).handler_executed


@by_hand
async def test_a_cancel_during_the_pre_hook_stops_the_hook() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [hook(HookPoint.PRE_TOOL_USE)])
    await peer.dispatch(call("a"))
    await peer.cancel("a")
    assert peer.aborted("a").progress is AbortProgress.NOT_STARTED
    assert [frame.token for frame in peer.of(AbortHandler)] == [
        frame.hook_token for frame in peer.of(InvokeHook)
    ]
    await peer.judge("a")
    assert peer.invoked() == []


@by_hand
async def test_a_cancel_during_the_post_hook_says_that_the_handler_finished() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")], [hook(HookPoint.POST_TOOL_USE)])
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await peer.cancel("a")
    assert peer.aborted("a").progress is AbortProgress.HANDLER_FINISHED


@by_hand
async def test_a_teardown_is_waited_for_and_holds_the_gate() -> None:
    peer = await Peer(new_sessions()).attach([SHELL])
    await peer.dispatch(call("a", "sh"), call("b", "sh"))
    await peer.cancel("a")
    (abort,) = peer.of(AbortHandler)
    assert (abort.wait_for_teardown, abort.teardown_timeout_seconds) == (True, 3)
    assert peer.ended_calls() == []
    assert peer.invoked() == ["a"]
    await advance(2.0)
    await peer.send(TeardownComplete(peer.invocation("a").invocation_token))
    aborted = peer.aborted("a")
    assert aborted.teardown is TeardownState.DONE
    assert aborted.message == "aborted by user after 0.1s", "measured when the cancel was seen"
    assert peer.invoked() == ["a", "b"]


@by_hand
async def test_a_teardown_that_takes_too_long_is_not_waited_for_any_longer() -> None:
    peer = await Peer(new_sessions()).attach([SHELL])
    await peer.dispatch(call("a", "sh"))
    await peer.cancel("a")
    await advance(3.1)
    assert peer.aborted("a").teardown is TeardownState.TIMED_OUT
    await peer.send(TeardownComplete(peer.invocation("a").invocation_token))
    assert not peer.of(FrameError), "a late teardown harms nothing"


@by_hand
async def test_a_teardown_is_never_unbounded() -> None:
    peer = await Peer(new_sessions(max_teardown_timeout_seconds=7)).attach(
        [tool("sh", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN, teardown_timeout_seconds=1e9)]
    )
    await peer.dispatch(call("a", "sh"))
    await peer.cancel("a")
    assert peer.of(AbortHandler)[0].teardown_timeout_seconds == 7
    await advance(7.1)
    assert peer.aborted("a").teardown is TeardownState.TIMED_OUT


@by_hand
async def test_the_result_of_a_cancelled_shell_is_thrown_away() -> None:
    peer = await Peer(new_sessions()).attach([SHELL])
    await peer.dispatch(call("a", "sh"))
    await peer.cancel("a")
    await peer.answer("a")
    assert peer.aborted("a").teardown is TeardownState.DONE
    assert peer.session.late_results == 1


@by_hand
async def test_a_handler_that_breaks_in_its_teardown_is_fatal() -> None:
    peer = await Peer(new_sessions()).attach([SHELL])
    await peer.dispatch(call("a", "sh"))
    await peer.cancel("a")
    await peer.answer("a", UnhandledError("boom"))
    assert peer.outcome("a").result == Fatal("tool task failed to receive: boom")


@by_hand
async def test_the_teardown_of_a_post_hook_ends_with_its_verdict_or_its_own_word() -> None:
    for ends_by_verdict in (True, False):
        peer = await Peer(new_sessions()).attach([SHELL], [hook(HookPoint.POST_TOOL_USE)])
        await peer.dispatch(call("a", "sh"))
        await peer.answer("a")
        await peer.cancel("a")
        (asked,) = peer.of(InvokeHook)
        assert peer.ended_calls() == []
        await peer.send(
            HookVerdict(asked.hook_token, Proceed(), ())
            if ends_by_verdict
            else TeardownComplete(asked.hook_token)
        )
        aborted = peer.aborted("a")
        assert aborted.progress is AbortProgress.HANDLER_FINISHED
        assert aborted.teardown is TeardownState.DONE


@by_hand
async def test_a_result_that_came_first_wins() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await peer.cancel("a")
    assert peer.outcome("a").result == Completed(success=True)
    (result,) = peer.of(CancelResult)
    assert result.calls == ((CallReference("turn", "a"), "already_terminal"),)


@by_hand
async def test_a_cancel_says_call_by_call_what_it_did() -> None:
    peer = await Peer(new_sessions()).attach([tool("read", supports_parallel_calls=True)])
    await peer.dispatch(call("open", "read"), call("ended", "read"))
    await peer.answer("ended")
    await peer.cancel("open", "ended", "never")
    (result,) = peer.of(CancelResult)
    assert [entry.disposition for entry in result.calls] == [
        "accepted",
        "already_terminal",
        "unknown",
    ]


@pytest.mark.parametrize(
    ("target", "hit"),
    [(CancelTarget(turn_id="one"), ["a", "b"]), (CancelTarget(), ["a", "b", "c"])],
    ids=["turn", "all"],
)
@by_hand
async def test_a_turn_or_everything_is_cancelled_before_anyone_is_admitted(
    target: CancelTarget, hit: list[str]
) -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a", turn="one"), call("b", turn="one"), call("c", turn="two"))
    await peer.send(CancelCalls(7, target))
    (result,) = peer.of(CancelResult)
    assert result.cancel_id == 7
    assert [entry.call.call_id for entry in result.calls] == hit
    assert sorted(peer.ended_calls()) == hit
    assert peer.invoked() == (["a", "c"] if len(hit) == 2 else ["a"])


@by_hand
async def test_a_call_that_takes_too_long_is_aborted_as_timed_out() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo", call_timeout_seconds=10)])
    await peer.dispatch(call("a"))
    await peer.dispatch(call("b"), timeout_seconds=2.0)
    await advance(2.1)
    assert peer.aborted("b").message == "timed out after 2.1s"
    assert peer.aborted("b").progress is AbortProgress.NOT_STARTED
    await advance(8)
    assert peer.aborted("a").reason == "timed_out"


@by_hand
async def test_an_ended_call_leaves_no_timer() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo", call_timeout_seconds=10)])
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await advance(20)
    assert peer.outcome("a").result == Completed(success=True)
