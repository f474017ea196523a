"""What an operator can do with grpcurl and nothing else: no proto files, no client library."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
import sidecall.v1
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from tests.grpcurl.grpcurl import Grpcurl, Json
from tests.grpcurl.samples import ENDED, FUNCTION, OPEN, SAMPLES, text

WATCH = "sidecall.v1.SessionService/WatchSession"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
RESOURCE_INFO = "type.googleapis.com/google.rpc.ResourceInfo"


def services() -> Iterator[ServiceDescriptor]:
    """All services of the contract."""
    for module in pkgutil.iter_modules(sidecall.v1.__path__):
        if module.name.endswith("_pb2"):
            stubs: Any = importlib.import_module(f"sidecall.v1.{module.name}")
            yield from stubs.DESCRIPTOR.services_by_name.values()


def full_name(method: MethodDescriptor) -> str:
    """As grpcurl takes it."""
    return f"{method.containing_service.full_name}/{method.name}"


SERVICES = sorted(services(), key=lambda service: str(service.full_name))
METHODS = {full_name(method): method for service in SERVICES for method in service.methods}
UNARY = {
    name: method
    for name, method in METHODS.items()
    if not method.client_streaming and not method.server_streaming
}


def scene(grpcurl: Grpcurl, session_id: str) -> None:
    """A session with an ended call and one that waits; see samples.py."""
    created = grpcurl.call("sidecall.v1.SessionService/CreateSession", {"session_id": session_id})
    with grpcurl.stream("sidecall.v1.RuntimeService/Connect") as stream:
        later = {"tool_name": {"name": "later"}, "not_ready": True}
        hello = {"protocol_versions": [1], "session_id": session_id, "tools": [later]}
        stream.send({"frames": [{"hello": {**hello, "resume_token": created["resume_token"]}}]})
        assert stream.next()["frames"][0]["welcome"]["session_id"] == session_id
        ended = {"function": {"arguments": text('{"n":1.10}')}}
        stream.send({"sequence": 1, "frames": [dispatch(ENDED, "nobody", ended)]})
        stream.send({"sequence": 2, "frames": [dispatch(OPEN, "later", FUNCTION)]})
        waited = [frame for _ in range(2) for frame in stream.next()["frames"]]
        kinds = [kind for frame in waited for kind in frame]
        assert kinds == ["call_completed", "call_accepted"]
    with grpcurl.stream(WATCH, {"session_id": session_id}) as watch:
        state = watch.next()["snapshot"]["session"]["state"]
        while state != "SESSION_STATE_DETACHED":
            state = watch.next().get("state_changed", {}).get("state")


def dispatch(call: Json, name: str, payload: Json) -> Json:
    """A frame that submits a call."""
    return {"dispatch_call": {"call": {**call, "tool_name": {"name": name}, "payload": payload}}}


def assert_holds(response: Any, expected: Any, path: str = "response") -> None:
    """Every field that is expected is there, as it must be."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert name in response, f"{path}.{name} is missing in {response}"
            assert_holds(response[name], value, f"{path}.{name}")
    elif isinstance(expected, list):
        assert len(response) == len(expected), f"{path} is {response}"
        for index, value in enumerate(expected):
            assert_holds(response[index], value, f"{path}[{index}]")
    else:
        assert response == expected, f"{path} is {response!r}, not {expected!r}"


# --- reflection ---------------------------------------------------------------------------


def test_list_shows_every_service(grpcurl: Grpcurl) -> None:
    assert grpcurl.text("list").split() == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        *(service.full_name for service in SERVICES),
    ]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_list_and_describe_show_every_rpc(grpcurl: Grpcurl, service: ServiceDescriptor) -> None:
    listed = grpcurl.text("list", service.full_name).split()
    assert sorted(listed) == sorted(f"{service.full_name}.{one.name}" for one in service.methods)
    described = grpcurl.text("describe", service.full_name)
    for method in service.methods:
        assert f"rpc {method.name} ( " in described


@pytest.mark.parametrize("method", list(METHODS.values()), ids=list(METHODS))
def test_describe_shows_requests_and_responses_with_their_fields(
    grpcurl: Grpcurl, method: MethodDescriptor
) -> None:
    for message in (method.input_type, method.output_type):
        described = grpcurl.text("describe", message.full_name)
        assert described.startswith(f"{message.full_name} is a message:")
        for field in message.fields:
            assert f" {field.name} = {field.number};" in described


