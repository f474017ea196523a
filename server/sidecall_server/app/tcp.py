"""Listening on TCP: which addresses are allowed, and TLS that follows its files.

A port on the loopback interface may be open. One that others can reach needs TLS, and a proof
of who calls: client certificates or a bearer token.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
from pathlib import Path
from typing import Final

import grpc
from msgspec import Struct

log = logging.getLogger(__name__)

_MAX_PORT: Final = 65_535

_Stamp = tuple[tuple[int, int, int], ...]


class ListenRefused(Exception):
    """The address or its credentials cannot be used; the message says what to do."""


class TcpAddress(Struct, frozen=True):
    """A host (a name or an IP address) and a port; 0 takes a free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> TcpAddress:
        """Read ``HOST:PORT``, an IPv6 address in brackets.

        Raises:
            ListenRefused: it is not of that form.
        """
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        ambiguous = ":" in host and bare == host
        number = int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else -1
        if not (colon and bare) or ambiguous or not 0 <= number <= _MAX_PORT:
            raise ListenRefused(
                f"listen: {text!r} is not HOST:PORT; write 127.0.0.1:7777 or [::1]:7777"
            )
        return cls(bare, number)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it. Names other than localhost count as not."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def require_protected(address: TcpAddress, *, tls: bool, authenticated: bool) -> None:
    """Refuse an address that others can reach without TLS or without proof of who calls.

    Raises:
        ListenRefused: something is missing.
    """
    if address.loopback:
        return
    if not tls:
        raise ListenRefused(
            f"listen: {address} can be reached from other machines, which needs TLS; set"
            " --tls-certificate and --tls-key, or listen on 127.0.0.1"
        )
    if not authenticated:
        raise ListenRefused(
            f"listen: {address} can be reached from other machines, and anybody could call;"
            " set --tls-client-ca (mutual TLS) or --bearer-token-file"
        )


class Certificates:
    """The server's certificate, key and client authorities, read again when a file changes.

    What cannot be used while files are being replaced (half written, key of another
    certificate) is logged, and the last good ones stay.
    """

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        """Read the files.

        Raises:
            ListenRefused: they cannot be used.
        """
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._seen = self._stamp()
        self._configuration = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials that ask for the files' state at each new connection."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration,
            self._changed,  # type: ignore[arg-type]  # the stubs forget that None is "no change"
            require_client_authentication=self._client_ca is not None,
        )

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC, on a thread of its own, before a handshake. None: no change."""
        try:
            stamp = self._stamp()
            if stamp == self._seen:
                return None
            self._configuration = self._read()
        except ListenRefused as error:
            log.error("certificates not reloaded, the last ones stay: %s", error)
            return None
        self._seen = stamp
        log.info("certificates reloaded")
        return self._configuration

    def _files(self) -> list[Path]:
        return [path for path in (self._certificate, self._key, self._client_ca) if path]

    def _stamp(self) -> _Stamp:
        try:
            states = [os.stat(path) for path in self._files()]
        except OSError as error:
            raise ListenRefused(f"{error.filename}: {error.strerror}") from None
        return tuple((state.st_mtime_ns, state.st_ino, state.st_size) for state in states)

    def _read(self) -> grpc.ServerCertificateConfiguration:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ssl.SSLError) as error:
            raise ListenRefused(
                f"{self._certificate} and {self._key} are not a certificate and its key: {error}"
            ) from None
        authorities = None
        try:
            if self._client_ca is not None:
                context.load_verify_locations(self._client_ca)
                authorities = self._client_ca.read_bytes()
        except (OSError, ssl.SSLError) as error:
            raise ListenRefused(f"{self._client_ca} holds no certificates: {error}") from None
        pair = (self._key.read_bytes(), self._certificate.read_bytes())
        return grpc.ssl_server_certificate_configuration([pair], authorities)


def _no_password() -> str:
    """A key with a passphrase would make OpenSSL ask on the terminal; refuse it instead."""
    return ""
