"""What to do with a vector, by its op: ask the live server, or the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import grpc
from sidecall.v1 import (
    projection_service_pb2_grpc,
    recorder_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)
from sidecall_server.domain.budget import BoundedItem, bound
from sidecall_server.domain.executed_call import (
    ExecutedCall,
    Truncation,
    executed_calls_json,
    metadata_bytes,
)
from sidecall_server.domain.json_text import JsonError, compact

from tests.conformance import requests
from tests.conformance.lines import Json, Vector

RPC_TIMEOUT_SECONDS = 60.0


class Families:
    """Answers vectors: project, truncate and recorder over gRPC, json and bound in the domain."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._projection = projection_service_pb2_grpc.ProjectionServiceStub(channel)
        self._recorder = recorder_service_pb2_grpc.RecorderServiceStub(channel)
        self._sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self._families: Mapping[str, Callable[[Json], Any]] = {
            "project": self._project,
            "truncate": self._truncate,
            "recorder": self._record,
            "json": _json,
            "bound": _bound,
        }

    def answer(self, vector: Vector) -> Any:
        """What the system under test says.

        Raises:
            Exception: whatever a request that cannot be made or served raises.
        """
        family = self._families.get(vector.op)
        if family is None:
            raise ValueError(f"unknown op {vector.op!r}")
        return family(vector.request)

    def _project(self, request: Json) -> Json:
        response = self._projection.ProjectToolOutput(
            requests.project(request), timeout=RPC_TIMEOUT_SECONDS
        )
        return requests.projected(response)

    def _truncate(self, request: Json) -> Json:
        response = self._projection.TruncateText(
            requests.truncate(request), timeout=RPC_TIMEOUT_SECONDS
        )
        return {"text": response.text.decode()}

    def _record(self, request: Json) -> Json:
        created = self._sessions.CreateSession(
            session_service_pb2.CreateSessionRequest(), timeout=RPC_TIMEOUT_SECONDS
        )
        session_id = created.session.session_id
        try:
            return {"results": [self._operate(session_id, op) for op in request["ops"]]}
        finally:
            self._sessions.DeleteSession(
                session_service_pb2.DeleteSessionRequest(session_id=session_id),
                timeout=RPC_TIMEOUT_SECONDS,
            )

    def _operate(self, session_id: str, operation: Json) -> Json | None:
        match operation["op"]:
            case "record":
                for call in requests.repetitions(operation):
                    self._recorder.RecordToolCall(
                        requests.record(session_id, call), timeout=RPC_TIMEOUT_SECONDS
                    )
            case "register_cell":
                for cell in requests.repetitions(operation):
                    self._recorder.RegisterCell(
                        requests.register_cell(session_id, cell), timeout=RPC_TIMEOUT_SECONDS
                    )
            case "attach":
                request, indexes = requests.attach(session_id, operation)
                response = self._recorder.AttachExecutedToolCalls(
                    request, timeout=RPC_TIMEOUT_SECONDS
                )
                return requests.attached(response, indexes)
            case unknown:
                raise ValueError(f"unknown operation {unknown!r}")
        return None


def _json(request: Json) -> Json:
    try:
        return {"ok": True, "text": compact(request["text"])}
    except JsonError:
        return {"ok": False}


def _bound(request: Json) -> Json:
    items = [
        BoundedItem(tuple(map(_executed_call, item["calls"])), item.get("turn_id") is not None)
        for item in request["items"]
    ]
    bounded = bound(items, prioritize_recent=request["prioritize_recent"])
    return {
        "items": [
            {
                "index": index,
                "metadata_bytes": metadata_bytes(calls, item.has_turn_id),
                "executed_tool_calls_json": executed_calls_json(calls).decode(),
            }
            for index, (item, calls) in enumerate(zip(items, bounded.items, strict=True))
            if calls
        ]
    }


def _executed_call(source: Json) -> ExecutedCall:
    if "truncated" in source:
        sizes = {key: int(value) for key, value in source["truncated"].items()}
        return ExecutedCall.marker(source["name"], Truncation(**sizes))
    return ExecutedCall.raw(source["name"], compact(source["arguments_text"]))
