"""Watchers: in order, never in the way, and told what they lost (H, R1)."""

from __future__ import annotations

import asyncio

from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.frames import Block, FatalError, RespondToModel
from sidecall_server.domain.prompt_description import Prompt, PromptOutput
from sidecall_server.domain.session_events import (
    CallFinished,
    CallRecorded,
    CallsAttached,
    CallStarted,
    EventsLost,
    StateChanged,
)
from sidecall_server.domain.values import PayloadKind
from sidecall_server.runtime.events import Watcher

from tests.runtime.clock import by_hand, settle
from tests.runtime.peer import Peer, call, hook, new_sessions, tool

ECHO = tool("echo", supports_parallel_calls=True)


async def seen(watcher: Watcher) -> list[object]:
    """What a watcher has seen so far; it stops watching."""
    watcher.close()
    return [event.event async for event in watcher]


@by_hand
async def test_a_call_is_recorded_starts_and_finishes_in_this_order() -> None:
    peer = await Peer(new_sessions()).attach([ECHO], [hook(HookPoint.PRE_TOOL_USE, "echo")])
    watcher = peer.session.watch()
    await peer.dispatch(call("a"))
    await peer.judge("a")
    await peer.answer("a")
    kinds = [type(event) for event in await seen(watcher)]
    assert kinds == [CallRecorded, CallStarted, CallFinished]


@by_hand
async def test_each_end_has_its_own_finish() -> None:
    peer = await Peer(new_sessions()).attach(
        [ECHO, tool("guarded")], [hook(HookPoint.PRE_TOOL_USE, "guarded")]
    )
    watcher = peer.session.watch()
    ids = ["completed", "failed", "aborted", "blocked", "fatal"]
    for name in ids:
        await peer.dispatch(call(name, "guarded" if name == "blocked" else "echo"))
    await peer.answer("completed")
    await peer.answer("failed", RespondToModel("sorry"))
    await peer.cancel("aborted")
    await peer.judge("blocked", Block("no"))
    await peer.answer("fatal", FatalError("over"))
    finished = [event for event in await seen(watcher) if isinstance(event, CallFinished)]
    assert [(event.call.call_id, str(event.outcome.lifecycle)) for event in finished] == [
        ("completed", "completed"),
        ("failed", "failed"),
        ("aborted", "aborted"),
        ("blocked", "blocked"),
        ("fatal", "failed"),
    ]


@by_hand
async def test_attachments_and_states_are_told() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    watcher = peer.session.watch()
    await peer.dispatch(call("a"))
    peer.session.attach(Prompt([PromptOutput(PayloadKind.FUNCTION, "a", "turn", None)]), "sample")
    await peer.lose()
    kinds = [type(event) for event in await seen(watcher)]
    assert kinds == [CallRecorded, CallStarted, CallsAttached, StateChanged]


@by_hand
async def test_a_slow_watcher_is_told_how_many_it_lost_and_slows_nobody() -> None:
    peer = await Peer(new_sessions(max_watcher_events=2)).attach([ECHO])
    slow, fast = peer.session.watch(), peer.session.watch()
    numbers: list[int] = []

    async def read() -> None:
        numbers.extend([event.number - fast.first_number async for event in fast])

    reader = asyncio.create_task(read())
    await settle()
    for number in range(3):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}")
    assert peer.ended_calls() == ["0", "1", "2"]
    first = [await anext(slow), await anext(slow)]
    assert [event.number - slow.first_number for event in first] == [1, 2]
    lost = await anext(slow)
    assert lost.event == EventsLost(7)
    await peer.dispatch(call("later"))
    assert [type(event) for event in await seen(slow)] == [CallRecorded, CallStarted]
    fast.close()
    await reader
    assert numbers == list(range(1, 12))


@by_hand
async def test_a_watch_of_a_closed_session_ends() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    session = peer.session
    watcher = session.watch()
    sessions.delete(session.id)
    assert [type(event.event) async for event in watcher] == [StateChanged]
    assert [event async for event in session.watch()] == []
