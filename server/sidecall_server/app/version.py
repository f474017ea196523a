"""The version of this server: pyproject.toml takes it from here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

VERSION: Final = "0.1.0"


def compiled() -> bool:
    """Whether the server's own work runs as compiled code (setup.py)."""
    call = find_spec("sidecall_server.runtime.call")
    return call is not None and call.origin is not None and not call.origin.endswith(".py")
