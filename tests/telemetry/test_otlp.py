"""Traces and metrics of a real sidecar at a real OTLP receiver."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from sidecall.client import Completed
from sidecall_server.app.version import VERSION

from tests.app.certificates import Authority
from tests.app.processes import Processes, ServerProcess
from tests.app.test_command_line import SERVE
from tests.telemetry.agents import (
    HOOKS,
    OUTPUT_SECRET,
    PARENT_ID,
    SECRETS,
    TRACE_ID,
    TRACEPARENT,
    attached,
    call,
    end_in_every_way,
)
from tests.telemetry.otlp_receiver import OtlpReceiver, attributes_of

SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "100"}
NEVER = {"OTEL_BSP_SCHEDULE_DELAY": "3600000", "OTEL_METRIC_EXPORT_INTERVAL": "3600000"}


def start(
    processes: Processes, folder: Path, endpoint: str, *flags: str, **variables: str
) -> ServerProcess:
    return processes.start(
        *("--socket", str(folder / "a.sock"), "--otlp-endpoint", endpoint, *flags),
        command=SERVE,
        variables=SOON | variables,
    )


async def test_a_call_is_a_span_after_the_genai_conventions(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))
        span = await receiver.span("call_1")

    assert span.name == "execute_tool echo"
    assert span.kind == Span.SPAN_KIND_INTERNAL
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert span.start_time_unix_nano < span.end_time_unix_nano
    attributes = attributes_of(list(span.attributes))
    assert attributes.pop("sidecall.payload.bytes")
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.type": "function",
        "sidecall.session.id": agent.session_id,
        "sidecall.turn.id": "turn_1",
        "sidecall.dispatch_order": 1,
        "sidecall.payload.kind": "function",
        "sidecall.tool_mode": "direct",
        "sidecall.outcome": "completed",
        "sidecall.lifecycle": "completed",
        "sidecall.handler_executed": True,
    }


async def test_the_resource_says_which_server_it_was_and_the_environment_may_say_more(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(
        *(processes, folder, receiver.endpoint),
        OTEL_SERVICE_NAME="my-agent",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
    )
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))
        await receiver.span("call_1")

    resource = receiver.resources[0]
    assert resource["service.name"] == "my-agent"
    assert resource["service.version"] == VERSION
    assert resource["service.instance.id"] == server.ready["instance_id"]
    assert resource["deployment.environment.name"] == "test"


async def test_the_span_is_a_child_of_the_agents_own(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    async with attached(server.address) as agent:
        await agent.call(call("child"), traceparent=TRACEPARENT)
        child = await receiver.span("child")

    assert child.trace_id.hex() == TRACE_ID
    assert child.parent_span_id.hex() == PARENT_ID


@pytest.mark.parametrize("traceparent", ["", "nonsense", f"00-{'0' * 32}-{PARENT_ID}-01"])
async def test_without_a_usable_traceparent_the_span_begins_a_trace(
    traceparent: str, folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    async with attached(server.address) as agent:
        await agent.call(call("root"), traceparent=traceparent)
        root = await receiver.span("root")

    assert root.trace_id != bytes(16)
    assert root.parent_span_id == b""


async def test_a_call_that_the_agent_does_not_sample_has_no_span(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    async with attached(server.address) as agent:
        await agent.call(call("unsampled"), traceparent=f"00-{TRACE_ID}-{PARENT_ID}-00")
        await agent.call(call("sampled"))
        await receiver.span("sampled")

    assert len(receiver.spans) == 1


async def test_hooks_and_handler_are_events_in_their_order(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    async with attached(server.address, HOOKS) as agent:
        await agent.call(call("call_1"))
        span = await receiver.span("call_1")

    points = [
        (event.name, attributes_of(list(event.attributes)).get("sidecall.hook.point"))
        for event in span.events
    ]
    assert points == [
        ("sidecall.call.started", None),
        ("sidecall.hook.asked", "pre_tool_use"),
        ("sidecall.hook.ended", "pre_tool_use"),
        ("sidecall.handler.started", None),
        ("sidecall.handler.answered", None),
        ("sidecall.hook.asked", "post_tool_use"),
        ("sidecall.hook.ended", "post_tool_use"),
    ]
    assert [event.time_unix_nano for event in span.events] == sorted(
        event.time_unix_nano for event in span.events
    )


async def test_every_way_to_end_has_its_own_outcome_and_error_type(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    held = asyncio.Event()
    async with attached(server.address, held=held) as agent:
        await end_in_every_way(agent, held)
        await receiver.wait_for(lambda: len(receiver.spans) == 8)

    ends = {}
    for span in receiver.spans:
        said = attributes_of(list(span.attributes))
        failed = span.status.code == Status.STATUS_CODE_ERROR
        assert failed == ("error.type" in said)
        assert span.status.message == ""
        ends[said["gen_ai.tool.call.id"]] = (said["sidecall.outcome"], said.get("error.type"))
    assert ends == {
        "echo": ("completed", None),
        "custom": ("completed", None),
        "disappoint": ("completed", "tool_failure"),
        "fail": ("model_failure", "model_failure"),
        "unknown": ("model_failure", "model_failure"),
        "hold": ("aborted", None),
        "timed_out": ("aborted", "timed_out"),
        "break_turn": ("fatal", "fatal"),
    }


async def test_arguments_outputs_errors_and_contexts_go_nowhere(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint, "--log-level", "debug")
    held = asyncio.Event()
    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
    assert await asyncio.to_thread(server.signalled, signal.SIGTERM) == 0

    assert len(receiver.spans) == 8
    for secret in SECRETS:
        assert secret.encode() not in receiver.received
        assert secret not in server.log


async def test_the_log_preview_is_in_the_span_where_it_is_turned_on(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint, "--log-previews")
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))
        span = await receiver.span("call_1")

    assert attributes_of(list(span.attributes))["sidecall.log_preview"] == OUTPUT_SECRET


async def test_metrics_count_calls_phases_and_what_the_server_holds(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint)
    held = asyncio.Event()
    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
        open_call = agent.dispatch(call("open", "hold", "turn_3"))
        await held.wait()
        await receiver.wait_for(
            lambda: (
                receiver.metrics.keys() >= {"sidecall.open_calls", "gen_ai.execute_tool.duration"}
                and gauge(receiver, "sidecall.open_calls", "sidecall.phase")["handler"] == 1
            )
        )
        assert gauge(receiver, "sidecall.sessions", "sidecall.state")["attached"] == 1
        outcomes = {}
        for point in receiver.metrics["gen_ai.execute_tool.duration"].histogram.data_points:
            said = attributes_of(list(point.attributes))
            key = (said["sidecall.outcome"], said.get("error.type"))
            outcomes[key] = point.count
        phases = {
            attributes_of(list(point.attributes))["sidecall.phase"]
            for point in receiver.metrics["sidecall.call.phase.duration"].histogram.data_points
        }
        await open_call.cancel()

    assert outcomes == {
        ("completed", None): 2,
        ("completed", "tool_failure"): 1,
        ("model_failure", "model_failure"): 2,
        ("aborted", None): 1,
        ("aborted", "timed_out"): 1,
        ("fatal", "fatal"): 1,
    }
    assert phases == {"dispatch", "handler", "pre_tool_use", "post_tool_use"}


def gauge(receiver: OtlpReceiver, name: str, label: str) -> dict[object, int]:
    return {
        attributes_of(list(point.attributes))[label]: point.as_int
        for point in receiver.metrics[name].gauge.data_points
    }


async def test_over_https_it_trusts_the_authority_and_sends_the_headers_of_the_environment(
    folder: Path, processes: Processes
) -> None:
    authority = Authority.make("authority")
    (folder / "ca.pem").write_bytes(authority.certificate_pem)
    async with OtlpReceiver(authority.sign("receiver")) as receiver:
        server = start(
            *(processes, folder, receiver.endpoint),
            OTEL_EXPORTER_OTLP_CERTIFICATE=str(folder / "ca.pem"),
            OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20otlp-hunter2",
        )
        async with attached(server.address) as agent:
            await agent.call(call("call_1"))
            await receiver.span("call_1")

    assert receiver.metadata[0]["authorization"] == "Bearer otlp-hunter2"
    assert "otlp-hunter2" not in server.log


async def test_what_was_not_sent_yet_is_sent_at_the_end(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = start(processes, folder, receiver.endpoint, **NEVER)
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))
    assert receiver.spans == []

    assert await asyncio.to_thread(server.signalled, signal.SIGTERM) == 0

    assert len(receiver.spans) == 1
    assert "gen_ai.execute_tool.duration" in receiver.metrics


async def test_a_receiver_that_is_away_neither_holds_up_calls_nor_the_end(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder, "http://127.0.0.1:1")
    async with attached(server.address) as agent:
        result = await agent.call(call("call_1"))

    assert result.outcome == Completed(success=True)
    async with asyncio.timeout(20):
        assert await asyncio.to_thread(server.signalled, signal.SIGTERM) == 0
    assert re.search("telemetry not sent|Failed to export|unavailable", server.log, re.IGNORECASE)
