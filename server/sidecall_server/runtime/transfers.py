"""Large frames in pieces: put together within bounds, pieces of several interleaved."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sidecall_server.domain.errors import DomainError, InvalidArgument, Reason, ResourceExhausted
from sidecall_server.domain.frames import Chunk

MAX_OPEN: Final = 64
"""Transfers of one session that may be under way."""


class Transfers:
    """The transfers of one session that are under way; at most `MAX_OPEN` at a time."""

    def __init__(
        self,
        *,
        max_frame_bytes: int,
        max_chunk_bytes: int,
        max_bytes: int,
        make_room: Callable[[int], None],
    ) -> None:
        """`make_room` raises ResourceExhausted where all sessions together hold too much."""
        self._max_frame_bytes = max_frame_bytes
        self._max_chunk_bytes = max_chunk_bytes
        self._max_bytes = max_bytes
        self._make_room = make_room
        self._open: OrderedDict[int, bytearray] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._refused: OrderedDict[int, int] = OrderedDict()
        """What is still to come of transfers that were refused, bytes."""
        self.held_bytes = 0

    def add(self, chunk: Chunk) -> bytes | None:
        """Take a piece; the whole frame when it is complete.

        A piece that does not fit ends its transfer: the rest of it is dropped without a word.

        Raises:
            InvalidArgument: an empty, too large or overlong piece, or another size than before.
            ResourceExhausted: the frame is larger than a frame may be (MESSAGE_TOO_LARGE), or
                too much is under way (BUFFER_LIMIT).
        """
        if self._is_of_refused(chunk):
            return None
        self._check(chunk)
        parts = self._open.setdefault(chunk.transfer_id, bytearray())
        self._sizes[chunk.transfer_id] = chunk.size_bytes
        parts += chunk.data
        self.held_bytes += len(chunk.data)
        if len(parts) < chunk.size_bytes:
            return None
        self._drop(chunk.transfer_id)
        return bytes(parts)

    def clear(self) -> None:
        """Drop all transfers: their sender starts over."""
        self._open.clear()
        self._sizes.clear()
        self._refused.clear()
        self.held_bytes = 0

    def _is_of_refused(self, chunk: Chunk) -> bool:
        left = self._refused.get(chunk.transfer_id)
        if left is None:
            return False
        if left <= len(chunk.data):
            del self._refused[chunk.transfer_id]
        else:
            self._refused[chunk.transfer_id] = left - len(chunk.data)
        return True

    def _refuse(self, chunk: Chunk) -> None:
        taken = len(self._open.get(chunk.transfer_id, b"")) + len(chunk.data)
        self._drop(chunk.transfer_id)
        if taken < chunk.size_bytes:
            self._refused[chunk.transfer_id] = chunk.size_bytes - taken
            if len(self._refused) > MAX_OPEN:
                self._refused.popitem(last=False)

    def _check(self, chunk: Chunk) -> None:
        known = self._sizes.get(chunk.transfer_id)
        problem: InvalidArgument | ResourceExhausted | None = None
        if not chunk.data or len(chunk.data) > self._max_chunk_bytes:
            problem = InvalidArgument.of(
                "output_chunk.data", f"must hold 1 to {self._max_chunk_bytes} bytes"
            )
        elif chunk.size_bytes > self._max_frame_bytes:
            problem = ResourceExhausted(
                f"a frame of {chunk.size_bytes} bytes is above the limit of"
                f" {self._max_frame_bytes}; send less",
                reason=Reason.MESSAGE_TOO_LARGE,
                subject="max_frame_bytes",
            )
        elif known is not None and known != chunk.size_bytes:
            problem = InvalidArgument.of(
                "output_chunk.size_bytes", "must be the same in each piece of a transfer"
            )
        elif len(self._open.get(chunk.transfer_id, b"")) + len(chunk.data) > chunk.size_bytes:
            problem = InvalidArgument.of(
                "output_chunk.data", "the pieces hold more than size_bytes says"
            )
        elif self.held_bytes + len(chunk.data) > self._max_bytes or (
            known is None and len(self._open) >= MAX_OPEN
        ):
            problem = ResourceExhausted(
                "too much is under way in pieces; finish a transfer first",
                reason=Reason.BUFFER_LIMIT,
                subject="max_bytes_in_flight",
            )
        try:
            if problem is not None:
                raise problem
            self._make_room(len(chunk.data))
        except DomainError:
            self._refuse(chunk)
            raise

    def _drop(self, transfer_id: int) -> None:
        parts = self._open.pop(transfer_id, None)
        self._sizes.pop(transfer_id, None)
        if parts is not None:
            self.held_bytes -= len(parts)
