"""Where the client finds the sidecar."""

from __future__ import annotations

import os

import pytest
from sidecall.client import Endpoint


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
