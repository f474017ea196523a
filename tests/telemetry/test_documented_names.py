"""deploy/README.md lists every metric by its name, in both forms, and no other."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.app.processes import ROOT, Processes
from tests.app.test_command_line import SERVE
from tests.telemetry.agents import HOOKS, attached, end_in_every_way
from tests.telemetry.otlp_receiver import OtlpReceiver
from tests.telemetry.test_otlp import SOON
from tests.telemetry.test_prometheus import scraped_text

ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3]]
    for line in (ROOT / "deploy" / "README.md").read_text().splitlines()
    if line.startswith("| `sidecall_")
]
PROMETHEUS = {name for (names, _) in ROWS for name in names}
OTEL = {name for (_, names) in ROWS for name in names}


async def test_the_document_names_the_metrics_that_there_are(
    folder: Path, processes: Processes, receiver: OtlpReceiver
) -> None:
    server = processes.start(
        *("--socket", str(folder / "a.sock"), "--metrics-listen", "127.0.0.1:0"),
        *("--otlp-endpoint", receiver.endpoint),
        command=SERVE,
        variables=SOON,
    )
    held = asyncio.Event()
    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
        families = text_string_to_metric_families(await scraped_text(server))
        await receiver.wait_for(lambda: "gen_ai.execute_tool.duration" in receiver.metrics)

    served = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in families
        if family.name.startswith("sidecall_")
    }
    assert served == PROMETHEUS
    # OpenTelemetry's counters appear once they have counted something.
    assert receiver.metrics.keys() <= OTEL
    assert OTEL - receiver.metrics.keys() <= {
        "sidecall.hooks.failed_open",
        "sidecall.late_results",
        "sidecall.limit.refusals",
    }
