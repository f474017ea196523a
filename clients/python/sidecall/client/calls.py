"""The calls of an agent that have not ended: the open ones, and those that wait for credits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sidecall.client.errors import AlreadyExistsError, SidecallError
from sidecall.client.link import Place
from sidecall.client.pending import PendingCall
from sidecall.client.values import CallReference, CancelDisposition
from sidecall.v1 import runtime_stream_pb2 as pb


class _Dispatch(NamedTuple):
    """A call that waits for credits."""

    pending: PendingCall
    frame: pb.ClientFrame


class _Sent(NamedTuple):
    """A call that is sent, and the bytes of its payload and answers."""

    place: Place
    size_bytes: int


class Calls:
    """Sends dispatches in their order, as far as the server's credits go, and what must not
    overtake them."""

    def __init__(
        self,
        send: Callable[[pb.ClientFrame, Place], None],
        cancel: Callable[[CallReference], object],
    ) -> None:
        self._send = send
        self._cancel = cancel
        self._known: dict[CallReference, PendingCall] = {}
        self._waiting: deque[_Dispatch | Callable[[], None]] = deque()
        self._cancelled: set[CallReference] = set()
        self._sent: dict[CallReference, _Sent] = {}
        self._sent_bytes = 0
        self._max_calls = 1
        self._max_bytes = 0

    def granted(self, max_calls: int, max_bytes: int) -> None:
        """The server says how many calls, and bytes of payloads and answers, may be open."""
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
        self._waiting.append(_Dispatch(pending, frame))
        self._admit()

    def behind(self, say: Callable[[], None]) -> None:
        """Say something behind the calls that wait: now, where none does."""
        self._waiting.append(say)
        self._admit()

    @property
    def some_wait(self) -> bool:
        """Whether calls wait for credits."""
        return bool(self._waiting)

    @property
    def sent(self) -> list[PendingCall]:
        """The calls that were sent and have not ended."""
        return [self._known[reference] for reference in self._sent]

    def answered(self, reference: CallReference, size_bytes: int) -> None:
        """A handler or hook has answered: the call holds so much more until it ends."""
        sent = self._sent.get(reference)
        if sent is not None:
            self._sent[reference] = sent._replace(size_bytes=sent.size_bytes + size_bytes)
            self._sent_bytes += size_bytes

    def cancel_waiting(
        self, calls: Sequence[CallReference] | None, turn_id: str | None
    ) -> dict[CallReference, CancelDisposition]:
        """Mark the calls that are not sent: a cancel goes right behind each, so that it gets an
        outcome that the model can read."""
        marked: dict[CallReference, CancelDisposition] = {}
        for waiting in self._waiting:
            if not isinstance(waiting, _Dispatch):
                continue
            reference = waiting.pending.reference
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
        """End the calls that the frame error concerns. False: it concerns none."""
        concerned = [call for call, sent in self._sent.items() if sent.place.covered_by(frame)]
        for reference in concerned:
            self.fail(self._known[reference], error)
        return bool(concerned)

    def fail(self, pending: PendingCall, error: SidecallError) -> None:
        """End a call that was sent, and has not ended, and that the server knows nothing of."""
        if self._known.get(pending.reference) is pending:
            pending.future.set_exception(error)
            self._forget(pending.reference)

    def lost(self) -> list[PendingCall]:
        """Forget all calls: nobody will end them."""
        calls = list(self._known.values())
        self._known.clear()
        self._sent.clear()
        self._waiting.clear()
        self._cancelled.clear()
        self._sent_bytes = 0
        return calls

    def _forget(self, reference: CallReference) -> None:
        del self._known[reference]
        self._sent_bytes -= self._sent.pop(reference).size_bytes
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _Dispatch):
                size = first.frame.ByteSize()
                if not self._has_credits(size):
                    return
                self._waiting.popleft()
                self._submit(first, size)
            else:
                self._waiting.popleft()
                first()

    def _has_credits(self, size_bytes: int) -> bool:
        # One that is larger than all credits goes alone, for the server to refuse.
        return not self._sent or (
            len(self._sent) < self._max_calls and self._sent_bytes + size_bytes <= self._max_bytes
        )

    def _submit(self, dispatch: _Dispatch, size_bytes: int) -> None:
        reference, place = dispatch.pending.reference, Place()
        self._sent[reference] = _Sent(place, size_bytes)
        self._sent_bytes += size_bytes
        self._send(dispatch.frame, place)
        if reference in self._cancelled:
            self._cancelled.discard(reference)
            self._cancel(reference)
