"""Where ``health`` and ``inspect`` find the sidecar, and how they prove who they are."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

import grpc
from sidecall.endpoint import (
    ENDPOINT_VARIABLE,
    TOKEN_VARIABLE,
    Endpoint,
    default_address,
)

DEFAULT_TIMEOUT_SECONDS: Final = 5.0

_UNREACHABLE: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})


class EndpointError(Exception):
    """The endpoint, or one of its files, cannot be used; the message says why."""


def add_endpoint_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a sidecar."""
    parser.add_argument(
        "--endpoint",
        metavar="ADDRESS",
        help="the address of the ready line: unix:///path, HOST:PORT or tls://HOST:PORT"
        f" (default: this user's private socket)  [{ENDPOINT_VARIABLE}]",
    )
    parser.add_argument("--tls", action="store_true", help="use TLS; implied by the next three")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="who signed the server")
    parser.add_argument("--tls-certificate", type=Path, metavar="FILE", help="for mutual TLS")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="the key of that certificate")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"bearer token, on the first line of the file  [{TOKEN_VARIABLE}: the token]",
    )
    parser.add_argument(
        "--timeout-seconds",
        type=float,
        default=DEFAULT_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for an answer (default: {DEFAULT_TIMEOUT_SECONDS:g})",
    )


def chosen_endpoint(options: argparse.Namespace) -> Endpoint:
    """The endpoint of the flags, else of the environment, else the default socket.

    Raises:
        EndpointError: a file cannot be read, or the address is none.
    """
    address = options.endpoint or os.environ.get(ENDPOINT_VARIABLE)
    token = os.environ.get(TOKEN_VARIABLE, "")
    if options.token_file is not None:
        token = _read(options.token_file).decode("utf-8", "replace").partition("\n")[0].strip()
    certificate, key, authority = (
        None if path is None else _read(path)
        for path in (options.tls_certificate, options.tls_key, options.tls_ca)
    )
    try:
        return Endpoint(
            address or default_address(),
            tls=options.tls or any(file is not None for file in (certificate, key, authority)),
            root_certificates=authority,
            client_certificate=certificate,
            client_key=key,
            token=token,
        )
    except ValueError as error:
        raise EndpointError(str(error)) from None


def failure(error: grpc.RpcError, endpoint: Endpoint) -> tuple[int, str]:
    """The exit status and the text for an rpc that failed: 2 when nothing answers, else 1."""
    if not isinstance(error, grpc.Call):
        return 1, str(error)
    code, details = error.code().name, error.details() or ""
    if code in _UNREACHABLE:
        return 2, f"nothing answers at {endpoint.address} ({code}: {details})"
    return 1, f"{code}: {details or 'the sidecar says no more'}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EndpointError(f"{path}: cannot be read: {error.strerror}") from None
