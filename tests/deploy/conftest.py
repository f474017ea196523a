"""Fixtures of the deployment tests."""

from __future__ import annotations

from tests.app.conftest import folder, processes

__all__ = ["folder", "processes"]
