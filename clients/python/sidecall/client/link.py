"""The agent's side of a session's stream, across its connections: sans-io.

Counts, acknowledges, batches and chunks what goes out; drops what was seen, and puts pieces
together, of what comes in. Owns no socket and no clock.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sidecall.v1 import runtime_stream_pb2 as pb

ACKNOWLEDGE_AFTER_MESSAGES = 64
"""Messages read before they are acknowledged, where nothing else is to be said."""

ACKNOWLEDGE_AFTER_BYTES = 1 << 20
"""Likewise, by their size: the server keeps them until then."""

MAX_FRAMES_PER_MESSAGE = 1024
"""Frames that travel together; the server takes no message of very many."""


class Place:
    """Where a frame was sent, so that a FrameError finds whom it concerns; in pieces, many."""

    __slots__ = ("_spots",)

    def __init__(self) -> None:
        self._spots: set[tuple[int, int]] = set()

    def put(self, sequence: int, index: int) -> None:
        """The frame, or a piece of it, is at this index of the message."""
        self._spots.add((sequence, index))

    def covered_by(self, error: pb.FrameError) -> bool:
        """Whether the error is about the frame, or about a whole message that holds it."""
        if error.HasField("frame_index"):
            return (error.sequence, error.frame_index) in self._spots
        return any(sequence == error.sequence for sequence, _ in self._spots)


class Link:
    """One session's stream."""

    def __init__(self) -> None:
        self.last_sequence = 0
        """The highest sequence given to a message."""
        self.last_received = 0
        """The highest sequence seen from the server."""
        self.max_frame_bytes = 0
        """The largest frame that the server takes."""
        self._frames: deque[_Waiting] = deque()
        self._pieces: deque[_Waiting] = deque()
        self._unacknowledged: deque[pb.ConnectRequest] = deque()
        self._again: deque[pb.ConnectRequest] = deque()
        self._transfers = 0
        self._incoming = _Transfer(0, bytearray())
        self._unsaid_messages = 0
        self._unsaid_bytes = 0
        self._max_chunk_bytes = 0
        self._max_message_bytes = 0

    # --- out --------------------------------------------------------------------------

    def send(self, frame: pb.ClientFrame, place: Place | None = None) -> None:
        """Queue a frame; it goes out with `next_message`, and again if it gets lost."""
        self._frames.extend(self._cut(frame, place))

    def answer(self, frame: pb.ClientFrame, place: Place | None = None) -> None:
        """Queue the answer of a handler or hook: it stands alone, so that others may pass it
        where it goes in pieces."""
        cut = self._cut(frame, place)
        (self._frames if len(cut) == 1 else self._pieces).extend(cut)

    def next_message(self) -> pb.ConnectRequest | None:
        """The next message to write: frames that wait, or an acknowledgement that is due."""
        if self._again:
            message = self._again.popleft()
            message.acknowledged = self.last_received
            return message
        message = pb.ConnectRequest(sequence=self.last_sequence + 1)
        room = self._max_message_bytes
        while (
            self._frames
            and self._frames[0].size <= room
            and len(message.frames) < MAX_FRAMES_PER_MESSAGE
        ):
            room -= self._put(self._frames.popleft(), message)
        if self._pieces and (self._pieces[0].size <= room or not message.frames):
            self._put(self._pieces.popleft(), message)
        if message.frames:
            self.last_sequence = message.sequence
            self._unacknowledged.append(message)
        elif self._acknowledgement_due:
            message.sequence = 0
        else:
            return None
        message.acknowledged = self.last_received
        self._unsaid_messages = self._unsaid_bytes = 0
        return message

    def heartbeat(self) -> pb.ConnectRequest:
        """A message that only says: I am here."""
        self._unsaid_messages = self._unsaid_bytes = 0
        return pb.ConnectRequest(
            acknowledged=self.last_received,
            frames=[pb.ClientFrame(heartbeat=pb.Heartbeat())],
        )

    @property
    def unacknowledged(self) -> int:
        """Messages that the server has not acknowledged, and frames that still wait."""
        return len(self._unacknowledged) + len(self._frames) + len(self._pieces)

    @property
    def incoming_bytes(self) -> int:
        """Bytes of a frame that has not come whole."""
        return len(self._incoming.data)

    # --- in ---------------------------------------------------------------------------

    def welcomed(self, welcome: pb.Welcome) -> None:
        """A connection begins: send again what the server has not seen."""
        self._max_chunk_bytes = welcome.max_chunk_bytes
        self._max_message_bytes = welcome.max_message_bytes - _MESSAGE_OVERHEAD_BYTES
        self.max_frame_bytes = welcome.max_frame_bytes
        self._acknowledge(welcome.last_sequence_received)
        self._again = deque(self._unacknowledged)
        if welcome.resume_outcome == pb.RESUME_OUTCOME_GAP:
            self.last_received = welcome.next_sequence - 1
            self._incoming = _Transfer(0, bytearray())

    def receive(self, message: pb.ConnectResponse) -> list[pb.ServerFrame]:
        """The frames of a message that is new; none of one that was seen."""
        self._acknowledge(message.acknowledged)
        if message.sequence:
            if message.sequence <= self.last_received:
                return []
            self.last_received = message.sequence
            self._unsaid_messages += 1
            self._unsaid_bytes += message.ByteSize()
        frames = []
        for frame in message.frames:
            if frame.WhichOneof("frame") != "output_chunk":
                frames.append(frame)
            elif (whole := self._put_together(frame.output_chunk)) is not None:
                frames.append(whole)
        return frames

    # --- details ----------------------------------------------------------------------

    @property
    def _acknowledgement_due(self) -> bool:
        return (
            self._unsaid_messages >= ACKNOWLEDGE_AFTER_MESSAGES
            or self._unsaid_bytes >= ACKNOWLEDGE_AFTER_BYTES
        )

    def _put(self, waiting: _Waiting, message: pb.ConnectRequest) -> int:
        if waiting.place is not None:
            waiting.place.put(message.sequence, len(message.frames))
        message.frames.append(waiting.frame)
        return waiting.size

    def _cut(self, frame: pb.ClientFrame, place: Place | None) -> list[_Waiting]:
        """The frame, or its pieces where it is large."""
        size = frame.ByteSize()
        if size <= self._max_chunk_bytes:
            return [_Waiting(frame, size + _FRAME_OVERHEAD_BYTES, place)]
        self._transfers += 1
        data = frame.SerializeToString()
        pieces = []
        for start in range(0, size, self._max_chunk_bytes):
            piece = pb.OutputChunk(
                transfer_id=self._transfers,
                size_bytes=size,
                data=data[start : start + self._max_chunk_bytes],
            )
            taken = len(piece.data) + _FRAME_OVERHEAD_BYTES + _PIECE_OVERHEAD_BYTES
            pieces.append(_Waiting(pb.ClientFrame(output_chunk=piece), taken, place))
        return pieces

    def _put_together(self, chunk: pb.OutputChunk) -> pb.ServerFrame | None:
        if chunk.transfer_id != self._incoming.transfer_id:
            # One transfer comes after the other: what is not whole by now was given up.
            self._incoming = _Transfer(chunk.transfer_id, bytearray())
        data = self._incoming.data
        data += chunk.data
        if len(data) < chunk.size_bytes:
            return None
        self._incoming = _Transfer(0, bytearray())
        return pb.ServerFrame.FromString(bytes(data))

    def _acknowledge(self, sequence: int) -> None:
        while self._unacknowledged and self._unacknowledged[0].sequence <= sequence:
            self._unacknowledged.popleft()


class _Transfer(NamedTuple):
    """A frame of the server that comes in pieces; id 0: none is under way."""

    transfer_id: int
    data: bytearray


class _Waiting(NamedTuple):
    """A frame, or a piece of one, that waits to be sent; `size` in its message."""

    frame: pb.ClientFrame
    size: int
    place: Place | None


_FRAME_OVERHEAD_BYTES = 8
_PIECE_OVERHEAD_BYTES = 32
_MESSAGE_OVERHEAD_BYTES = 64
