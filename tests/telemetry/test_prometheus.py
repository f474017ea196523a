"""Prometheus metrics of a real sidecar, scraped over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sidecall.client import Agent, LimitError, SidecallError

from tests.app.processes import DEADLINE_SECONDS, Processes, ServerProcess, finished
from tests.app.test_command_line import SERVE
from tests.telemetry.agents import HOOKS, SECRETS, attached, call, end_in_every_way

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def start(processes: Processes, folder: Path, *flags: str) -> ServerProcess:
    return processes.start(
        *("--socket", str(folder / "a.sock"), "--metrics-listen", "127.0.0.1:0", *flags),
        command=SERVE,
    )


def metrics_address(server: ServerProcess) -> str:
    """Where the log says that the metrics are."""
    records = map(json.loads, server.log.splitlines())
    (address,) = (record["address"] for record in records if record["message"] == "metrics served")
    return str(address)


async def scraped_text(server: ServerProcess) -> str:
    def scrape() -> str:
        with urllib.request.urlopen(metrics_address(server), timeout=DEADLINE_SECONDS) as answer:
            return str(answer.read().decode())

    return await asyncio.to_thread(scrape)


async def scrape(server: ServerProcess) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(await scraped_text(server))
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"sidecall_{name}", frozenset(labels.items())]


def calls(samples: Samples) -> dict[tuple[str, str, str], float]:
    """Ended calls by outcome, success and abort reason."""
    counted = {}
    for (name, labels), count in samples.items():
        if name == "sidecall_calls_total":
            said = dict(labels)
            assert said["tool_mode"] == "direct"
            counted[said["outcome"], said["success"], said["abort_reason"]] = count
    return counted


async def dispatched(agent: Agent, held: asyncio.Event, call_id: str, turn_id: str) -> None:
    agent.dispatch(call(call_id, "hold", turn_id))
    await held.wait()


async def test_calls_are_counted_by_how_they_ended_and_in_which_tool_mode(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    held = asyncio.Event()
    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
        samples = await scrape(server)

    assert calls(samples) == {
        ("completed", "true", ""): 2,
        ("completed", "false", ""): 1,
        ("model_failure", "false", ""): 2,
        ("aborted", "false", "cancelled"): 1,
        ("aborted", "false", "timed_out"): 1,
        ("fatal", "false", ""): 1,
    }


async def test_each_phase_has_a_histogram(folder: Path, processes: Processes) -> None:
    server = start(processes, folder)
    async with attached(server.address, HOOKS) as agent:
        await agent.call(call("call_1"))
        await agent.call(call("call_2", "fail"))
        samples = await scrape(server)

    def count(phase: str) -> float:
        return value(samples, "call_phase_seconds_count", phase=phase)

    assert {phase: count(phase) for phase in ("dispatch", "handler", "total")} == {
        "dispatch": 2,
        "handler": 2,
        "total": 2,
    }
    assert count("pre_tool_use") == 2
    assert count("post_tool_use") == 1
    total = value(samples, "call_phase_seconds_sum", phase="total")
    assert total >= value(samples, "call_phase_seconds_sum", phase="handler") > 0


async def test_queue_lengths_sessions_and_bytes_are_those_of_the_moment(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder)
    held = asyncio.Event()
    async with attached(server.address, held=held) as agent:
        await dispatched(agent, held, "runs", "turn_1")
        waits = agent.dispatch(call("waits", "fail"))
        await agent.call(call("beside", turn_id="turn_1"), timeout_seconds=0.05)
        during = await scrape(server)
        await agent.cancel(turn_id="turn_1")
        await waits
        after = await scrape(server)

    def open_calls(samples: Samples, phase: str) -> float:
        return value(samples, "open_calls", phase=phase)

    assert (open_calls(during, "handler"), open_calls(during, "queued")) == (1, 1)
    assert (open_calls(after, "handler"), open_calls(after, "queued")) == (0, 0)
    assert value(during, "payload_in_flight_bytes") > 0
    assert value(after, "payload_in_flight_bytes") == 0
    assert value(during, "sessions", state="attached") == 1
    assert value(during, "records_held_bytes") > 0
    assert value(after, "call_bytes_total", direction="payload") > 0
    assert value(after, "sessions_opened_total") == 1


async def test_recorder_losses_are_counted_per_cause_and_outlive_their_session(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder, "--max-record-bytes-total", "1")
    async with attached(server.address) as agent:
        await agent.call(call("call_1"))
        await agent.call(call("call_2"))
        during = await scrape(server)
    after = await scrape(server)

    for samples in (during, after):
        assert value(samples, "records_lost_total", cause="memory_marked") == 2
        assert value(samples, "records_lost_total", cause="direct_dropped") == 0


async def test_refusals_are_counted_by_limit_on_streams_and_in_rpcs_once_each(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder, "--max-sessions", "1", "--max-bytes-in-flight", "2000")
    async with attached(server.address) as agent:
        with pytest.raises(LimitError):
            await agent.unary.create_session()
        with pytest.raises(LimitError):
            async with attached(server.address):
                pass
        with pytest.raises(SidecallError, match="BUFFER_LIMIT"):
            await agent.call(call("large" * 100, "unknown" * 300))
        samples = await scrape(server)

    assert value(samples, "limit_refusals_total", limit="max_sessions") == 2
    assert value(samples, "limit_refusals_total", limit="max_bytes_in_flight") == 1


async def test_no_name_or_id_or_text_of_a_client_is_in_the_metrics(
    folder: Path, processes: Processes
) -> None:
    server = start(processes, folder, "--log-previews")
    held = asyncio.Event()
    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
        text = await scraped_text(server)

    for word in (*SECRETS, "no_such_tool", "break_turn", "turn_1", agent.session_id):
        assert word not in text


async def test_the_process_itself_is_measured(folder: Path, processes: Processes) -> None:
    samples = await scrape(start(processes, folder))

    assert samples["process_resident_memory_bytes", frozenset()] > 1 << 20
    assert samples["process_open_fds", frozenset()] > 3


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "example.com:9464"])
def test_an_address_that_others_can_reach_is_refused(address: str, folder: Path) -> None:
    result = finished(*(*SERVE, "--socket", str(folder / "a.sock")), "--metrics-listen", address)

    assert (result.returncode, result.stdout) == (2, "")
    assert "metrics_listen" in result.stderr
    assert "use 127.0.0.1" in result.stderr


def test_an_address_in_use_is_refused_with_its_name(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = finished(
            *(*SERVE, "--socket", str(folder / "a.sock")), "--metrics-listen", address
        )

    assert (result.returncode, result.stdout) == (2, "")
    assert f"metrics_listen: cannot listen on {address}" in result.stderr


def test_without_the_setting_nothing_listens_on_tcp(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), command=SERVE)

    inodes = {link.readlink().name for link in Path(f"/proc/{server.process.pid}/fd").iterdir()}
    listening = [
        line.split()[9]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{server.process.pid}/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    ]
    assert not inodes & {f"socket:[{inode}]" for inode in listening}
