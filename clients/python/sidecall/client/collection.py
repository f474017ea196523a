"""Collecting what a process writes, within bounds: the head and the tail stay (SPEC C7)."""

from __future__ import annotations

COLLECTION_BUFFER_BYTES = 1_048_576


class HeadTailBuffer:
    """Keeps the first and the last half of `capacity_bytes` and counts what was dropped."""

    def __init__(self, capacity_bytes: int = COLLECTION_BUFFER_BYTES) -> None:
        self._head_room = capacity_bytes // 2
        self._tail_room = capacity_bytes - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self.observed_bytes = 0
        """All bytes that were written, kept or not."""

    def write(self, data: bytes) -> None:
        """Take what the process wrote."""
        self.observed_bytes += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-self._tail_room :]
            excess = len(self._tail) - self._tail_room
            if excess > 0:
                del self._tail[:excess]

    @property
    def omitted_bytes(self) -> int:
        """Bytes dropped from the middle."""
        return self.observed_bytes - len(self._head) - len(self._tail)

    @property
    def original_token_count(self) -> int:
        """Tokens of everything observed, dropped bytes included."""
        return -(-self.observed_bytes // 4)

    def collected(self) -> bytes:
        """Head and tail, with a line between them that says what is missing."""
        if not self.omitted_bytes:
            return bytes(self._head + self._tail)
        marker = f"\n... {self.omitted_bytes} bytes omitted ...\n".encode()
        return bytes(self._head + marker + self._tail)
