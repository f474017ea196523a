"""The calls of an agent that have not ended: the open ones, and those that wait for credits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from sidecall.client.errors import AlreadyExistsError, SidecallError
from sidecall.client.link import Place
from sidecall.client.pending import PendingCall
from sidecall.client.values import CallReference, CancelDisposition
from sidecall.v1 import runtime_stream_pb2 as pb


class Calls:
    """Sends dispatches in their order, as far as the server's credits go."""

    def __init__(
        self,
        send: Callable[[pb.ClientFrame, Place], None],
        cancel: Callable[[CallReference], object],
    ) -> None:
        self._send = send
        self._cancel = cancel
        self._known: dict[CallReference, PendingCall] = {}
        self._waiting: deque[tuple[PendingCall, pb.ClientFrame]] = deque()
        self._cancelled: set[CallReference] = set()
        self._sent: dict[CallReference, tuple[Place, int]] = {}
        self._sent_bytes = 0
        self._max_calls = 1
        self._max_bytes = 0

    def granted(self, max_calls: int, max_bytes: int) -> None:
        """The server says how many calls, and bytes of payloads, may be open."""
        self._max_calls, self._max_bytes = max_calls, max_bytes
        self._admit()

    def known(self, pending: PendingCall) -> PendingCall | None:
        """The same call, where it has not ended.

        Raises:
            AlreadyExistsError: another call is open under its ids (CALL_ID_CONFLICT).
        """
        known = self._known.get(pending.reference)
        if known is not None and known.call != pending.call:
            call = pending.call
            raise AlreadyExistsError(
                f"call {call.call_id!r} of turn {call.turn_id!r} is open with another payload",
                reason="CALL_ID_CONFLICT",
            )
        return known

    def dispatch(self, pending: PendingCall, frame: pb.ClientFrame) -> None:
        """Send a call, as soon as there are credits for it."""
        self._known[pending.reference] = pending
        self._waiting.append((pending, frame))
        self._admit()

    def cancel_waiting(
        self, calls: Sequence[CallReference] | None, turn_id: str | None
    ) -> dict[CallReference, CancelDisposition]:
        """Mark the calls that are not sent: a cancel goes right behind each, so that it gets an
        outcome that the model can read."""
        marked: dict[CallReference, CancelDisposition] = {}
        for pending, _ in self._waiting:
            reference = pending.reference
            of_turn = turn_id is None or reference.turn_id == turn_id
            if of_turn if calls is None else reference in calls:
                marked[reference] = "accepted"
        self._cancelled.update(marked)
        return marked

    def ended(self, reference: CallReference) -> PendingCall | None:
        """Forget a call that has its outcome; None: told again after a gap."""
        pending = self._known.get(reference)
        if pending is None or reference not in self._sent:
            return None
        self._forget(reference)
        return pending

    def refused(self, frame: pb.FrameError, error: SidecallError) -> bool:
        """End the call that the frame error concerns. False: it concerns none."""
        for reference, (place, _) in self._sent.items():
            if place.covered_by(frame):
                self._known[reference].future.set_exception(error)
                self._forget(reference)
                return True
        return False

    def lost(self) -> list[PendingCall]:
        """Forget all calls: nobody will end them."""
        calls = list(self._known.values())
        self._known.clear()
        self._sent.clear()
        self._waiting.clear()
        self._sent_bytes = 0
        return calls

    def _forget(self, reference: CallReference) -> None:
        del self._known[reference]
        self._sent_bytes -= self._sent.pop(reference)[1]
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            pending, frame = self._waiting[0]
            size = frame.ByteSize()
            # One that is larger than all credits goes alone, for the server to refuse.
            if self._sent and (
                len(self._sent) >= self._max_calls or self._sent_bytes + size > self._max_bytes
            ):
                return
            self._waiting.popleft()
            reference, place = pending.reference, Place()
            self._sent[reference] = (place, size)
            self._sent_bytes += size
            self._send(frame, place)
            if reference in self._cancelled:
                self._cancelled.discard(reference)
                self._cancel(reference)
