"""The version of this server."""

from __future__ import annotations

from importlib import metadata


def server_version() -> str:
    """The version of the installed distribution."""
    return metadata.version("sidecall-server")
