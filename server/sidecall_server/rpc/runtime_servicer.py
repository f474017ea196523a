"""RuntimeService without Connect, which `connect` serves as bytes."""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

import grpc.aio
from sidecall.v1 import runtime_service_pb2 as pb
from sidecall.v1 import runtime_service_pb2_grpc

from sidecall_server.rpc.lookup import find_session, page_items, read_page_token
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.call_outcome import read_call_reference
from sidecall_server.wire.runtime import (
    ServerInfo,
    normalize_prompt,
    read_cancel_target,
    write_call,
    write_cancelled,
    write_info,
)
from sidecall_server.wire.tool_output import read_views
from sidecall_server.wire.validation import Problems, read_id

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class RuntimeServicer(runtime_service_pb2_grpc.RuntimeServiceServicer):
    """Shows and cancels calls, and tells what the server is."""

    def __init__(self, sessions: Sessions, info: ServerInfo) -> None:
        self._sessions = sessions
        self._info = info

    async def GetRuntimeInfo(
        self, request: pb.GetRuntimeInfoRequest, context: Context
    ) -> pb.GetRuntimeInfoResponse:
        return write_info(self._info, self._sessions.limits, draining=self._sessions.draining)

    def Connect(self, requests: object, context: Context) -> NoReturn:
        """Never reached: `add_connect` replaces this method by one that takes bytes."""
        raise NotImplementedError

    async def GetToolCall(
        self, request: pb.GetToolCallRequest, context: Context
    ) -> pb.GetToolCallResponse:
        problems = Problems()
        views = None
        with problems:
            reference = read_call_reference(request.call, "call")
        if request.HasField("views"):
            with problems:
                views = read_views(request.views, "views")
        problems.check()
        session = find_session(self._sessions, request.session_id, context)
        call = session.find_call(reference)
        return write_call(session.id, call, views)

    async def ListToolCalls(
        self, request: pb.ListToolCallsRequest, context: Context
    ) -> pb.ListToolCallsResponse:
        problems = Problems()
        with problems:
            turn_id = read_id(request.turn_id, "turn_id")
        with problems:
            after = read_page_token(request.page_token)
        problems.check()
        session = find_session(self._sessions, request.session_id, context)
        left = [call for call in session.calls(turn_id) if call.dispatch_order > after]
        page = left[: page_items(request.page_size)]
        views = None if request.include_projections else ()
        return pb.ListToolCallsResponse(
            calls=[write_call(session.id, call, views) for call in page],
            next_page_token=str(page[-1].dispatch_order) if len(left) > len(page) else "",
        )

    async def CancelToolCall(
        self, request: pb.CancelToolCallRequest, context: Context
    ) -> pb.CancelToolCallResponse:
        target = read_cancel_target(request.target, "target")
        session = find_session(self._sessions, request.session_id, context)
        return pb.CancelToolCallResponse(calls=write_cancelled(session.cancel(target)))

    async def NormalizePrompt(
        self, request: pb.NormalizePromptRequest, context: Context
    ) -> pb.NormalizePromptResponse:
        return normalize_prompt(request)
