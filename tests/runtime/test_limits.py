"""Limits: what is refused is an error with a reason, and nothing else is touched."""

from __future__ import annotations

import pytest
from sidecall_server.domain.errors import Reason, ResourceExhausted
from sidecall_server.domain.frames import FrameError, UpdateTools
from sidecall_server.domain.recorder import PromptOutput
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.domain.values import FunctionPayload, PayloadKind

from tests.runtime.clock import by_hand, settle
from tests.runtime.peer import Peer, call, new_sessions, text_output, tool

ECHO = tool("echo", supports_parallel_calls=True)


@pytest.mark.parametrize(
    ("limits", "options", "subject"),
    [
        ({"max_calls_in_flight": 2}, {}, "CALL_LIMIT"),
        ({"max_calls_in_flight_total": 2}, {}, "CALL_LIMIT"),
        ({"max_bytes_in_flight": 250}, {"size_bytes": 100}, "BUFFER_LIMIT"),
    ],
)
@by_hand
async def test_calls_beyond_a_limit_are_refused_until_one_ends(
    limits: dict[str, int], options: dict[str, int], subject: str
) -> None:
    peer = await Peer(new_sessions(**limits)).attach([ECHO])
    await peer.dispatch(call("a"), call("b"), call("c"), **options)
    assert [error.reason for error in peer.of(FrameError)] == [subject]
    await peer.answer("a")
    await peer.dispatch(call("c"), **options)
    assert peer.invoked() == ["a", "b", "c"]


@by_hand
async def test_sessions_beyond_the_limit_are_refused_until_one_ends() -> None:
    sessions = new_sessions(max_sessions=1)
    sessions.create("a", SessionOptions())
    with pytest.raises(ResourceExhausted) as refused:
        sessions.create("b", SessionOptions())
    assert refused.value.reason is Reason.SESSION_LIMIT
    assert refused.value.retry_after_seconds
    sessions.delete("a")
    sessions.create("b", SessionOptions())


@by_hand
async def test_watchers_beyond_the_limit_are_refused() -> None:
    session = new_sessions(max_watchers=1).create("a", SessionOptions())
    watcher = session.watch()
    with pytest.raises(ResourceExhausted):
        session.watch()
    watcher.close()
    session.watch()


@by_hand
async def test_tools_beyond_the_limit_are_refused_and_change_nothing() -> None:
    peer = await Peer(new_sessions(max_declarations=2)).attach([ECHO])
    await peer.send(UpdateTools((tool("b"), tool("c")), (), None))
    assert peer.of(FrameError)[0].reason is Reason.TOOL_LIMIT
    assert list(peer.session.tools) == [ECHO.tool_name]


@by_hand
async def test_ended_calls_are_kept_within_bounds_of_number_and_bytes() -> None:
    peer = await Peer(new_sessions(max_retained_calls=3, max_retained_bytes=25)).attach([ECHO])
    for number in range(5):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}")  # 10 bytes each
    assert [one.reference.call_id for one in peer.session.calls()] == ["3", "4"]


@by_hand
async def test_records_beyond_the_bytes_of_all_sessions_keep_name_and_size() -> None:
    sessions = new_sessions(max_record_bytes_total=3000)
    outputs = [PromptOutput(PayloadKind.FUNCTION, name, "turn", None) for name in "abc"]
    peer = await Peer(sessions).attach([ECHO])
    other = await Peer(sessions).attach([ECHO])
    large = FunctionPayload('{"x":"' + "x" * 2000 + '"}')
    await peer.dispatch(call("a", payload=large))
    await other.dispatch(call("a", payload=large), call("b"))
    kept = [item.executed_tool_calls_json for item in peer.session.attach(outputs, "s").items]
    marked = [item.executed_tool_calls_json for item in other.session.attach(outputs, "s").items]
    assert b"xxx" in kept[0]
    assert b'"original_bytes":2008,"max_bytes":0' in marked[0]
    assert sessions.record_bytes <= 3000
    sessions.delete(peer.session.id)
    sessions.delete(other.session.id)
    assert sessions.record_bytes == 0


@by_hand
async def test_an_agent_that_does_not_read_is_not_read() -> None:
    import asyncio

    from sidecall_server.runtime.connection import MAX_BACKLOG

    peer = await Peer(new_sessions(max_calls_in_flight=10_000)).attach([ECHO])
    await peer.stop_reading()
    names = [f"{number}" for number in range(MAX_BACKLOG + 1)]
    await peer.dispatch(*(call(name) for name in names))
    reading = asyncio.create_task(peer.connection.ready_to_read())
    await settle()
    assert not reading.done()
    peer._reader = asyncio.create_task(peer._read(peer.connection))
    await reading
    while len(peer.invoked()) < len(names):
        await settle()
    assert peer.invoked() == names


@by_hand
async def test_an_ended_result_does_not_count_as_open_bytes() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=250)).attach([ECHO])
    for number in range(10):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}", text_output())
    assert not peer.of(FrameError)
