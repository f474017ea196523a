"""The agent is answered first, and still nobody finds a call without its record (R2, S3, S4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.errors import DomainError
from sidecall_server.domain.frames import DispatchCall, EndTurn
from sidecall_server.domain.outline import Prompt, PromptOutput
from sidecall_server.domain.recorder import RecordDisposition
from sidecall_server.domain.session_events import CallRecorded, CallStarted, StateChanged
from sidecall_server.domain.session_options import SessionOptions, TurnOptions
from sidecall_server.domain.values import CustomPayload, FunctionPayload, PayloadKind
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions

from tests.runtime.clock import by_hand, settle
from tests.runtime.peer import Peer, call, new_sessions, tool

ECHO = tool("echo", supports_parallel_calls=True)


def dispatch(
    name: str, arguments: str = "{}", turn: str = "turn", options: TurnOptions | None = None
) -> DispatchCall:
    one = call(name, payload=FunctionPayload(arguments), turn=turn)
    return DispatchCall(one, options, None, None, "", len(arguments))


@by_hand
async def test_the_agent_is_asked_before_the_record_is_written() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    held_at_the_write: list[int] = []

    async def write(message: bytes) -> None:
        held_at_the_write.append(peer.sessions.record_bytes)

    await peer.stop_reading()
    serving = asyncio.create_task(peer.connection.serve(write))
    await settle()
    held_at_the_write.clear()
    peer.sequence += 1
    peer.raw(peer.sequence, dispatch("a"))
    await settle()
    assert held_at_the_write == [0]
    assert peer.sessions.record_bytes > 0
    serving.cancel()


@by_hand
async def test_a_turn_that_ends_with_the_message_takes_its_records_along() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.send(dispatch("a"), EndTurn("turn"))
    peer.session.attach(Prompt([]), "sample")
    assert peer.session.recorder.losses.ended_turn_dropped == 1


@by_hand
async def test_a_session_that_closes_still_says_what_was_lost() -> None:
    peer = await Peer(new_sessions(max_record_bytes_total=0)).attach([ECHO])
    told: list[int] = []

    class Closing(Observer):
        def session_closed(self, session: Session) -> None:
            told.append(session.recorder.losses.memory_marked)

    session = peer.session
    session.observer = Closing()
    session.dispatch(dispatch("a"))
    peer.sessions.delete(session.id, "")
    assert told == [1]
    assert peer.sessions.record_bytes == 0


@by_hand
async def test_who_watches_hears_of_the_record_first_and_of_no_earlier_one() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    session = peer.session
    session.dispatch(dispatch("before"))
    watcher = session.watch()
    first_number = watcher.first_number
    session.dispatch(dispatch("a"))
    watcher.close()
    events = [event async for event in watcher]
    kinds = [type(event.event) for event in events if not isinstance(event.event, StateChanged)]
    assert kinds == [CallRecorded, CallStarted]
    assert [event.number for event in events] == [first_number + 1, first_number + 2]


@by_hand
async def test_a_record_says_what_became_of_it_after_those_before_it() -> None:
    session = new_sessions().create("", SessionOptions())
    session.dispatch(dispatch("a"))
    again = session.record_tool_call(dispatch("a").call)
    assert again is RecordDisposition.DUPLICATE


# --- nobody can tell ------------------------------------------------------------------

TURNS = st.sampled_from(["one", "two"])
IDS = st.sampled_from([f"{number}" for number in range(6)])
Step = Callable[[Session], Any]


def _dispatches(turn: str, name: str, size: int, recorded: bool | None) -> Step:
    one = dispatch(f"{turn} {name}", '"' + "x" * size + '"', turn, TurnOptions(recorded))
    return lambda session: session.dispatch(one)


def _records(turn: str, name: str, size: int) -> Step:
    one = call(f"{turn} {name}", payload=CustomPayload("y" * size), turn=turn)
    return lambda session: session.record_tool_call(one)


def _attaches(request: str, turn: str, names: list[str]) -> Step:
    outputs = [PromptOutput(PayloadKind.FUNCTION, f"{turn} {name}", turn, None) for name in names]
    return lambda session: _said(session, outputs, request, turn)


def _said(session: Session, outputs: list[PromptOutput], request: str, turn: str) -> object:
    attachment = session.attach(Prompt(outputs), request, turn)
    return [(item.output_index, item.executed_tool_calls_json) for item in attachment.items]


def _ends(turn: str) -> Step:
    return lambda session: session.recorder.end_turn(turn)


STEPS = st.one_of(
    st.builds(_dispatches, TURNS, IDS, st.integers(0, 30_000), st.sampled_from([None, False])),
    st.builds(_records, TURNS, IDS, st.integers(0, 30_000)),
    st.builds(_attaches, st.sampled_from(["r", "s"]), TURNS, st.lists(IDS, max_size=4)),
    st.builds(_ends, TURNS),
)


async def _done(steps: list[Step], *, watched: bool) -> object:
    """What each step led to, and what the recorder came to."""
    sessions: Sessions = new_sessions(max_record_bytes_total=50_000)
    session = sessions.create("", SessionOptions())
    if watched:  # then each record is written at once
        session.watch()
    said = [_answer(step, session) for step in steps]
    recorder = session.recorder
    return said, recorder.sizes(), recorder.losses, sessions.record_bytes


def _answer(step: Step, session: Session) -> object:
    try:
        return step(session)
    except DomainError as error:
        return error.reason


@given(st.lists(STEPS, max_size=12))
def test_nobody_can_tell_when_a_record_is_written(steps: list[Step]) -> None:
    async def compare() -> None:
        assert await _done(steps, watched=False) == await _done(steps, watched=True)

    by_hand(compare)()
