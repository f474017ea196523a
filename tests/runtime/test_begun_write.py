"""The answer to a lone call begins to be written in the turn in which the call is read."""

from __future__ import annotations

import asyncio

import pytest
from sidecall_server.domain.frames import CancelTarget, DispatchCall, Heartbeat
from sidecall_server.runtime.begun_write import BegunWrite

from tests.runtime.clock import by_hand, settle
from tests.runtime.peer import Peer, call, new_sessions, tool


class Writes:
    """The writes of a connection, which end when the test says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.ends: asyncio.Future[None] | None = None

    async def write(self, message: bytes) -> None:
        assert self.ends is None, "one write at a time"
        self.begun += 1
        self.ends = asyncio.get_running_loop().create_future()
        try:
            await self.ends
        finally:
            self.ends = None
        self.ended += 1

    async def end(self, error: Exception | None = None) -> None:
        assert self.ends is not None, "something is being written"
        if error is None:
            self.ends.set_result(None)
        else:
            self.ends.set_exception(error)
        await settle()


class LoneAgent:
    """An attached agent, and the writes of its connection."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.writes = Writes()
        self.serving = asyncio.create_task(peer.connection.serve(self.writes.write))
        peer._reader = self.serving

    @classmethod
    async def of(cls) -> LoneAgent:
        peer = await Peer(new_sessions()).attach([tool("echo", supports_parallel_calls=True)])
        await peer.stop_reading()
        agent = cls(peer)
        await settle()
        return agent

    def dispatch(self, name: str) -> None:
        sequence = self.peer.session.last_sequence_received + 1
        self.peer.raw(sequence, DispatchCall(call(name), None, None, None, "", 100))


@by_hand
async def test_the_answer_to_a_lone_call_begins_before_anything_else_runs() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    assert agent.writes.begun == 1
    await agent.writes.end()
    assert agent.writes.ended == 1
    assert not agent.serving.done()


@by_hand
async def test_what_is_to_be_said_meanwhile_is_written_after_it_not_beside_it() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    agent.dispatch("b")
    await settle()
    assert agent.writes.begun == 1
    await agent.writes.end()
    assert agent.writes.begun == 2
    await agent.writes.end()
    assert agent.writes.ended == 2


@by_hand
async def test_a_call_that_meets_another_waits_to_be_answered_with_it() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    await agent.writes.end()
    agent.dispatch("b")
    assert agent.writes.begun == 1
    await settle()
    assert agent.writes.begun == 2


@by_hand
async def test_a_message_that_leads_to_nothing_leaves_the_writer_asleep() -> None:
    agent = await LoneAgent.of()
    agent.peer.raw(0, Heartbeat())
    await settle()
    assert agent.writes.begun == 0
    agent.dispatch("a")
    assert agent.writes.begun == 1


@by_hand
async def test_a_write_that_fails_ends_the_stream_with_its_error() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    await agent.writes.end(ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        await agent.serving


@by_hand
async def test_an_agent_that_hangs_up_during_the_write_gets_it_to_its_end() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    agent.peer.connection.hung_up()
    await settle()
    assert not agent.serving.done()
    await agent.writes.end()
    assert agent.writes.ended == 1
    assert agent.serving.done()


@by_hand
async def test_an_agent_that_hangs_up_behind_its_last_message_is_answered_first() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    await agent.writes.end()
    agent.dispatch("b")  # two are open: the writer takes this one up
    agent.peer.connection.hung_up()
    await settle()
    await agent.writes.end()
    assert agent.writes.ended == 2
    assert agent.serving.done()


@by_hand
async def test_a_write_is_dropped_with_its_connection() -> None:
    agent = await LoneAgent.of()
    agent.dispatch("a")
    future = agent.writes.ends
    assert future is not None
    agent.serving.cancel()
    agent.peer.connection.closed()
    await settle()
    assert agent.writes.ended == 0
    assert future.cancelled(), "so that nobody sets an error which nobody hears"
    agent.peer.connection.put(b"too late")


async def test_a_write_that_waits_for_nothing_has_ended_when_it_was_begun() -> None:
    ends: list[BaseException | None] = []

    async def write() -> None:
        pass

    BegunWrite(write(), ends.append)
    assert ends == [None]


async def test_a_write_may_wait_for_the_next_turn() -> None:
    ends: list[BaseException | None] = []

    async def write() -> None:
        await asyncio.sleep(0)

    BegunWrite(write(), ends.append)
    assert ends == []
    await settle()
    assert ends == [None]


async def test_a_write_goes_on_with_each_future_that_it_waits_for() -> None:
    ends: list[BaseException | None] = []
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(3)]

    async def write() -> None:
        for future in futures:
            await future

    BegunWrite(write(), ends.append)
    for future in futures:
        assert ends == []
        future.set_result(None)
        await settle()
    assert ends == [None]


@by_hand
async def test_answers_that_are_taken_at_once_follow_each_other() -> None:
    agent = await LoneAgent.of()
    agent.serving.cancel()
    written: list[bytes] = []

    async def take(message: bytes) -> None:
        written.append(message)

    agent.serving = agent.peer._reader = asyncio.create_task(agent.peer.connection.serve(take))
    await settle()
    agent.dispatch("a")
    assert len(written) == 1
    agent.peer.session.cancel(CancelTarget(turn_id="turn"))
    await settle()
    before = len(written)
    agent.dispatch("b")
    assert len(written) == before + 1
