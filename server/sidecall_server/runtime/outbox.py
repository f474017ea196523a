"""What a session has to say to its agent: queued, numbered, kept until acknowledged.

Frames wait as values until the writer takes them, so that one that is no longer wanted can
be taken back (S7); outcomes wait as the bytes that they are kept as. Control frames go first;
frames that are ready together travel in one message; a large frame goes in pieces, one per
message, so that it holds up nobody. Numbered messages stay in a byte-bounded ring for a client
that comes back. An agent that does not take what waits is not read (`full`), so that it cannot
make more wait than a bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from sidecall_server.domain.errors import InvalidArgument, Reason
from sidecall_server.domain.frames import (
    CallReference,
    CancelResult,
    Chunk,
    ClientFrame,
    Envelope,
    FrameError,
    InvokeHandler,
    ResumeOutcome,
    ServerFrame,
)

MAX_BACKLOG: Final = 4096
"""Frames that may wait to be written."""

MAX_ANSWERS: Final = 1024
"""Answers that are remembered when the ring has no room for their messages."""

Answer: TypeAlias = CancelResult | FrameError
"""What is said once, and nothing else tells: a gap says it anew."""


class FrameCodec(Protocol):
    """The wire form of frames and messages; ``wire/codec.py`` is the real one."""

    def encode(self, frame: ServerFrame) -> bytes:
        """One frame."""

    def encode_chunk(self, chunk: Chunk) -> bytes:
        """One piece of a frame, as a frame."""

    def decode(self, data: bytes) -> ClientFrame | Chunk:
        """One frame. Raises DomainError for one that cannot be used."""

    def seal(self, envelope: Envelope) -> bytes:
        """A message."""

    def call_of(self, data: bytes) -> CallReference | None:
        """The call that a frame would dispatch, though the rest of it may be unusable."""

    def open(self, data: bytes) -> Envelope:
        """A message. Raises DomainError for one that cannot be read."""


class Outbox:
    """The outgoing side of one session, across its connections."""

    def __init__(
        self,
        codec: FrameCodec,
        *,
        max_replay_bytes: int,
        max_chunk_bytes: int,
        max_waiting_bytes: int,
        memory_is_scarce: Callable[[], bool],
        on_written: Callable[[InvokeHandler], None],
        wake: Callable[[], None],
    ) -> None:
        self._codec = codec
        self._max_replay_bytes = max_replay_bytes
        self._max_chunk_bytes = max_chunk_bytes
        self._max_waiting_bytes = max_waiting_bytes
        self._memory_is_scarce = memory_is_scarce
        self._on_written = on_written
        self._wake = wake
        self._control: deque[ServerFrame | bytes] = deque()
        self._frames: deque[ServerFrame | bytes] = deque()
        self._chunks: deque[bytes] = deque()
        self._transfers = 0
        self._waiting_bytes = 0
        self._ring: deque[_Message] = deque()
        self._answers: deque[tuple[int, Answer]] = deque(maxlen=MAX_ANSWERS)
        """The answers of messages that left the ring unacknowledged."""
        self._ring_bytes = 0
        self.last_sequence = 0
        """The highest sequence given to a message."""
        self.acknowledged = 0
        """The highest sequence the client said it has."""

    def send(self, frame: ServerFrame | bytes, *, control: bool = False) -> None:
        """Queue a frame, or the bytes of one."""
        self._waiting_bytes += _held_bytes(frame)
        (self._control if control else self._frames).append(frame)
        self._wake()

    def withdraw(self, frame: ServerFrame) -> bool:
        """Take back a frame that is not written yet."""
        try:
            self._frames.remove(frame)
        except ValueError:
            return False
        return True

    def waits(self, frame: ServerFrame | bytes) -> bool:
        """Whether the frame is not written yet."""
        return any(waiting is frame for waiting in self._frames)

    @property
    def backlog(self) -> int:
        """Frames and pieces that wait to be written."""
        return len(self._control) + len(self._frames) + len(self._chunks)

    @property
    def held_bytes(self) -> int:
        """Bytes of outcomes that wait, and of messages that may have to be sent again."""
        return self._waiting_bytes + self._ring_bytes

    @property
    def full(self) -> bool:
        """Whether so much waits that nothing more should be asked for."""
        return (
            self.backlog > MAX_BACKLOG
            or self._waiting_bytes > self._max_waiting_bytes
            or (self._waiting_bytes > 0 and self._memory_is_scarce())
        )

    @property
    def has_room(self) -> bool:
        """Whether what once was full has emptied enough."""
        return not self.full and (
            self.backlog < MAX_BACKLOG // 2 and self._waiting_bytes <= self._max_waiting_bytes // 2
        )

    def clear(self) -> None:
        """Forget everything: nobody comes back for it."""
        for waiting in (self._control, self._frames, self._chunks, self._ring, self._answers):
            waiting.clear()
        self._waiting_bytes = self._ring_bytes = 0

    def next_message(self, acknowledged: int) -> tuple[int, bytes] | None:
        """The next numbered message; None when nothing waits."""
        frames: list[bytes] = []
        answers: list[Answer] = []
        room = self._max_chunk_bytes
        while self._control and room > 0:
            frame = self._control.popleft()
            if isinstance(frame, Answer):
                answers.append(frame)
            room -= self._put(frame, frames)
        while self._frames and room > 0:
            frame = self._frames.popleft()
            if type(frame) is InvokeHandler:
                self._on_written(frame)
            room -= self._put(frame, frames)
        if self._chunks:
            piece = self._chunks.popleft()
            self._waiting_bytes -= len(piece)
            frames.append(piece)
        if not frames:
            return None
        self.last_sequence += 1
        message = self._codec.seal(Envelope(self.last_sequence, acknowledged, frames))
        self._keep(_Message(self.last_sequence, message, tuple(answers)))
        return self.last_sequence, message

    def require_sent(self, sequence: int) -> None:
        """Check what a client says it has.

        Raises:
            InvalidArgument: nothing of that number was sent (ACKNOWLEDGEMENT_OUT_OF_RANGE).
        """
        if sequence > self.last_sequence:
            raise InvalidArgument(
                f"acknowledged {sequence}, but only {self.last_sequence} was sent",
                reason=Reason.ACKNOWLEDGEMENT_OUT_OF_RANGE,
            )

    def acknowledge(self, sequence: int) -> None:
        """Forget what the client has.

        Raises:
            InvalidArgument: nothing of that number was sent (ACKNOWLEDGEMENT_OUT_OF_RANGE).
        """
        self.require_sent(sequence)
        if sequence <= self.acknowledged:
            return
        self.acknowledged = sequence
        while self._ring and self._ring[0].sequence <= sequence:
            self._ring_bytes -= len(self._ring.popleft().data)
        while self._answers and self._answers[0][0] <= sequence:
            self._answers.popleft()

    def resume(self, last_received: int) -> tuple[ResumeOutcome, list[bytes]]:
        """What a client that has seen so much has to get again.

        Raises:
            InvalidArgument: it claims to have seen what was never sent.
        """
        self.acknowledge(last_received)
        first = self._ring[0].sequence if self._ring else self.last_sequence + 1
        if first > last_received + 1:
            while self._ring:
                self._drop_oldest()
            self._control.extendleft(frame for _, frame in reversed(self._answers))
            self._answers.clear()
            self._waiting_bytes -= sum(map(len, self._chunks))
            self._chunks.clear()
            return ResumeOutcome.GAP, []
        return ResumeOutcome.RESUMED, [message.data for message in self._ring]

    def _put(self, frame: ServerFrame | bytes, frames: list[bytes]) -> int:
        data = frame if isinstance(frame, bytes) else self._codec.encode(frame)
        self._waiting_bytes -= _held_bytes(frame)
        if len(data) <= self._max_chunk_bytes:
            frames.append(data)
            return len(data)
        self._transfers += 1
        view = memoryview(data)
        for start in range(0, len(data), self._max_chunk_bytes):
            piece = bytes(view[start : start + self._max_chunk_bytes])
            chunk = self._codec.encode_chunk(Chunk(self._transfers, len(data), piece))
            self._waiting_bytes += len(chunk)
            self._chunks.append(chunk)
        return 0

    def _keep(self, message: _Message) -> None:
        self._ring.append(message)
        self._ring_bytes += len(message.data)
        limit = 0 if self._memory_is_scarce() else self._max_replay_bytes
        while self._ring_bytes > limit:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        message = self._ring.popleft()
        self._ring_bytes -= len(message.data)
        self._answers.extend((message.sequence, frame) for frame in message.answers)


class _Message(NamedTuple):
    """A numbered message that may have to be sent again, and the answers in it."""

    sequence: int
    data: bytes
    answers: tuple[Answer, ...]


def _held_bytes(frame: ServerFrame | bytes) -> int:
    """What a waiting frame keeps in memory, where it is not counted with its call."""
    return len(frame) if isinstance(frame, bytes) else 0
