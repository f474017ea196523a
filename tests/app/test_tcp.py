"""TCP: who may listen where, TLS, mutual TLS and bearer tokens, with real processes."""

from __future__ import annotations

import signal
from pathlib import Path

import grpc
import pytest
from sidecall_server.app.tcp import ListenRefused, TcpAddress

from tests.app.certificates import Authority, Identity, replace
from tests.app.processes import DEADLINE_SECONDS, Processes, ServerProcess, method_of, refused

LOOPBACK = ("--listen", "127.0.0.1:0")
EVERYWHERE = ("--listen", "0.0.0.0:0")


@pytest.fixture
def authority() -> Authority:
    return Authority.make("authority")


def tls_flags(identity: Identity, folder: Path) -> tuple[str, ...]:
    certificate, key = identity.write(folder)
    return ("--tls-certificate", str(certificate), "--tls-key", str(key))


def client_ca_flags(authority: Authority, folder: Path) -> tuple[str, ...]:
    path = folder / "clients.pem"
    replace(path, authority.certificate_pem)
    return ("--tls-client-ca", str(path))


def ring(
    server: ServerProcess,
    trusted: Authority | None = None,
    client: Identity | None = None,
    token: str = "",
) -> bytes:
    """One call over a connection of its own."""
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    options = [("grpc.use_local_subchannel_pool", 1)]
    if trusted is None:
        channel = grpc.insecure_channel(server.address, options)
    else:
        credentials = grpc.ssl_channel_credentials(
            trusted.certificate_pem,
            client.key_pem if client else None,
            client.certificate_pem if client else None,
        )
        channel = grpc.secure_channel(server.address, credentials, options)
    with channel:
        return method_of(channel, "Ring")(b"", timeout=DEADLINE_SECONDS, metadata=metadata)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0", "[::1]:0"])
def test_a_loopback_address_may_be_open(address: str, processes: Processes) -> None:
    server = processes.start("--listen", address)

    assert server.address.rpartition(":")[0] == address.rpartition(":")[0]
    assert ring(server) == b""


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.invalid:0"])
def test_an_address_that_others_reach_needs_tls(address: str) -> None:
    assert "--tls-certificate" in refused("--listen", address)


def test_a_token_does_not_replace_tls(folder: Path) -> None:
    (folder / "tokens").write_text("secret")

    said = refused(*EVERYWHERE, "--bearer-token-file", str(folder / "tokens"))

    assert "--tls-certificate" in said


def test_an_address_that_others_reach_needs_proof_of_who_calls(
    folder: Path, authority: Authority
) -> None:
    said = refused(*EVERYWHERE, *tls_flags(authority.sign("server"), folder))

    assert "--tls-client-ca (mutual TLS) or --bearer-token-file" in said


def test_with_tls_and_client_certificates_any_address_serves(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    flags = tls_flags(authority.sign("server"), folder) + client_ca_flags(authority, folder)

    assert processes.start(*EVERYWHERE, *flags).address.startswith("0.0.0.0:")


def test_two_servers_do_not_share_a_port(processes: Processes) -> None:
    first = processes.start(*LOOPBACK)

    assert f"cannot listen on {first.address}" in refused("--listen", first.address)
    assert ring(first) == b""


@pytest.mark.parametrize(
    "text", ["", "7777", ":7777", "host:", "host:-1", "host:65536", "::1:7777", "host:x", "a:٣"]
)
def test_an_address_that_is_not_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(ListenRefused, match="HOST:PORT"):
        TcpAddress.parse(text)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("localhost.example.com:1", False),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
    ],
)
def test_only_this_machine_counts_as_loopback(text: str, loopback: bool) -> None:
    assert TcpAddress.parse(text).loopback is loopback


def test_tls_serves_those_who_trust_its_authority(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    server = processes.start(*LOOPBACK, *tls_flags(authority.sign("server"), folder))

    assert ring(server, authority) == b""
    with pytest.raises(grpc.RpcError):
        ring(server, Authority.make("somebody else"))


def test_mutual_tls_refuses_clients_without_a_certificate_of_its_authority(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    clients = Authority.make("clients")
    flags = tls_flags(authority.sign("server"), folder) + client_ca_flags(clients, folder)
    server = processes.start(*LOOPBACK, *flags)

    assert ring(server, authority, clients.sign("agent")) == b""
    for impostor in (None, authority.sign("agent")):
        with pytest.raises(grpc.RpcError):
            ring(server, authority, impostor)


def test_new_certificates_hold_for_the_next_connection(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    server = processes.start(*LOOPBACK, *tls_flags(authority.sign("server"), folder))
    assert ring(server, authority) == b""
    successor = Authority.make("successor")

    successor.sign("server").write(folder)

    assert ring(server, successor) == b""
    with pytest.raises(grpc.RpcError):
        ring(server, authority)


def test_a_new_client_authority_holds_for_the_next_connection(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    old, new = Authority.make("old"), Authority.make("new")
    flags = tls_flags(authority.sign("server"), folder) + client_ca_flags(old, folder)
    server = processes.start(*LOOPBACK, *flags)
    assert ring(server, authority, old.sign("agent")) == b""

    client_ca_flags(new, folder)

    assert ring(server, authority, new.sign("agent")) == b""
    with pytest.raises(grpc.RpcError):
        ring(server, authority, old.sign("agent"))


def test_half_replaced_certificates_leave_the_last_good_ones_in_place(
    folder: Path, authority: Authority, processes: Processes
) -> None:
    server = processes.start(*LOOPBACK, *tls_flags(authority.sign("server"), folder))
    successor = Authority.make("successor").sign("server")

    replace(folder / "certificate.pem", successor.certificate_pem)
    assert ring(server, authority) == b""
    (folder / "certificate.pem").unlink()
    assert ring(server, authority) == b""

    assert "not reloaded" in server.log


def test_a_key_of_another_certificate_is_refused_at_the_start(
    folder: Path, authority: Authority
) -> None:
    flags = tls_flags(authority.sign("server"), folder)
    replace(folder / "key.pem", authority.sign("another").key_pem)

    assert "are not a certificate and its key" in refused(*LOOPBACK, *flags)


def test_a_client_authority_without_certificates_is_refused_at_the_start(
    folder: Path, authority: Authority
) -> None:
    flags = tls_flags(authority.sign("server"), folder) + client_ca_flags(authority, folder)
    replace(folder / "clients.pem", b"nothing")

    assert "holds no certificates" in refused(*LOOPBACK, *flags)


def test_a_stopped_tcp_server_frees_its_port(processes: Processes) -> None:
    first = processes.start(*LOOPBACK)
    assert first.signalled(signal.SIGTERM) == 0

    assert ring(processes.start("--listen", first.address)) == b""
