"""All sessions of a server: made, found, counted, drained."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from sidecall_server.domain.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Reason,
    ResourceExhausted,
    Unavailable,
)
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import CancelTarget, Drain, Hello
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_events import SessionState
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.runtime.observer import NULL_OBSERVER, Observer
from sidecall_server.runtime.outbox import FrameCodec
from sidecall_server.runtime.session import Session

log = logging.getLogger(__name__)


class Sessions:
    """The registry. A session that belongs to another owner does not exist."""

    def __init__(
        self,
        limits: RuntimeLimits,
        codec: FrameCodec,
        *,
        wall_clock: Callable[[], float] = time.time,
        observer: Observer = NULL_OBSERVER,
    ) -> None:
        self.limits = limits
        self.codec = codec
        self.wall_clock = wall_clock
        self.observer = observer
        self.calls_in_flight = 0
        self.record_bytes = 0
        self.bytes_in_flight = 0
        """What all sessions hold together, records aside."""
        self._drain_deadline: float | None = None
        self._sessions: dict[str, Session] = {}
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._created = 0
        self._idle = asyncio.Event()
        self._idle_timer: asyncio.TimerHandle | None = None

    @property
    def draining(self) -> bool:
        """Whether the server shuts down."""
        return self._drain_deadline is not None

    @property
    def record_allowance_bytes(self) -> int:
        """Bytes that records of all sessions may still take."""
        return max(0, self.limits.max_record_bytes_total - self.record_bytes)

    def memory_is_scarce(self) -> bool:
        """Whether sessions hold as much as they may."""
        return self.bytes_in_flight >= self.limits.max_bytes_in_flight_total

    def make_room(self, size_bytes: int) -> None:
        """Let a session hold so much more; for it ended calls are forgotten, the oldest first.

        Raises:
            ResourceExhausted: there is no room (BUFFER_LIMIT).
        """
        limit = self.limits.max_bytes_in_flight_total
        if self.bytes_in_flight + size_bytes <= limit:
            return
        kept_bytes = sum(session.ended_calls.held_bytes for session in self._sessions.values())
        if self.bytes_in_flight - kept_bytes + size_bytes <= limit:
            for session in self._sessions.values():
                session.forget_ended_calls()
                if self.bytes_in_flight + size_bytes <= limit:
                    return
        raise ResourceExhausted(
            f"all sessions hold {self.bytes_in_flight} bytes, max_bytes_in_flight_total is"
            f" {limit}; wait for calls to end",
            reason=Reason.BUFFER_LIMIT,
            subject="max_bytes_in_flight_total",
            retry_after_seconds=1.0,
        )

    def __len__(self) -> int:
        return len(self._sessions) - len(self._closed)

    def __iter__(self) -> Iterator[Session]:
        """All sessions, closed ones too as long as they are kept."""
        return iter(self._sessions.values())

    def create(self, session_id: str, options: SessionOptions, owner: str = "") -> Session:
        """Open a session; an empty id gets a new one.

        Raises:
            AlreadyExists: the id is taken.
            ResourceExhausted: there are as many as may be (SESSION_LIMIT).
            Unavailable: the server shuts down.
        """
        self.require_accepting()
        if session_id in self._closed and self._sessions[session_id].owner == owner:
            self._forget(session_id)
        if session_id in self._sessions:
            raise AlreadyExists(
                f"the session id {session_id!r} is taken; choose another or leave it empty",
                resource_type="sidecall.v1.Session",
                resource_name=session_id,
            )
        if len(self) >= self.limits.max_sessions:
            raise ResourceExhausted(
                f"there are {self.limits.max_sessions} sessions already; delete one first",
                reason=Reason.SESSION_LIMIT,
                subject="max_sessions",
                retry_after_seconds=5.0,
            )
        self._created += 1
        session_id = session_id or f"s-{secrets.token_hex(8)}"
        session = Session(self, session_id, self._created, options, owner, self.codec)
        self._sessions[session.id] = session
        self.observer.session_opened(session)
        self._arm_idle_timer()
        return session

    def get(self, session_id: str, owner: str = "") -> Session:
        """Find a session, closed ones too as long as they are kept.

        Raises:
            NotFound: there is none, or it is somebody else's.
        """
        session = self._sessions.get(session_id)
        if session is None or session.owner != owner:
            raise NotFound(
                f"no session {session_id!r}; create it first (a server that starts anew forgets"
                " its sessions)",
                resource_type="sidecall.v1.Session",
                resource_name=session_id,
            )
        session.touch()
        return session

    def page(self, after: str, limit: int, owner: str = "") -> tuple[list[Session], str]:
        """A page of sessions, oldest first, and the token of the next page (empty: last).

        Raises:
            InvalidArgument: the token is not one this server gave.
        """
        try:
            start = int(after) if after else 0
        except ValueError:
            raise InvalidArgument.of("page_token", "must come from the last page") from None
        mine = [
            session
            for session in self._sessions.values()
            if session.owner == owner and session.number > start
        ]
        page = mine[:limit]
        return page, str(page[-1].number) if len(mine) > len(page) and page else ""

    def delete(self, session_id: str, owner: str = "") -> int:
        """End a session and forget it; returns how many calls were aborted.

        Raises:
            NotFound: there is none, or it is somebody else's.
        """
        session = self.get(session_id, owner)
        aborted = session.close(AbortReason.CANCELLED)
        self._forget(session_id)
        return aborted

    def attachable(self, hello: Hello, owner: str) -> Session:
        """The session a Hello asks for.

        Raises:
            DomainError: it may not be attached.
        """
        if not hello.session_id:
            return self.create("", hello.options, owner)
        session = self.get(hello.session_id, owner)
        session.require_open()
        if hello.resume_token:
            if not session.authorise(hello.resume_token):
                raise FailedPrecondition(
                    "the resume token is not this session's; use the one of its last Welcome",
                    reason=Reason.RESUME_TOKEN_INVALID,
                )
        elif session.was_attached:
            raise FailedPrecondition(
                "the session has, or had, an attachment; send its resume token",
                reason=Reason.SESSION_ATTACHED,
            )
        return session

    def require_accepting(self) -> None:
        """Raises Unavailable while the server shuts down."""
        if self.draining:
            raise Unavailable("the server shuts down; go to another, or try again later")

    def session_closed(self, session: Session) -> None:
        """A session has ended; it is kept for a while, so that its calls can be read."""
        self._closed[session.id] = None
        if len(self._closed) > self.limits.max_closed_sessions:
            self._forget(next(iter(self._closed)))

    async def drain(self, seconds: float) -> None:
        """Refuse what is new, let open calls end until the deadline, abort what is left.

        Afterwards every stream has been told to end.
        """
        self._drain_deadline = asyncio.get_running_loop().time() + seconds
        for session in self._sessions.values():
            if session.stream is not None:
                self.tell_drain(session)
        while self.calls_in_flight and (left := self._drain_seconds_left()) > 0:
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), left)
            except TimeoutError:
                break
        for session in list(self._sessions.values()):
            session.cancel(CancelTarget(), AbortReason.DRAINED, wait=False)
            if session.stream is not None:
                session.stream.end(
                    Unavailable("the server shuts down; go to another, or try again later")
                )

    def tell_drain(self, session: Session) -> None:
        """Tell an attached session how long a drain still takes, if there is one."""
        if self.draining:
            session.send(Drain(self._drain_seconds_left()), control=True)

    def call_ended(self) -> None:
        """A call has its outcome."""
        self.calls_in_flight -= 1
        if self.draining and not self.calls_in_flight:
            self._idle.set()

    def close(self) -> None:
        """End all sessions."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        for session in list(self._sessions.values()):
            session.close(AbortReason.DRAINED)

    def _drain_seconds_left(self) -> float:
        assert self._drain_deadline is not None, "the server drains"
        return max(0.0, self._drain_deadline - asyncio.get_running_loop().time())

    def _forget(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        self._closed.pop(session_id, None)
        if session is not None:
            session.forget_ended_calls()

    def _arm_idle_timer(self) -> None:
        if self._idle_timer is None and self.limits.session_idle_timeout_seconds > 0:
            self._idle_timer = asyncio.get_running_loop().call_later(
                self.limits.session_idle_timeout_seconds / 4, self._close_idle
            )

    def _close_idle(self) -> None:
        self._idle_timer = None
        now = asyncio.get_running_loop().time()
        for session in list(self._sessions.values()):
            idle = now - session.last_used_at > self.limits.session_idle_timeout_seconds
            if idle and session.state is SessionState.OPEN and not session.open_calls:
                log.info("session idle", extra={"session_id": session.id})
                session.close(AbortReason.CANCELLED)
        if self._sessions:
            self._arm_idle_timer()
