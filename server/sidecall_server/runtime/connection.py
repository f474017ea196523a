"""One stream between an agent and its session: when what is read is taken, and what is written.

`put` takes a message and never waits; `serve` hands it to the protocol and writes what it led
to. Where nothing else is under way `put` does both itself, and `serve` sleeps on. What messages
mean stands in `runtime/protocol.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sidecall_server.runtime.begun_write import BegunWrite
from sidecall_server.runtime.clock import clock_of
from sidecall_server.runtime.outbox import FrameCodec
from sidecall_server.runtime.protocol import StreamProtocol

if TYPE_CHECKING:
    from sidecall_server.runtime.sessions import Sessions

MAX_GATHERED_FRAMES: Final = 64
"""Frames that are handled before what they led to is written, and before other agents get their
turn; one message may go beyond it."""

MAX_INBOX_MESSAGES: Final = 16
MAX_INBOX_BYTES: Final = 1 << 20
"""What lies untaken beside a write that does not end; one message may go beyond it."""

MAX_INBOX_SECONDS: Final = 0.01
"""How long it lies there, at most."""


Write: TypeAlias = Callable[[bytes], Coroutine[Any, Any, None]]


class Connection:
    """What stands between a stream's reads and writes, and its protocol."""

    def __init__(
        self,
        sessions: Sessions,
        owner: str,
        codec: FrameCodec,
        *,
        abandon: Callable[[], object],
        gather_turns: int,
    ) -> None:
        """`abandon` breaks off a write that the other side will not take. `gather_turns`: turns
        of the event loop in which a message that lies ready comes to `put`."""
        self._loop = asyncio.get_running_loop()
        self._clock = clock_of(self._loop)
        self._protocol = StreamProtocol(sessions, owner, codec, wake=self._wake, clock=self._clock)
        self._limits = sessions.limits
        self._abandon = abandon
        self._gather_turns = gather_turns
        self._look_again = False
        """Whether there may be something to write that `serve` has not seen."""
        self._sleeping: asyncio.Future[None] | None = None
        """Done once `serve` has something to do."""
        self._reader: asyncio.Future[None] | None = None
        """Done once there is room for what it reads; None: it does not wait."""
        self._inbox: deque[bytes] = deque()
        """Messages that were read and not taken yet."""
        self._inbox_bytes = 0
        self._overdue: asyncio.TimerHandle | None = None
        self._answering = False
        self._taken_frames = 0
        """Frames that `put` has taken, and `serve` is to answer."""
        self._hung_up = False
        self._write: Write | None = None
        self._unwritten: deque[bytes] = deque()
        self._begun: BegunWrite | None = None
        """The write that goes on while `serve` sleeps."""
        self._writing_since: float | None = None
        self._timer = self._loop.call_later(self._tick_seconds, self._tick)

    # --- reading ----------------------------------------------------------------------

    def put(self, message: bytes) -> None:
        """Take one message from the agent, soon.

        `serve` does, while the next one is being read, and writes what several of them led to
        together. A write that the agent does not take holds up nothing that it says.
        """
        if self._idle:
            self._answer(message)
            return
        self._inbox.append(message)
        self._inbox_bytes += len(message)
        self._rouse()
        if self._writing_since is None:
            return
        if len(self._inbox) > MAX_INBOX_MESSAGES or self._inbox_bytes > MAX_INBOX_BYTES:
            self._take_beside_write()
        elif self._overdue is None:
            self._overdue = self._loop.call_later(MAX_INBOX_SECONDS, self._take_overdue)

    @property
    def full(self) -> bool:
        """Whether too much waits to be written: an agent that does not read is not read."""
        return self._protocol.full

    async def room(self) -> None:
        """Wait until there is room for what is read next, or the stream has ended."""
        self._reader = self._loop.create_future()
        await self._reader

    def hung_up(self) -> None:
        """The agent sends nothing more; what it sent is taken, then the stream ends."""
        self._hung_up = True
        self._wake()

    def closed(self) -> None:
        """The stream is gone; without Detach that is a lost connection.

        What was read and not taken is lost with it: an agent that comes back sends it again.
        """
        self._timer.cancel()
        if self._overdue is not None:
            self._overdue.cancel()
        self._inbox.clear()
        if self._begun is not None:
            self._begun.abandon()
        self._protocol.lost()

    # --- writing ----------------------------------------------------------------------

    async def serve(self, write: Write) -> None:
        """Write what there is to say, as it comes. Ends after Detach.

        Raises:
            DomainError: why the stream has to end.
        """
        protocol = self._protocol
        self._write = write
        while True:
            handled, self._taken_frames = self._taken_frames, 0
            if self._inbox:
                handled += self._take_next()
            if handled:
                if self._inbox or not protocol.alone:
                    await self._gather(handled)
            elif self._hung_up:
                protocol.end(None)
            self._look_again = False
            self._unwritten.extend(protocol.next_messages())
            if self._reader is not None and protocol.has_room:
                self._read_on()
            while self._unwritten:
                self._writing_since = self._clock()
                await write(self._unwritten.popleft())
            self._writing_since = None
            if self._look_again or self._inbox or (self._hung_up and not protocol.ended):
                continue
            if protocol.error is not None:
                raise protocol.error
            if protocol.ended:
                return
            self._sleeping = self._loop.create_future()
            await self._sleeping

    # --- details ----------------------------------------------------------------------

    def _wake(self) -> None:
        """There is something to write, or the stream has ended."""
        self._look_again = True
        self._rouse()
        if self._protocol.ended:
            self._read_on()

    def _read_on(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    def _rouse(self) -> None:
        """Let `serve` look at its inbox, and at what there is to write."""
        if self._begun is not None or self._answering:
            return  # `serve` would find nothing to do
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    @property
    def _idle(self) -> bool:
        """Whether `serve` sleeps, and one call at most is open."""
        return (
            self._begun is None
            and self._sleeping is not None
            and not self._sleeping.done()
            and self._protocol.alone
        )

    def _answer(self, message: bytes) -> None:
        """Take the message, and begin to write what it led to; `serve` does where calls meet."""
        protocol = self._protocol
        self._answering = True
        protocol.count_later()
        try:
            handled = protocol.receive(message)
            if protocol.alone:
                self._look_again = False
                self._unwritten.extend(protocol.next_messages())
            else:
                self._taken_frames = handled
            self._answering = False
            self._begin_to_write()
        finally:
            self._answering = False
            protocol.count()

    def _begin_to_write(self) -> None:
        if self._unwritten and self._write is not None:
            self._writing_since = self._clock()
            write = self._write(self._unwritten.popleft())
            begun = BegunWrite(write, self._answered)
            if not begun.ended:
                self._begun = begun
        elif self._look_again or self._taken_frames or self._protocol.ended:
            self._rouse()

    def _answered(self, error: BaseException | None) -> None:
        """The write has ended. What else there is to do `serve` does."""
        self._begun = self._writing_since = None
        if error is not None and self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_exception(error)
        elif (
            self._unwritten
            or self._inbox
            or self._look_again
            or self._protocol.ended
            or self._reader is not None
        ):
            self._rouse()

    def _take_next(self) -> int:
        """Take the next message; returns how many frames were in it, 1 where it has none."""
        message = self._inbox.popleft()
        self._inbox_bytes -= len(message)
        return self._protocol.receive(message)

    def _take_beside_write(self) -> bool:
        """Take one message while a write does not end, if there is room for what it leads to."""
        if self._writing_since is None or not self._inbox or self._protocol.full:
            return False
        self._take_next()
        return True

    def _take_overdue(self) -> None:
        """Once in `MAX_INBOX_SECONDS` at most, whoever took what came meanwhile."""
        self._overdue = None
        if self._take_beside_write():
            self._overdue = self._loop.call_later(0, self._take_overdue)

    async def _gather(self, handled: int) -> None:
        """Take what came and what lies ready to be read; `handled` frames are."""
        turns = self._gather_turns
        while handled < MAX_GATHERED_FRAMES:
            if self._inbox:
                handled += self._take_next()
                turns = self._gather_turns
            elif turns and not self._protocol.alone:
                turns -= 1
                await asyncio.sleep(0)
            else:
                return
        await asyncio.sleep(0)

    @property
    def _tick_seconds(self) -> float:
        limits = self._limits
        return min(limits.heartbeat_interval_seconds, limits.heartbeat_timeout_seconds) / 2

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._tick_seconds, self._tick)
        since, timeout = self._writing_since, self._limits.heartbeat_timeout_seconds
        if since is not None and self._clock() - since > timeout:
            self._abandon()
        else:
            self._protocol.tick()
