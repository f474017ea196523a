"""Where the sidecar is, and how to reach it.

``unix:///path`` or ``host:port``; `SIDECALL_ENDPOINT` says it where the caller does not,
`SIDECALL_TOKEN` holds a bearer token.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import grpc
import grpc.aio

ENDPOINT_VARIABLE = "SIDECALL_ENDPOINT"
TOKEN_VARIABLE = "SIDECALL_TOKEN"

_MAX_MESSAGE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A sidecar's address and what it takes to talk to it.

    Args:
        address: `unix:///path/to.sock`, `host:port`, or any gRPC target.
        tls: use TLS; on for none of the addresses by default.
        root_certificates: PEM of the authority that signed the server, with TLS.
        client_certificate: PEM of the client's chain, for mutual TLS.
        client_key: PEM of its key.
        token: a bearer token.
    """

    address: str
    tls: bool = False
    root_certificates: bytes | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = None
    token: str = ""

    @classmethod
    def find(cls, endpoint: Endpoint | str | None = None) -> Endpoint:
        """The endpoint given, or the one the environment names.

        Raises:
            ValueError: there is none.
        """
        if isinstance(endpoint, Endpoint):
            return endpoint
        address = endpoint or os.environ.get(ENDPOINT_VARIABLE, "")
        if not address:
            raise ValueError(
                f"no endpoint: pass one, or set {ENDPOINT_VARIABLE} to the address in the"
                " sidecar's ready line"
            )
        return cls(address, token=os.environ.get(TOKEN_VARIABLE, ""))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every rpc carries."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self) -> grpc.Channel:
        """A channel for blocking code."""
        if self.tls:
            return grpc.secure_channel(self.address, self._credentials(), self._options())
        return grpc.insecure_channel(self.address, self._options())

    def aio_channel(self) -> grpc.aio.Channel:
        """A channel for asyncio."""
        if self.tls:
            return grpc.aio.secure_channel(self.address, self._credentials(), self._options())
        return grpc.aio.insecure_channel(self.address, self._options())

    def _credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(
            self.root_certificates, self.client_key, self.client_certificate
        )

    def _options(self) -> Sequence[tuple[str, str | int]]:
        options: list[tuple[str, str | int]] = [
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ]
        if self.address.startswith("unix:"):
            options.append(("grpc.default_authority", "localhost"))
        return options
