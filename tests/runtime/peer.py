"""An agent's end of a connection, in frames; the wire form is pickle."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from sidecall_server.domain.content import InputText
from sidecall_server.domain.declarations import HookDeclaration, HookPoint, ToolDeclaration
from sidecall_server.domain.errors import DomainError, InvalidArgument
from sidecall_server.domain.fields import replace
from sidecall_server.domain.frames import (
    CallCompleted,
    CallReference,
    CancelCalls,
    CancelTarget,
    Chunk,
    ClientFrame,
    DispatchCall,
    Envelope,
    HandlerResult,
    Hello,
    HookVerdict,
    InvokeHandler,
    InvokeHook,
    Proceed,
    ServerFrame,
    Welcome,
)
from sidecall_server.domain.outcome import Aborted, CallOutcome
from sidecall_server.domain.outputs import FunctionOutput, ToolOutput
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.domain.values import (
    CodeMode,
    Direct,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolPayload,
)
from sidecall_server.runtime.connection import Connection
from sidecall_server.runtime.session import Session
from sidecall_server.runtime.sessions import Sessions

from tests.runtime.clock import settle

Frame = TypeVar("Frame")


class Shown(NamedTuple):
    """A terminal frame, and what the model and the script read of it; a real codec has the views
    that were asked for."""

    frame: CallCompleted
    response_item_json: str
    code_mode_json: str


class PickleCodec:
    """A wire form that needs no protobuf."""

    def encode(self, frame: ServerFrame | Chunk) -> bytes:
        if isinstance(frame, CallCompleted) and frame.projection is not None:
            shown = frame.projection
            bare = replace(frame, projection=None)
            return pickle.dumps(Shown(bare, shown.response_item_json, shown.code_mode_json))
        return pickle.dumps(frame)

    def decode(self, data: bytes) -> Any:
        try:
            return pickle.loads(data)
        except pickle.UnpicklingError:
            raise InvalidArgument("not a frame") from None

    def call_of(self, data: bytes) -> CallReference | None:
        try:
            frame = pickle.loads(data)
        except pickle.UnpicklingError:
            return None
        if not isinstance(frame, DispatchCall):
            return None
        return CallReference(frame.call.turn_id, frame.call.call_id)

    def seal(self, envelope: Envelope) -> bytes:
        return pickle.dumps(replace(envelope, frames=list(envelope.frames)))

    def open(self, data: bytes) -> Envelope:
        try:
            envelope: Envelope = pickle.loads(data)
        except pickle.UnpicklingError:
            raise InvalidArgument("not a message") from None
        return envelope


def new_sessions(**limits: Any) -> Sessions:
    """A server's sessions."""
    return Sessions(RuntimeLimits(**limits), PickleCodec(), wall_clock=lambda: 1_700_000_000.0)


def tool(name: str, **options: Any) -> ToolDeclaration:
    return ToolDeclaration(ToolName(name), **options)


def hook(point: HookPoint, *matchers: str, timeout_seconds: float | None = None) -> HookDeclaration:
    return HookDeclaration(point, matchers, timeout_seconds)


def call(
    call_id: str,
    name: str = "echo",
    payload: ToolPayload | None = None,
    *,
    turn: str = "turn",
    cell: str | None = None,
) -> ToolCall:
    source = Direct() if cell is None else CodeMode(cell, "")
    return ToolCall(call_id, ToolName(name), payload or FunctionPayload("{}"), source, turn)


def text_output(text: str = "done", success: bool | None = True) -> ToolOutput:
    return ToolOutput(FunctionOutput((InputText(text),), success))


