"""Over mutual TLS, what one identity made does not exist for another, in any rpc."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from sidecall.v1 import (
    recorder_service_pb2,
    runtime_service_pb2,
    session_service_pb2,
)
from sidecall.v1 import runtime_stream_pb2 as stream
from sidecall.v1 import session_service_pb2 as sessions
from sidecall.v1 import session_service_pb2_grpc as session_rpcs
from sidecall.v1.call_outcome_pb2 import CallReference
from sidecall.v1.tool_call_pb2 import FunctionPayload, ToolCall, ToolName, ToolPayload

from tests.app.certificates import Authority, Identity
from tests.app.processes import DEADLINE_SECONDS, Processes
from tests.app.test_command_line import SERVE

SESSION = "mine"

METHODS = [
    method
    for file in (session_service_pb2, runtime_service_pb2, recorder_service_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
    if "session_id" in method.input_type.fields_by_name and method.name != "CreateSession"
]

CALL = CallReference(turn_id="turn_1", call_id="call_1")
FIELDS: dict[str, dict[str, Any]] = {
    "GetToolCall": {"call": CALL},
    "CancelToolCall": {"target": stream.CancelTarget(all=stream.AllCalls())},
    "EndTurn": {"turn_id": "turn_1"},
    "RecordToolCall": {
        "call": ToolCall(
            call_id="call_1",
            turn_id="turn_1",
            tool_name=ToolName(name="echo"),
            payload=ToolPayload(function=FunctionPayload(arguments=b"{}")),
        )
    },
    "RegisterCell": {"cell_id": "cell_1", "output_call_id": "call_1"},
    "AttachExecutedToolCalls": {"sampling_request_id": "request_1"},
}
"""What a request must have, beside its session, to be asked at all."""


@pytest.fixture
def channels(folder: Path, processes: Processes) -> Iterator[dict[str, grpc.Channel]]:
    """A server with mutual TLS, and channels of two identities."""
    authority = Authority.make("authority")
    certificate, key = authority.sign("server").write(folder)
    (folder / "ca.pem").write_bytes(authority.certificate_pem)
    server = processes.start(
        *("--listen", "127.0.0.1:0", "--tls-client-ca", str(folder / "ca.pem")),
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
        command=SERVE,
    )
    port = server.address.rpartition(":")[2]
    opened = {}
    for name in ("owner", "stranger"):
        client = identity(authority, name)
        credentials = grpc.ssl_channel_credentials(
            authority.certificate_pem, client.key_pem, client.certificate_pem
        )
        opened[name] = grpc.secure_channel(f"localhost:{port}", credentials)
    session_rpcs.SessionServiceStub(opened["owner"]).CreateSession(
        sessions.CreateSessionRequest(session_id=SESSION), timeout=DEADLINE_SECONDS
    )
    yield opened
    for channel in opened.values():
        channel.close()


def identity(authority: Authority, name: str) -> Identity:
    """A client whose certificate names it, and nothing else, as workload identities do."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    uri = x509.UniformResourceIdentifier(f"spiffe://test/{name}")
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([uri]), critical=True)
        .sign(authority.key, hashes.SHA256())
    )
    return Identity(certificate, key)


def answer(channel: grpc.Channel, method: MethodDescriptor) -> str:
    """OK, or what the rpc says when it fails."""
    request = GetMessageClass(method.input_type)(session_id=SESSION, **FIELDS.get(method.name, {}))
    path = f"/{method.containing_service.full_name}/{method.name}"
    try:
        if method.server_streaming:
            watch: Any = channel.unary_stream(path)
            responses = watch(request.SerializeToString(), timeout=DEADLINE_SECONDS)
            next(responses)
            responses.cancel()
        else:
            call: Any = channel.unary_unary(path)
            call(request.SerializeToString(), timeout=DEADLINE_SECONDS)
    except grpc.RpcError as error:
        return str(error)
    return "OK"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_stranger_is_told_that_there_is_no_such_session(
    method: MethodDescriptor, channels: dict[str, grpc.Channel]
) -> None:
    stranger = answer(channels["stranger"], method)
    owner = answer(channels["owner"], method)

    assert "SESSION_NOT_FOUND" in stranger
    assert "StatusCode.NOT_FOUND" in stranger
    assert owner == "OK" or (method.name == "GetToolCall" and "CALL_NOT_FOUND" in owner)


def test_a_stranger_sees_none_in_the_list(channels: dict[str, grpc.Channel]) -> None:
    listed = {
        name: [
            one.session_id
            for one in session_rpcs.SessionServiceStub(channel)
            .ListSessions(sessions.ListSessionsRequest(), timeout=DEADLINE_SECONDS)
            .sessions
        ]
        for name, channel in channels.items()
    }

    assert listed == {"owner": [SESSION], "stranger": []}


def test_a_stranger_cannot_attach_even_with_the_right_name(
    channels: dict[str, grpc.Channel],
) -> None:
    hello = stream.Hello(protocol_versions=[1], session_id=SESSION)
    request = stream.ConnectRequest(frames=[stream.ClientFrame(hello=hello)])
    connect: Any = channels["stranger"].stream_stream("/sidecall.v1.RuntimeService/Connect")

    with pytest.raises(grpc.RpcError, match="SESSION_NOT_FOUND"):
        list(connect(iter([request.SerializeToString()]), timeout=DEADLINE_SECONDS))


def test_the_methods_are_those_that_name_a_session() -> None:
    assert {method.name for method in METHODS} >= FIELDS.keys()
    assert len(METHODS) >= 10
