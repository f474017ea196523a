"""What probes and tools such as grpcurl ask before they know anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha import reflection_pb2

from tests.rpc.live import Live, refused, serving

_SERVICES = {
    "sidecall.v1.SessionService",
    "sidecall.v1.RuntimeService",
    "sidecall.v1.RecorderService",
    "sidecall.v1.ProjectionService",
}
_REFLECTIONS = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
_NAMES = ["", *sorted(_SERVICES)]


async def _status(live: Live, service: str) -> str:
    stub: Any = HealthStub(live.channel)
    response = await stub.Check(health_pb2.HealthCheckRequest(service=service))
    return health_pb2.HealthCheckResponse.ServingStatus.Name(response.status)


@pytest.mark.parametrize("service", _NAMES)
async def test_health_says_not_serving_until_it_is_told(live: Live, service: str) -> None:
    assert await _status(live, service) == "NOT_SERVING"
    await live.health.set_serving(True)
    assert await _status(live, service) == "SERVING"
    await live.health.set_serving(False)
    assert await _status(live, service) == "NOT_SERVING"


async def test_health_of_an_unknown_service_is_not_found(live: Live) -> None:
    stub: Any = HealthStub(live.channel)
    refusal = await refused(stub.Check(health_pb2.HealthCheckRequest(service="x")))
    assert refusal.code is grpc.StatusCode.NOT_FOUND


async def test_a_watch_of_the_health_sees_it_change(live: Live) -> None:
    stub: Any = HealthStub(live.channel)
    watch = stub.Watch(health_pb2.HealthCheckRequest())
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
    await live.health.set_serving(True)
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()


async def _reflect(live: Live, version: str, **asked: Any) -> Any:
    rpc: Any = live.channel.stream_stream(
        f"/{version}/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    call = rpc()
    await call.write(reflection_pb2.ServerReflectionRequest(**asked))
    answer = await call.read()
    await call.done_writing()
    return answer


@pytest.mark.parametrize("version", _REFLECTIONS)
async def test_reflection_lists_every_service_in_both_versions(live: Live, version: str) -> None:
    answer = await _reflect(live, version, list_services="")
    names = {service.name for service in answer.list_services_response.service}
    assert names == {*_SERVICES, *_REFLECTIONS, "grpc.health.v1.Health"}


@pytest.mark.parametrize("version", _REFLECTIONS)
async def test_reflection_describes_a_method_in_both_versions(live: Live, version: str) -> None:
    answer = await _reflect(
        live, version, file_containing_symbol="sidecall.v1.ProjectionService.TruncateText"
    )
    files = [
        FileDescriptorProto.FromString(data)
        for data in answer.file_descriptor_response.file_descriptor_proto
    ]
    services = {service.name for file in files for service in file.service}
    assert services == {"ProjectionService"}
    assert "google/protobuf/duration.proto" in {file.name for file in files}


@pytest.mark.parametrize("version", _REFLECTIONS)
async def test_reflection_says_what_it_does_not_know(live: Live, version: str) -> None:
    answer = await _reflect(live, version, file_containing_symbol="no.such.Thing")
    assert answer.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


@pytest.mark.parametrize("on", [True, False])
async def test_channelz_is_there_where_it_was_turned_on(tmp_path: Path, on: bool) -> None:
    async with serving(tmp_path, channelz=on) as live:
        answer = await _reflect(live, _REFLECTIONS[0], list_services="")
        names = {service.name for service in answer.list_services_response.service}
        assert ("grpc.channelz.v1.Channelz" in names) is on
        call = live.call_bytes("/grpc.channelz.v1.Channelz/GetServers", b"")
        if on:
            await call
        else:
            assert (await refused(call)).code is grpc.StatusCode.UNIMPLEMENTED
