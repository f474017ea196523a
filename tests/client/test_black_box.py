"""The generated stubs alone, blocking, as any Python program would use them."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from sidecall.v1 import (
    projection_service_pb2 as projection_pb,
)
from sidecall.v1 import (
    projection_service_pb2_grpc,
    session_service_pb2_grpc,
)
from sidecall.v1 import (
    session_service_pb2 as session_pb,
)
from sidecall.v1 import (
    tool_call_pb2 as call_pb,
)
from sidecall.v1 import (
    tool_output_pb2 as output_pb,
)


@pytest.fixture(scope="module")
def grpc_stub_cls() -> Any:
    return session_service_pb2_grpc.SessionServiceStub


def test_a_session_is_created_shown_and_deleted(grpc_stub: Any) -> None:
    created = grpc_stub.CreateSession(session_pb.CreateSessionRequest(session_id="mine"))
    assert created.session.session_id == "mine"
    assert created.resume_token
    shown = grpc_stub.GetSession(session_pb.GetSessionRequest(session_id="mine"))
    assert shown.session.state == session_pb.SESSION_STATE_OPEN
    grpc_stub.DeleteSession(session_pb.DeleteSessionRequest(session_id="mine"))
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetSession(session_pb.GetSessionRequest(session_id="mine"))
    call: Any = refused.value
    assert call.code() is grpc.StatusCode.NOT_FOUND
    assert call.details().startswith("SESSION_NOT_FOUND: ")


def test_an_error_names_the_field(grpc_stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        grpc_stub.GetSession(session_pb.GetSessionRequest())
    call: Any = refused.value
    status = rpc_status.from_call(call)
    assert status is not None
    bad = error_details_pb2.BadRequest()
    assert any(detail.Unpack(bad) for detail in status.details)
    assert [violation.field for violation in bad.field_violations] == ["session_id"]


def test_an_output_is_projected(grpc_channel: grpc.Channel) -> None:
    stub = projection_service_pb2_grpc.ProjectionServiceStub(grpc_channel)
    request = projection_pb.ProjectToolOutputRequest(
        call=call_pb.ToolCall(
            call_id="c",
            tool_name=call_pb.ToolName(name="echo"),
            payload=call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
        ),
        output=output_pb.ToolOutput(json=output_pb.JsonOutput(value_json=b'{"n":1.10}')),
    )
    projections = stub.ProjectToolOutput(request).projections
    item = json.loads(projections.response_item_json)
    assert item == {"type": "function_call_output", "call_id": "c", "output": '{"n":1.10}'}
    assert projections.code_mode_json == b'{"n":1.10}'


def test_a_watch_begins_with_a_snapshot(grpc_stub: Any) -> None:
    grpc_stub.CreateSession(session_pb.CreateSessionRequest(session_id="watched"))
    watch = grpc_stub.WatchSession(session_pb.WatchSessionRequest(session_id="watched"))
    first = next(watch)
    assert first.WhichOneof("event") == "snapshot"
    grpc_stub.DeleteSession(session_pb.DeleteSessionRequest(session_id="watched"))
    assert [event.WhichOneof("event") for event in watch] == ["state_changed"]


def test_health_says_not_serving_until_it_is_told(grpc_channel: grpc.Channel) -> None:
    health: Any = health_pb2_grpc.HealthStub(grpc_channel)
    answer = health.Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
