"""The debug log of a real sidecar: one record per call that ended."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

from sidecall.client import Custom, Function, Invocation, JsonOutput, Tool, ToolCall, connect

from tests.app.processes import Processes, ServerProcess
from tests.app.test_command_line import SERVE
from tests.telemetry.agents import (
    OUTPUT_SECRET,
    SECRETS,
    attached,
    call,
    end_in_every_way,
)


def start(processes: Processes, folder: Path, *flags: str) -> ServerProcess:
    return processes.start(
        *("--socket", str(folder / "a.sock"), "--log-level", "debug", *flags), command=SERVE
    )


def records(server: ServerProcess, message: str) -> list[dict[str, Any]]:
    """The log's records of a stopped server."""
    assert server.signalled(signal.SIGTERM) == 0
    found = map(json.loads, server.log.splitlines())
    return [record for record in found if record["message"] == message]


async def test_a_finished_call_is_one_record_with_ids_outcome_and_durations(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))

    (record,) = records(server, "call finished")
    for name in ("dispatch_seconds", "handler_seconds", "total_seconds"):
        assert 0 <= record.pop(name) < 60
    for name in ("payload_bytes", "result_bytes", "time"):
        assert record.pop(name)
    assert record == {
        "level": "debug",
        "logger": "sidecall_server.app.telemetry.call_log",
        "message": "call finished",
        "session_id": agent.session_id,
        "turn_id": "turn_1",
        "call_id": "call_1",
        "tool": "echo",
        "payload_kind": "function",
        "dispatch_order": 1,
        "outcome": "completed",
        "success": True,
        "lifecycle": "completed",
        "handler_executed": True,
    }


async def test_every_call_has_exactly_one_record_however_it_ends(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    held = asyncio.Event()
    async with attached(server.address, held=held) as agent:
        await end_in_every_way(agent, held)

    finished = records(server, "call finished")
    assert {record["call_id"]: record["outcome"] for record in finished} == {
        "echo": "completed",
        "custom": "completed",
        "disappoint": "completed",
        "fail": "model_failure",
        "unknown": "model_failure",
        "hold": "aborted",
        "timed_out": "aborted",
        "break_turn": "fatal",
    }
    assert len(finished) == 8
    (cancelled,) = (record for record in finished if record["call_id"] == "hold")
    assert cancelled["abort_reason"] == "cancelled"
    assert cancelled["abort_progress"] == "handler_interrupted"
    assert cancelled["teardown"] == "none"


async def test_a_nested_call_names_its_cell(folder: Path, processes: Processes) -> None:
    server = start(processes, folder)
    async with attached(server.address) as agent:
        nested = ToolCall("exec-1", "echo", Custom("x"), "turn_1", cell_id="cell_1")
        await agent.call(nested)

    (record,) = records(server, "call finished")
    assert record["cell_id"] == "cell_1"


async def test_nothing_of_arguments_outputs_and_errors_is_logged(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    held = asyncio.Event()
    async with attached(server.address, held=held) as agent:
        await end_in_every_way(agent, held)

    assert len(records(server, "call finished")) == 8
    for secret in SECRETS:
        assert secret not in server.log


async def test_previews_are_logged_where_they_are_turned_on_and_bounded(
    folder: Path, processes: Processes
) -> None:
    async def verbose(invocation: Invocation) -> JsonOutput:
        return JsonOutput.of(["x" * 100_000])

    server = start(processes, folder, "--log-previews")
    async with asyncio.timeout(60), attached(server.address) as agent:
        await agent.call(call("short"))
    async with (
        asyncio.timeout(60),
        connect(server.address, tools=[Tool("verbose", verbose)]) as agent,
    ):
        await agent.call(ToolCall("long", "verbose", Function("{}"), "turn_1"))

    previews = {record["call_id"]: record["preview"] for record in records(server, "call finished")}
    assert previews["short"] == OUTPUT_SECRET
    assert previews["long"].endswith("[... telemetry preview truncated ...]")
    assert len(previews["long"]) < 2200


async def test_at_the_usual_level_calls_are_not_logged(folder: Path, processes: Processes) -> None:
    server = processes.start(*("--socket", str(folder / "a.sock"), "--log-previews"), command=SERVE)
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))

    assert records(server, "call finished") == []
    assert OUTPUT_SECRET not in server.log


async def test_sessions_are_logged_when_they_open_and_close(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))

    opened = records(server, "session opened")
    log = list(map(json.loads, server.log.splitlines()))
    closed = [record for record in log if record["message"] == "session closed"]
    assert [record["session_id"] for record in opened] == [agent.session_id]
    assert [(record["session_id"], record["calls"]) for record in closed] == [(agent.session_id, 1)]