class Peer:
    """Attaches, sends frames, and keeps what it gets."""

    def __init__(self, sessions: Sessions, owner: str = "") -> None:
        self.sessions = sessions
        self.owner = owner
        self.frames: list[Any] = []
        self.shown: list[Shown] = []
        self.sequences: list[int] = []
        self.error: DomainError | None = None
        self.ended = False
        self.welcome: Welcome | None = None
        self.sequence = 0
        self.received = 0
        self.abandoned = False
        """Whether the connection broke off a write that was not taken."""
        self._cancel_ids = itertools.count(1)

    async def attach(
        self,
        tools: Sequence[ToolDeclaration] = (),
        hooks: Sequence[HookDeclaration] = (),
        *,
        options: SessionOptions | None = None,
        session_id: str = "",
        resume_token: str = "",
        acknowledges: bool = True,
    ) -> Peer:
        """Say Hello on a new connection."""
        self.open(acknowledges=acknowledges)
        hello = Hello(
            (1,),
            session_id,
            resume_token,
            self.received,
            options or SessionOptions(),
            tuple(tools),
            tuple(hooks),
            "test",
        )
        self.raw(0, hello)
        await settle()
        return self

    def open(self, *, acknowledges: bool = True) -> None:
        """Make a new connection and say nothing yet."""
        self.acknowledges = acknowledges
        self.ended = False
        self.error = None
        self.connection = Connection(
            self.sessions,
            self.owner,
            self.sessions.codec,
            abandon=self._abandon,
            gather_turns=3,
        )
        self._reader = asyncio.create_task(self._read(self.connection))

    async def again(
        self, tools: Sequence[ToolDeclaration] = (), hooks: Sequence[HookDeclaration] = ()
    ) -> Peer:
        """Come back after a lost connection."""
        assert self.welcome is not None
        return await self.attach(
            tools,
            hooks,
            session_id=self.welcome.session_id,
            resume_token=self.welcome.resume_token,
        )

    @property
    def session(self) -> Session:
        assert self.welcome is not None
        return self.sessions.get(self.welcome.session_id, self.owner)

    def _abandon(self) -> None:
        self.abandoned = True

    async def lose(self) -> None:
        """The connection breaks."""
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        self.connection.closed()
        await settle()

    async def stop_reading(self) -> None:
        """The agent stalls: what the server writes stays unread."""
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader

    # --- out --------------------------------------------------------------------------

    def raw(
        self,
        sequence: int,
        *frames: ClientFrame | Chunk | bytes,
        acknowledged: int | None = None,
    ) -> None:
        """One message, just as it is said; bytes are sent as they are."""
        seen = self.received if self.acknowledges else 0
        data = [frame if isinstance(frame, bytes) else pickle.dumps(frame) for frame in frames]
        acknowledged = seen if acknowledged is None else acknowledged
        self.connection.put(pickle.dumps(Envelope(sequence, acknowledged, data)))
        if self._reader.done():
            self.connection._take_next()  # as the timer does beside a write that does not end

    async def send(self, *frames: ClientFrame | Chunk | bytes) -> None:
        """One numbered message."""
        self.sequence += 1
        self.raw(self.sequence, *frames)
        await settle()

    async def dispatch(self, *calls: ToolCall, **options: Any) -> None:
        """Dispatch calls in one message."""
        fields: dict[str, Any] = {
            "turn_options": None,
            "views": None,
            "timeout_seconds": None,
            "traceparent": "",
            "size_bytes": 100,
        }
        await self.send(*(DispatchCall(one, **{**fields, **options}) for one in calls))

    async def answer(self, call_id: str, result: Any = None, *, size_bytes: int = 10) -> None:
        """What the call's handler came to."""
        token = self.invocation(call_id).invocation_token
        result = text_output() if result is None else result
        await self.send(HandlerResult(token, result, size_bytes))

    async def judge(self, call_id: str, verdict: Any = None, *contexts: str) -> None:
        """What the call's last hook came to."""
        asked = [frame for frame in self.of(InvokeHook) if frame.call.call_id == call_id][-1]
        await self.send(HookVerdict(asked.hook_token, verdict or Proceed(), contexts))

    async def cancel(self, *call_ids: str, turn: str = "turn") -> None:
        """Cancel calls of a turn."""
        calls = tuple(CallReference(turn, call_id) for call_id in call_ids)
        await self.send(CancelCalls(next(self._cancel_ids), CancelTarget(calls=calls)))

    # --- in ---------------------------------------------------------------------------

    def of(self, kind: type[Frame]) -> list[Frame]:
        """The frames of a kind, in order."""
        return [frame for frame in self.frames if isinstance(frame, kind)]

    def invocation(self, call_id: str) -> InvokeHandler:
        return [frame for frame in self.of(InvokeHandler) if frame.call.call_id == call_id][-1]

    def invoked(self) -> list[str]:
        """The calls whose handlers were asked, in order."""
        return [frame.call.call_id for frame in self.of(InvokeHandler)]

    def outcome(self, call_id: str) -> CallOutcome:
        """How a call ended: exactly once."""
        (completed,) = [frame for frame in self.of(CallCompleted) if frame.call.call_id == call_id]
        return completed.outcome

    def aborted(self, call_id: str) -> Aborted:
        result = self.outcome(call_id).result
        assert isinstance(result, Aborted)
        return result

    def ended_calls(self) -> list[str]:
        """The calls that have ended, in order."""
        return [frame.call.call_id for frame in self.of(CallCompleted)]

    async def _read(self, connection: Connection) -> None:
        parts: dict[int, bytearray] = {}

        async def take(message: bytes) -> None:
            envelope: Envelope = pickle.loads(message)
            if envelope.sequence:
                if envelope.sequence <= self.received:
                    return
                assert envelope.sequence == self.received + 1, "nothing is skipped"
                self.received = envelope.sequence
                self.sequences.append(envelope.sequence)
            for data in envelope.frames:
                frame = pickle.loads(data)
                if isinstance(frame, Chunk):
                    whole = parts.setdefault(frame.transfer_id, bytearray())
                    whole += frame.data
                    if len(whole) < frame.size_bytes:
                        continue
                    frame = pickle.loads(bytes(whole))
                if isinstance(frame, Shown):
                    self.shown.append(frame)
                    frame = frame.frame
                if isinstance(frame, Welcome):
                    self.welcome = frame
                    if frame.resume_outcome == "gap":
                        self.received = frame.next_sequence - 1
                self.frames.append(frame)

        try:
            await connection.serve(take)
        except DomainError as error:
            self.error = error
        connection.closed()
        self.ended = True