# --- rpcs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(UNARY))
def test_every_unary_rpc_answers(grpcurl: Grpcurl, name: str) -> None:
    assert name in SAMPLES, f"{name} has no sample: add one to tests/grpcurl/samples.py"
    request, response = SAMPLES[name]
    if "session_id" in UNARY[name].input_type.fields_by_name:
        session_id = name.rpartition("/")[2]
        request = {"session_id": session_id, **request}
        if session_id != "CreateSession":
            scene(grpcurl, session_id)
    assert_holds(grpcurl.call(name, request), response)


def test_every_sample_is_of_an_rpc_that_there_is() -> None:
    assert set(SAMPLES) <= set(UNARY)


def test_a_watch_shows_the_session_first_and_then_what_happens(grpcurl: Grpcurl) -> None:
    scene(grpcurl, "watched")
    with grpcurl.stream(WATCH, {"session_id": "watched"}) as watch:
        expected: Json = {
            "session": {"session_id": "watched", "open_calls": 1},
            "calls": [{"call": ENDED}, {"call": OPEN}],
        }
        assert_holds(watch.next(), {"snapshot": expected})
        grpcurl.call(
            "sidecall.v1.RuntimeService/CancelToolCall",
            {"session_id": "watched", "target": {"turn_id": "turn_1"}},
        )
        aborted = {"reason": "ABORT_REASON_CANCELLED", "progress": "ABORT_PROGRESS_NOT_STARTED"}
        assert_holds(
            watch.next(),
            {"call_finished": {"call": OPEN, "outcome": {"aborted": aborted}}},
        )
        grpcurl.call("sidecall.v1.SessionService/DeleteSession", {"session_id": "watched"})
        assert_holds(watch.next(), {"state_changed": {"state": "SESSION_STATE_CLOSED"}})


# --- errors -------------------------------------------------------------------------------


def test_an_error_says_its_reason_and_every_field(grpcurl: Grpcurl) -> None:
    method, request = "sidecall.v1.RecorderService/RegisterCell", {"session_id": "s"}
    status = grpcurl.refused(method, request)
    assert (status["code"], status["message"]) == (
        3,
        "MISSING_FIELD: cell_id: is required; output_call_id: is required",
    )
    violations = [
        {"field": field, "description": "is required"} for field in ("cell_id", "output_call_id")
    ]
    assert status["details"] == [
        {"@type": ERROR_INFO, "domain": "sidecall", "reason": "MISSING_FIELD"},
        {"@type": BAD_REQUEST, "field_violations": violations},
    ]
    shown = grpcurl.refused_text(method, request)
    assert "Code: InvalidArgument\n" in shown
    assert f"Message: {status['message']}\n" in shown
    assert '"field": "output_call_id"' in shown


def test_an_error_names_the_thing_that_is_not_there(grpcurl: Grpcurl) -> None:
    status = grpcurl.refused("sidecall.v1.SessionService/GetSession", {"session_id": "nobody"})
    assert status["code"] == 5
    assert status["message"].startswith("SESSION_NOT_FOUND: no session 'nobody'")
    details = {detail["@type"]: detail for detail in status["details"]}
    assert details[ERROR_INFO]["reason"] == "SESSION_NOT_FOUND"
    assert details[RESOURCE_INFO]["resource_name"] == "nobody"


def test_a_refused_stream_says_why(grpcurl: Grpcurl) -> None:
    shown = grpcurl.refused_text("sidecall.v1.RuntimeService/Connect", {"frames": [{"detach": {}}]})
    assert "Code: FailedPrecondition\n" in shown
    assert "HELLO_REQUIRED: the first frame of a stream must be Hello" in shown


# --- health -------------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["", *(service.full_name for service in SERVICES)])
def test_the_sidecar_and_each_service_are_serving(grpcurl: Grpcurl, service: str) -> None:
    answer = grpcurl.call("grpc.health.v1.Health/Check", {"service": service})
    assert answer == {"status": "SERVING"}


def test_the_health_of_a_stranger_is_not_found(grpcurl: Grpcurl) -> None:
    assert grpcurl.refused("grpc.health.v1.Health/Check", {"service": "x"})["code"] == 5
