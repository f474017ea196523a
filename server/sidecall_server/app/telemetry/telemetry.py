"""The telemetry that the settings ask for, put together. What nobody asks for is not imported."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from sidecall_server.app.settings import Settings, SettingsError
from sidecall_server.app.tcp import ListenRefused, TcpAddress
from sidecall_server.app.telemetry.observers import observer_of
from sidecall_server.runtime.observer import Observer
from sidecall_server.runtime.sessions import Sessions

if TYPE_CHECKING:
    from sidecall_server.app.telemetry.census import Census
    from sidecall_server.app.telemetry.otlp import OtlpExport
    from sidecall_server.app.telemetry.prometheus import PrometheusEndpoint, PrometheusMetrics

log = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 3.0
"""How long the end of the server waits for telemetry that is still to be sent."""


class Telemetry:
    """Made before the sessions, because they need its observer; begun with them; closed last."""

    def __init__(self, settings: Settings, instance_id: str) -> None:
        self._census: Census | None = None
        self._prometheus: PrometheusMetrics | None = None
        self._endpoint: PrometheusEndpoint | None = None
        self._otlp: OtlpExport | None = None
        observers: list[Observer] = []
        if settings.log_level == "debug":
            from sidecall_server.app.telemetry.call_log import CallLog

            observers.append(CallLog(previews=settings.log_previews))
        self._metrics_address = _metrics_address(settings)
        if self._metrics_address is not None or settings.otlp_endpoint is not None:
            from sidecall_server.app.telemetry.census import Census

            self._census = Census()
            observers.append(self._census)
            if self._metrics_address is not None:
                self._prometheus = _prometheus(self._census)
                observers.append(self._prometheus)
            if settings.otlp_endpoint is not None:
                self._otlp = _otlp(settings, instance_id, self._census)
                observers += self._otlp.observers
        self.observer = observer_of(observers)
        """What the sessions are to tell."""

    def begin(self, sessions: Sessions) -> None:
        """Begin to serve metrics.

        Raises:
            ListenRefused: the address of the metrics cannot be used.
        """
        if self._census is not None:
            self._census.begin(sessions)
        if self._prometheus is not None and self._metrics_address is not None:
            self._endpoint = self._prometheus.serve(self._metrics_address)
            address = f"http://{self._endpoint.address}/metrics"
            log.info("metrics served", extra={"address": address})

    async def close(self) -> None:
        """Send what is left, for `FLUSH_SECONDS` at most, and serve no more. Idempotent."""
        endpoint, self._endpoint = self._endpoint, None
        otlp, self._otlp = self._otlp, None
        closing = [one.close for one in (endpoint, otlp) if one is not None]
        await asyncio.gather(*(_finish(close) for close in closing))


async def _finish(close: Callable[[], None]) -> None:
    """Run it in a thread that holds up neither the loop nor, past its time, the process."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            close()
        except Exception:
            log.exception("telemetry did not close")
        with contextlib.suppress(RuntimeError):  # too late: the loop is gone
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name="telemetry-close", daemon=True).start()
    try:
        await asyncio.wait_for(done.wait(), FLUSH_SECONDS)
    except TimeoutError:
        log.warning("telemetry not sent in %g s; what is left is lost", FLUSH_SECONDS)


def _metrics_address(settings: Settings) -> TcpAddress | None:
    if settings.metrics_listen is None:
        return None
    try:
        address = TcpAddress.parse(settings.metrics_listen)
    except ListenRefused:
        raise ListenRefused(
            f"metrics_listen: {settings.metrics_listen!r} is not HOST:PORT; write 127.0.0.1:9464"
        ) from None
    if not address.loopback:
        raise ListenRefused(
            f"metrics_listen: {address} can be reached by others, and metrics have neither TLS nor"
            " a password; use 127.0.0.1, or send them away with otlp_endpoint"
        )
    return address


def _prometheus(census: Census) -> PrometheusMetrics:
    try:
        from sidecall_server.app.telemetry.prometheus import PrometheusMetrics
    except ImportError as error:
        raise _missing("metrics_listen", "prometheus", error) from None
    return PrometheusMetrics(census)


def _otlp(settings: Settings, instance_id: str, census: Census) -> OtlpExport:
    endpoint = settings.otlp_endpoint
    assert endpoint is not None, "asked for"
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"otlp_endpoint: {endpoint!r} is not a receiver's address; write http://HOST:4317, or"
            " https:// for TLS"
        )
    try:
        from sidecall_server.app.telemetry.otlp import OtlpExport
    except ImportError as error:
        raise _missing("otlp_endpoint", "otel", error) from None
    return OtlpExport(endpoint, instance_id, census, previews=settings.log_previews)


def _missing(setting: str, extra: str, error: ImportError) -> SettingsError:
    return SettingsError(
        f"{setting} needs what is not installed ({error.name});"
        f" `pip install 'sidecall-server[{extra}]'`"
    )
