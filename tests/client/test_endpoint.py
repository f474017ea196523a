"""Where the client finds the sidecar."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator

import pytest
from sidecall.client import AsyncClient, Client, Endpoint

from tests.client.agents import SIDECALL


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SIDECALL_ENDPOINT", "SIDECALL_TOKEN", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECALL_ENDPOINT", "localhost:1")
    assert Endpoint.find("localhost:2").address == "localhost:2"
    assert Endpoint.find(Endpoint("localhost:3")).address == "localhost:3"
    assert Endpoint.find().address == "localhost:1"


def test_tls_is_said_by_the_address() -> None:
    assert Endpoint.find("tls://sidecar.example:7443") == Endpoint("sidecar.example:7443", tls=True)
    assert not Endpoint("sidecar.example:7443").tls


def test_the_default_is_this_user_s_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Endpoint.find().address.endswith(f"/sidecall-{os.geteuid()}/sidecall.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert Endpoint.find().address == "unix:///run/user/7/sidecall/sidecall.sock"


def test_a_token_travels_with_every_rpc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIDECALL_TOKEN", "secret")
    assert Endpoint.find().metadata == (("authorization", "Bearer secret"),)
    monkeypatch.delenv("SIDECALL_TOKEN")
    assert Endpoint.find().metadata == ()


@pytest.mark.parametrize("path", ["/run/sidecall.sock", "./sidecall.sock", "~/sidecall.sock"])
def test_a_path_is_not_an_address(path: str) -> None:
    with pytest.raises(ValueError, match=f"write 'unix://{path}'"):
        Endpoint(path)


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names a proxy that nobody can reach."""
    for name in ("no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Where a sidecar listens on the loopback."""
    process = await asyncio.create_subprocess_exec(
        *(SIDECALL, "serve", "--listen", "127.0.0.1:0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    yield int(ready["address"].rpartition(":")[2])
    process.kill()
    await process.wait()


@pytest.mark.usefixtures("dead_proxy")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "ipv4:127.0.0.1", "dns:///localhost"])
async def test_a_sidecar_on_this_machine_is_not_looked_for_through_a_proxy(
    port: int, host: str
) -> None:
    async with asyncio.timeout(30), AsyncClient(f"{host}:{port}") as client:
        assert await client.server_version()
    with Client(f"{host}:{port}") as blocking:
        assert await asyncio.to_thread(blocking.server_version)


@pytest.mark.parametrize(
    ("address", "proxied"),
    [
        ("unix:///run/sidecall.sock", False),
        ("unix-abstract:sidecall", False),
        ("[::1]:80", False),
        ("ipv6:[::1]:80", False),
        ("127.8.8.8:80", False),
        ("tls://localhost:443", False),
        ("sidecar.example:80", True),
        ("localhost.example:80", True),
        ("10.0.0.1:80", True),
        ("ipv6:[fe80::1]:80", True),
    ],
)
def test_only_what_is_elsewhere_may_be_behind_a_proxy(address: str, proxied: bool) -> None:
    assert (("grpc.enable_http_proxy", 0) not in Endpoint(address).options) is proxied
