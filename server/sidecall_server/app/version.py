"""The version of this server: pyproject.toml takes it from here."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
