"""Frames that are ready together travel together, and a lone one waits for nobody."""

from __future__ import annotations

import asyncio
import pickle

from sidecall_server.domain.frames import (
    ClientFrame,
    DispatchCall,
    Envelope,
    Heartbeat,
)
from sidecall_server.domain.values import FunctionPayload
from sidecall_server.runtime.connection import (
    MAX_GATHERED_FRAMES,
    MAX_INBOX_BYTES,
    MAX_INBOX_MESSAGES,
    MAX_INBOX_SECONDS,
)
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions

from tests.runtime.clock import advance, by_hand, settle
from tests.runtime.peer import Peer, call, new_sessions, tool

ECHO = tool("echo", supports_parallel_calls=True)


def dispatch(name: str) -> DispatchCall:
    return DispatchCall(call(name), None, None, None, "", 100)


class Stream:
    """A stream whose reader hands over what is there, one message in a turn of the loop."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._ready: list[ClientFrame] = []
        self._arrived = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        self._sequence = peer.sequence
        self.written: list[int] = []
        """Frames of each message that was written."""

    @classmethod
    async def of(cls, sessions: Sessions) -> Stream:
        """Attached, with a reader of its own."""
        return cls(await Peer(sessions).attach([ECHO]))

    @property
    def session(self) -> Session:
        return self._peer.session

    def arrive(self, *frames: ClientFrame) -> None:
        """Messages of one frame each, ready to be read."""
        self._ready += frames
        self._arrived.set()

    async def turns_until_written(self) -> int:
        """Turns of the event loop until something is written."""
        before = len(self._peer.sequences)
        for turn in range(1, 1000):
            await asyncio.sleep(0)
            if len(self._peer.sequences) > before:
                return turn
        raise AssertionError("nothing was written")

    def invoked(self) -> list[str]:
        return self._peer.invoked()

    @property
    def messages(self) -> int:
        """Numbered messages that were written."""
        return len(self._peer.sequences)

    async def stall(self) -> None:
        """From now on no write comes to its end."""
        begun = asyncio.Event()

        async def write(message: bytes) -> None:
            begun.set()
            await asyncio.Event().wait()

        await self._peer.stop_reading()
        self._peer._reader = asyncio.create_task(self._peer.connection.serve(write))
        self.put(dispatch("stalled"))
        await begun.wait()

    def put(self, *frames: ClientFrame) -> None:
        """One message, as the reader hands it over."""
        self._sequence += 1
        data = [pickle.dumps(frame) for frame in frames]
        envelope = Envelope(self._sequence, self._peer.received, data)
        self._peer.connection.put(pickle.dumps(envelope))

    def hang_up(self) -> None:
        self._peer.connection.hung_up()

    async def lose(self) -> None:
        await self._peer.lose()

    async def _read(self) -> None:
        while True:
            await self._arrived.wait()
            self.put(self._ready.pop(0))
            if not self._ready:
                self._arrived.clear()
            await asyncio.sleep(0)


@by_hand
async def test_what_lies_ready_is_read_before_anything_is_written() -> None:
    stream = await Stream.of(new_sessions())
    stream.arrive(dispatch("a"))
    await settle()
    before = stream.messages
    stream.arrive(*(dispatch(name) for name in "bcdef"))
    await settle()
    assert stream.invoked() == list("abcdef")
    assert stream.messages == before + 1


@by_hand
async def test_a_call_that_is_alone_is_not_held_up() -> None:
    stream = await Stream.of(new_sessions())
    stream.arrive(dispatch("a"))
    assert await stream.turns_until_written() <= 3, "read, handed over, written"


@by_hand
async def test_others_get_their_turn_between_large_messages() -> None:
    stream = await Stream.of(new_sessions())
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(stream.session.open_calls))
        asyncio.get_running_loop().call_soon(turn)

    turn()
    names = [f"{number}" for number in range(3 * MAX_GATHERED_FRAMES)]
    for start in range(0, len(names), MAX_GATHERED_FRAMES):
        stream.put(*map(dispatch, names[start : start + MAX_GATHERED_FRAMES]))
    await settle()
    assert {MAX_GATHERED_FRAMES, 2 * MAX_GATHERED_FRAMES} <= set(turns)
    assert stream.invoked() == names


@by_hand
async def test_gathering_ends_though_messages_never_do() -> None:
    stream = await Stream.of(new_sessions())
    names = [f"{number}" for number in range(3 * MAX_GATHERED_FRAMES)]
    stream.arrive(*map(dispatch, names))
    await stream.turns_until_written()
    assert len(stream.invoked()) <= MAX_GATHERED_FRAMES
    for _ in names:
        await settle()
    assert stream.invoked() == names


@by_hand
async def test_a_write_that_is_not_taken_holds_up_nothing_that_the_agent_says() -> None:
    stream = await Stream.of(new_sessions())
    await stream.stall()
    stream.put(dispatch("late"))
    stream.put(dispatch("later"))
    assert len(stream.session.open_calls) == 1
    await advance(MAX_INBOX_SECONDS)
    assert len(stream.session.open_calls) == 3


@by_hand
async def test_few_messages_lie_untaken_beside_a_write_that_is_not_taken() -> None:
    stream = await Stream.of(new_sessions())
    await stream.stall()
    for number in range(MAX_INBOX_MESSAGES + 3):
        stream.put(dispatch(f"{number}"))
    assert len(stream.session.open_calls) == 1 + 3


@by_hand
async def test_few_bytes_lie_untaken_beside_a_write_that_is_not_taken() -> None:
    stream = await Stream.of(new_sessions())
    await stream.stall()
    stream.put(dispatch("small"))
    assert len(stream.session.open_calls) == 1
    large = call("large", payload=FunctionPayload("x" * MAX_INBOX_BYTES))
    stream.put(DispatchCall(large, None, None, None, "", 100))
    assert len(stream.session.open_calls) == 2
    stream.put(Heartbeat())
    assert len(stream.session.open_calls) == 3


@by_hand
async def test_what_was_read_before_the_agent_hung_up_counts() -> None:
    stream = await Stream.of(new_sessions())
    stream.put(dispatch("last"))
    stream.put(Heartbeat())
    stream.hang_up()
    await settle()
    assert stream.invoked() == ["last"]


@by_hand
async def test_nothing_is_taken_beside_a_write_once_too_much_waits() -> None:
    stream = await Stream.of(new_sessions(max_bytes_in_flight=1000))
    await stream.stall()
    stream.session.outbox.send(b"x" * 2000)
    assert stream.session.outbox.full
    for number in range(MAX_INBOX_MESSAGES + 3):
        stream.put(dispatch(f"{number}"))
    await advance(MAX_INBOX_SECONDS)
    assert len(stream.session.open_calls) == 1


@by_hand
async def test_what_was_not_taken_when_the_connection_broke_is_asked_for_again() -> None:
    stream = await Stream.of(new_sessions())
    await stream.stall()
    known = stream.session.last_sequence_received
    stream.put(dispatch("last"))
    session = stream.session
    await stream.lose()
    assert [reference.call_id for reference in session.open_calls] == ["stalled"]
    assert session.last_sequence_received == known
