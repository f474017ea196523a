"""Where the sidecar is, and how to reach it.

``unix:///path``, ``host:port`` or ``tls://host:port``; where the caller does not say it
`SIDECALL_ENDPOINT` does, else it is where `sidecall serve` listens by default. `SIDECALL_TOKEN`
holds a bearer token.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import grpc
import grpc.aio

ENDPOINT_VARIABLE = "SIDECALL_ENDPOINT"
TOKEN_VARIABLE = "SIDECALL_TOKEN"
TLS_SCHEME = "tls://"

_MAX_MESSAGE_BYTES = 64 * 1024 * 1024


def default_address() -> str:
    """Where this user's sidecar listens when nobody says otherwise."""
    runtime_folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime_folder):
        folder = Path(runtime_folder, "sidecall")
    else:
        folder = Path(tempfile.gettempdir(), f"sidecall-{os.geteuid()}")
    return "unix://" + quote(str(folder / "sidecall.sock"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A sidecar's address and what it takes to talk to it.

    Args:
        address: `unix:///path/to.sock`, `host:port`, `tls://host:port`, or any gRPC target.
        tls: use TLS, as `tls://` does.
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

    def __post_init__(self) -> None:
        if self.address.startswith(("/", "./", "~")):
            raise ValueError(f"{self.address!r} is a path; write {'unix://' + self.address!r}")
        if self.address.startswith(TLS_SCHEME):
            object.__setattr__(self, "address", self.address.removeprefix(TLS_SCHEME))
            object.__setattr__(self, "tls", True)

    @classmethod
    def find(cls, endpoint: Endpoint | str | None = None) -> Endpoint:
        """The endpoint given, else the one the environment names, else the default socket."""
        if isinstance(endpoint, Endpoint):
            return endpoint
        address = endpoint or os.environ.get(ENDPOINT_VARIABLE) or default_address()
        return cls(address, token=os.environ.get(TOKEN_VARIABLE, ""))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every rpc carries."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    def channel(self) -> grpc.Channel:
        """A channel for blocking code."""
        if self.tls:
            return grpc.secure_channel(self.address, self._credentials(), self.options)
        return grpc.insecure_channel(self.address, self.options)

    def aio_channel(self) -> grpc.aio.Channel:
        """A channel for asyncio."""
        if self.tls:
            return grpc.aio.secure_channel(self.address, self._credentials(), self.options)
        return grpc.aio.insecure_channel(self.address, self.options)

    def _credentials(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(
            self.root_certificates, self.client_key, self.client_certificate
        )

    @property
    def options(self) -> Sequence[tuple[str, str | int]]:
        """The options of its channels."""
        options: list[tuple[str, str | int]] = [
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ]
        if self.address.startswith("unix:"):
            options.append(("grpc.default_authority", "localhost"))
        if _is_on_this_machine(self.address):
            options.append(("grpc.enable_http_proxy", 0))  # a proxy would look on its own machine
        return options


def _is_on_this_machine(address: str) -> bool:
    """Whether a gRPC target is a unix socket or a loopback address."""
    scheme, _, rest = address.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return True
    host = (rest if scheme in ("dns", "ipv4", "ipv6") else address).rpartition("/")[2]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
