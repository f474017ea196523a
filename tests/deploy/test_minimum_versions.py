"""The oldest versions that pyproject.toml allows: installed, started, used."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.processes import ROOT, Processes
from tests.telemetry.agents import HOOKS, attached, end_in_every_way

INSTALL_SECONDS = 400
EXTRAS = ("prometheus", "otel")


def oldest(requirement: str) -> str:
    """The requirement with its lower bound as the only version."""
    bounds = re.fullmatch(r"([\w.-]+)[>=]=([\d.]+).*", requirement.strip())
    assert bounds is not None, f"{requirement} has no lower bound"
    return "==".join(bounds.groups())


def minimum_requirements() -> list[str]:
    """Every direct dependency of server and client, but these two themselves."""
    server = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    client = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]
    wanted = [*server["dependencies"], *client["dependencies"]]
    for extra in EXTRAS:
        wanted += server["optional-dependencies"][extra]
    return sorted({oldest(one) for one in wanted if not one.startswith("sidecall")})


@pytest.fixture(scope="module")
def sidecall() -> Iterator[Path]:
    """The command in an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="sc-oldest-") as name:
        environment = Path(name)
        python = environment / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True
        )
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"),
                *("--disable-pip-version-check", str(ROOT / "clients/python"), str(ROOT)),
                *minimum_requirements(),
            ],
            check=True,
            timeout=INSTALL_SECONDS,
            capture_output=True,
        )
        yield environment / "bin" / "sidecall"


async def test_a_sidecar_on_the_oldest_versions_serves_an_agent_with_all_telemetry_on(
    sidecall: Path, folder: Path, processes: Processes
) -> None:
    server = processes.start(
        *("--socket", str(folder / "a.sock"), "--metrics-listen", "127.0.0.1:0"),
        *("--otlp-endpoint", "http://127.0.0.1:1"),
        command=(str(sidecall), "serve"),
    )
    held = asyncio.Event()

    async with attached(server.address, HOOKS, held=held) as agent:
        await end_in_every_way(agent, held)
        assert await agent.unary.server_version() == server.ready["version"]

    assert "telemetry failed" not in server.log
