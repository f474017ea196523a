"""Fixtures of the telemetry tests: real sidecars, and a real OTLP receiver."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.app.conftest import folder, processes
from tests.telemetry.otlp_receiver import OtlpReceiver

__all__ = ["folder", "processes", "receiver"]


@pytest.fixture
async def receiver() -> AsyncIterator[OtlpReceiver]:
    """An OTLP receiver on a free port."""
    async with OtlpReceiver() as listening:
        yield listening
