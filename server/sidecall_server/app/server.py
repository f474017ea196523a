"""The life of the server: bind, say that it is ready, serve, drain, leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Protocol, TextIO

import grpc
import grpc.aio

from sidecall_server.app.settings import Settings
from sidecall_server.app.shutdown import Shutdown, parent_watched, signals, watch_stdin
from sidecall_server.app.sockets import UnixSocket, default_socket_path
from sidecall_server.app.tcp import Certificates, ListenRefused, TcpAddress, require_protected
from sidecall_server.app.version import VERSION, compiled
from sidecall_server.rpc.authentication import BearerAuthentication, BearerTokens
from sidecall_server.rpc.boundary import ErrorBoundary, receive_limit_bytes

log = logging.getLogger(__name__)

CLIENT_PING_INTERVAL_MS: Final = 10_000
"""Clients may ping this often, with or without calls."""

LOSS_DRAIN_SECONDS: Final = 2.0
"""The longest drain when the parent is gone: whoever would read the results is, too."""

STOP_GRACE_SECONDS: Final = 1.0
"""What an rpc has to end after the drain; streams have been told to end by then."""


class Application(Protocol):
    """What is served. `application.py` has the real one."""

    @property
    def instance_id(self) -> str:
        """New for each start."""

    def add_to(self, server: grpc.aio.Server) -> None:
        """Add the services; health says NOT_SERVING."""

    async def set_serving(self, serving: bool) -> None:
        """What health says from now on."""

    def limit_refused(self, limit: str) -> None:
        """An rpc was refused at this limit."""

    async def drain(self, seconds: float) -> None:
        """Take nothing new, let open calls end for so long, abort the rest, end the streams."""

    async def close(self) -> None:
        """End everything at once and wait for what was started. Also after a drain."""


async def serve(
    settings: Settings, build: Callable[[Settings], Application], ready_to: TextIO
) -> int:
    """Serve until told to leave; returns the exit status.

    0 after an orderly end, 128 + the signal's number after a second signal. `ready_to` gets
    one JSON line once clients can connect.

    Raises:
        SocketError: the unix socket cannot be served.
        ListenRefused: the address or its certificates cannot be used.
        TokenFileError: the bearer tokens cannot be read.
    """
    shutdown = Shutdown()
    with contextlib.ExitStack() as stack:
        stack.enter_context(signals(shutdown))
        if settings.exit_with_parent:
            stack.enter_context(parent_watched(os.getppid(), shutdown.on_loss))
        if settings.exit_on_stdin_eof:
            watch_stdin(shutdown.on_loss)
        application = build(settings)
        server = grpc.aio.server(
            interceptors=[
                ErrorBoundary(settings.max_message_bytes, application.limit_refused),
                *_authentication(settings),
            ],
            options=_options(settings),
        )
        application.add_to(server)
        address = stack.enter_context(_bound(server, settings))
        await server.start()
        await application.set_serving(True)
        _collect_seldom()
        _announce(address, application.instance_id, ready_to)
        await shutdown.requested.wait()
        log.info("leaving: %s", shutdown.reason)
        return await _leave(server, application, shutdown, settings.drain_seconds)


async def _leave(
    server: grpc.aio.Server, application: Application, shutdown: Shutdown, drain_seconds: float
) -> int:
    seconds = drain_seconds if shutdown.orderly else min(drain_seconds, LOSS_DRAIN_SECONDS)
    draining = asyncio.create_task(_drain(server, application, seconds))
    forced = asyncio.create_task(shutdown.forced.wait())
    await asyncio.wait({draining, forced}, return_when=asyncio.FIRST_COMPLETED)
    forced.cancel()
    if draining.done():
        await draining
        log.info("stopped")
        return 0
    draining.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await draining
    await application.close()
    await server.stop(None)
    log.warning("stopped at once, by a second signal")
    return 128 + shutdown.signal_number


async def _drain(server: grpc.aio.Server, application: Application, seconds: float) -> None:
    await application.set_serving(False)
    await application.drain(seconds)
    await application.close()
    await server.stop(STOP_GRACE_SECONDS)


def _options(settings: Settings) -> list[tuple[str, int]]:
    return [
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", receive_limit_bytes(settings.max_message_bytes)),
        ("grpc.max_send_message_length", settings.max_message_bytes),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", CLIENT_PING_INTERVAL_MS),
        ("grpc.http2.max_ping_strikes", 0),
    ]


def _authentication(settings: Settings) -> list[grpc.aio.ServerInterceptor]:
    if settings.bearer_token_file is None:
        return []
    return [BearerAuthentication(BearerTokens(settings.bearer_token_file))]


@contextlib.contextmanager
def _bound(server: grpc.aio.Server, settings: Settings) -> Iterator[str]:
    """Bind the server; yields the address clients use, and removes a unix socket at the end."""
    if settings.listen is not None:
        yield _bind_tcp(server, settings, TcpAddress.parse(settings.listen))
        return
    path = Path(settings.socket) if settings.socket else default_socket_path(os.environ)
    with UnixSocket.claim(path, settings.socket_group) as claimed:
        with claimed.binding(), _bind_errors(claimed.address):
            server.add_insecure_port(claimed.address)
        yield claimed.address


def _bind_tcp(server: grpc.aio.Server, settings: Settings, address: TcpAddress) -> str:
    authenticated = settings.tls_client_ca is not None or settings.bearer_token_file is not None
    certificates = None
    if settings.tls_certificate is not None and settings.tls_key is not None:
        certificates = Certificates(
            settings.tls_certificate, settings.tls_key, settings.tls_client_ca
        )
    require_protected(address, tls=certificates is not None, authenticated=authenticated)
    with _bind_errors(str(address)):
        if certificates is None:
            port = server.add_insecure_port(str(address))
        else:
            port = server.add_secure_port(str(address), certificates.credentials())
    return str(TcpAddress(address.host, port))


@contextlib.contextmanager
def _bind_errors(address: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise ListenRefused(
            f"cannot listen on {address}: it is in use, or not this machine's, or not allowed;"
            " GRPC_VERBOSITY=debug says more"
        ) from error


def _collect_seldom() -> None:
    """Look for garbage again, which the start does without, but seldom.

    Values have no cycles, and what the start made lives as long as the server. With Python's own
    thresholds a small call took 3 to 5 % longer.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


def _announce(address: str, instance_id: str, ready_to: TextIO) -> None:
    ready = {
        "event": "ready",
        "address": address,
        "pid": os.getpid(),
        "version": VERSION,
        "compiled": compiled(),
        "instance_id": instance_id,
    }
    log.info("ready", extra={key: value for key, value in ready.items() if key != "event"})
    try:
        print(json.dumps(ready, separators=(",", ":")), file=ready_to, flush=True)
    except BrokenPipeError:
        log.warning("nobody reads the ready line")
