"""The sidecar of one language's scenarios, and the operator who looks after it.

operator: await_end     waits until the call has its outcome
operator: await_state   waits until the session is in `state`
operator: cancel        cancels a `turn_id`'s calls; all must be open
operator: delete        deletes the session
operator: session       the session must be as `expect` says
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import grpc.aio
from google.protobuf.json_format import MessageToDict
from sidecall.v1 import call_outcome_pb2, runtime_stream_pb2
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.conformance.clients.expected import Json
from tests.conformance.differences import difference
from tests.conformance.live_server import ServerFailed


class OperatorFailed(Exception):
    """Something is not as it must be."""


class Sidecar:
    """A running sidecar. `serving` makes it."""

    def __init__(self, socket: Path, channel: grpc.aio.Channel) -> None:
        self.socket = socket
        # The stubs serve both worlds; these are of the asyncio one.
        self._sessions: Any = SessionServiceStub(channel)
        self._runtime: Any = RuntimeServiceStub(channel)

    async def do(self, step: Json, session_id: str) -> None:
        """Carry out an operator's step.

        Raises:
            OperatorFailed: what must be so is not.
        """
        match step["operator"]:
            case "await_end":
                call = _reference(step)
                await self._await(session_id, lambda event: _ended(event, call))
            case "await_state":
                state = session_pb.SessionState.Value(f"SESSION_STATE_{step['state'].upper()}")
                await self._await(session_id, lambda event: _state(event) == state)
            case "cancel":
                target = runtime_stream_pb2.CancelTarget(turn_id=step["turn_id"])
                await self._runtime.CancelToolCall(
                    runtime_pb.CancelToolCallRequest(session_id=session_id, target=target)
                )
            case "delete":
                await self._sessions.DeleteSession(
                    session_pb.DeleteSessionRequest(session_id=session_id)
                )
            case "session":
                await self._check_session(session_id, step["expect"])
            case kind:
                raise ValueError(f"an operator cannot {kind!r}")

    async def _await(self, session_id: str, wanted: Any) -> None:
        """Watch the session, its snapshot first, until something is so."""
        watch = self._sessions.WatchSession(session_pb.WatchSessionRequest(session_id=session_id))
        async for event in watch:
            if wanted(event):
                watch.cancel()
                return
        raise OperatorFailed("the session closed before that")

    async def _check_session(self, session_id: str, expect: Json) -> None:
        request = session_pb.GetSessionRequest(session_id=session_id)
        response = await self._sessions.GetSession(request)
        session = MessageToDict(
            response.session,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        found = difference(expect, {key: session.get(key) for key in expect})
        if found is not None:
            raise OperatorFailed(found)


def _reference(step: Json) -> call_outcome_pb2.CallReference:
    return call_outcome_pb2.CallReference(
        turn_id=step.get("turn_id", "turn_1"), call_id=step.get("call_id", "call_1")
    )


def _ended(event: session_pb.WatchSessionResponse, call: call_outcome_pb2.CallReference) -> bool:
    terminal = call_outcome_pb2.CALL_PHASE_TERMINAL
    return event.call_finished.call == call or any(
        known.call == call and known.phase == terminal for known in event.snapshot.calls
    )


def _state(event: session_pb.WatchSessionResponse) -> int:
    return event.state_changed.state or event.snapshot.session.state


@contextlib.asynccontextmanager
async def serving(flags: Sequence[str]) -> AsyncIterator[Sidecar]:
    """Run ``sidecall serve`` on a fresh socket.

    Raises:
        ServerFailed: it ended before it was ready.
    """
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        async with _serving(Path(folder, "s.sock"), flags) as sidecar:
            yield sidecar


@contextlib.asynccontextmanager
async def _serving(socket: Path, flags: Sequence[str]) -> AsyncIterator[Sidecar]:
    command = ["serve", "--socket", str(socket), "--exit-on-stdin-eof", "--drain-seconds", "1"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "sidecall_server", *command, "--log-level", "error", *flags),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        try:
            json.loads(await process.stdout.readline())
        except ValueError:
            status = await process.wait()
            raise ServerFailed(f"the sidecar ended with status {status}") from None
        options = [("grpc.default_authority", "localhost")]
        async with grpc.aio.insecure_channel(f"unix:{socket}", options) as channel:
            yield Sidecar(socket, channel)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
