"""How long ids and names may be is the operator's choice (DESIGN: limits from settings)."""

from __future__ import annotations

import sys
from pathlib import Path

import grpc
import pytest
from sidecall.v1 import (
    recorder_service_pb2,
    runtime_service_pb2,
    session_service_pb2,
    tool_call_pb2,
)
from sidecall.v1.recorder_service_pb2_grpc import RecorderServiceStub
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.app.processes import Processes

SIDECALL = (sys.executable, "-m", "sidecall_server", "serve")


def test_ids_and_tool_names_are_as_long_as_the_operator_says(
    folder: Path, processes: Processes
) -> None:
    server = processes.start(
        *("--socket", str(folder / "a.sock")),
        *("--max-id-bytes", "100", "--max-tool-name-bytes", "200"),
        command=SIDECALL,
    )
    with server.channel() as channel:
        info = RuntimeServiceStub(channel).GetRuntimeInfo(
            runtime_service_pb2.GetRuntimeInfoRequest()
        )
        assert (info.limits.max_id_bytes, info.limits.max_tool_name_bytes) == (100, 200)

        sessions, recorder = SessionServiceStub(channel), RecorderServiceStub(channel)
        sessions.CreateSession(session_service_pb2.CreateSessionRequest(session_id="s" * 100))
        with pytest.raises(grpc.RpcError, match="session_id: must be at most 100 bytes"):
            sessions.CreateSession(session_service_pb2.CreateSessionRequest(session_id="s" * 101))

        recorder.RecordToolCall(_record("s" * 100, "n" * 200))
        with pytest.raises(grpc.RpcError, match="name: must be at most 200 bytes"):
            recorder.RecordToolCall(_record("s" * 100, "n" * 201))


def _record(session_id: str, name: str) -> recorder_service_pb2.RecordToolCallRequest:
    return recorder_service_pb2.RecordToolCallRequest(
        session_id=session_id,
        call=tool_call_pb2.ToolCall(
            call_id="call",
            tool_name=tool_call_pb2.ToolName(name=name),
            payload=tool_call_pb2.ToolPayload(
                function=tool_call_pb2.FunctionPayload(arguments=b"{}")
            ),
        ),
    )
