"""SessionService."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc.aio
from sidecall.v1 import session_service_pb2 as pb
from sidecall.v1 import session_service_pb2_grpc

from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc.identity import owner_of
from sidecall_server.rpc.lookup import find_session, page_items
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.session import (
    read_session_options,
    write_event,
    write_session,
    write_snapshot,
)
from sidecall_server.wire.validation import Problems, read_id, read_required_id

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class SessionServicer(session_service_pb2_grpc.SessionServiceServicer):
    """Opens, shows, watches and ends sessions. `defaults`: what a session does not say."""

    def __init__(self, sessions: Sessions, defaults: SessionOptions) -> None:
        self._sessions = sessions
        self._defaults = defaults

    async def CreateSession(
        self, request: pb.CreateSessionRequest, context: Context
    ) -> pb.CreateSessionResponse:
        problems = Problems()
        with problems:
            session_id = read_id(request.session_id, "session_id")
        with problems:
            options = read_session_options(request.options, "options", self._defaults)
        problems.check()
        session = self._sessions.create(session_id, options, owner_of(context))
        return pb.CreateSessionResponse(
            session=write_session(session), resume_token=session.resume_token
        )

    async def GetSession(
        self, request: pb.GetSessionRequest, context: Context
    ) -> pb.GetSessionResponse:
        session = find_session(self._sessions, request.session_id, context)
        return pb.GetSessionResponse(session=write_session(session))

    async def ListSessions(
        self, request: pb.ListSessionsRequest, context: Context
    ) -> pb.ListSessionsResponse:
        sessions, next_page_token = self._sessions.page(
            request.page_token, page_items(request.page_size), owner_of(context)
        )
        return pb.ListSessionsResponse(
            sessions=[write_session(session) for session in sessions],
            next_page_token=next_page_token,
        )

    async def DeleteSession(
        self, request: pb.DeleteSessionRequest, context: Context
    ) -> pb.DeleteSessionResponse:
        session_id = read_required_id(request.session_id, "session_id")
        return pb.DeleteSessionResponse(
            aborted_calls=self._sessions.delete(session_id, owner_of(context))
        )

    async def EndTurn(self, request: pb.EndTurnRequest, context: Context) -> pb.EndTurnResponse:
        turn_id = read_required_id(request.turn_id, "turn_id")
        session = find_session(self._sessions, request.session_id, context)
        return pb.EndTurnResponse(open_calls=session.end_turn(turn_id))

    async def WatchSession(
        self, request: pb.WatchSessionRequest, context: Context
    ) -> AsyncIterator[pb.WatchSessionResponse]:
        session = find_session(self._sessions, request.session_id, context)
        watcher = session.watch()
        try:
            yield write_snapshot(
                session,
                session.calls(),
                watcher.first_number,
                session.wall_clock(),
                max_bytes=session.limits.max_message_bytes // 2,
            )
            async for event in watcher:
                yield write_event(event)
        finally:
            watcher.close()
