"""The sidecar itself, put together: sessions, their wire form, and the services around them."""

from __future__ import annotations

import secrets
from typing import Final

import grpc.aio

from sidecall_server.app.settings import Settings
from sidecall_server.app.telemetry.telemetry import Telemetry
from sidecall_server.app.version import VERSION
from sidecall_server.domain.limits import TEXT_LIMITS
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc.services import add_services
from sidecall_server.runtime.protocol import PROTOCOL_VERSIONS
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.codec import ProtobufCodec
from sidecall_server.wire.runtime import ServerInfo

FEATURES: Final = ("connect", "recorder", "projections", "normalize-prompt", "reflection")
"""What GetRuntimeInfo says this server can do."""


class SidecallApplication:
    """Implements `sidecall_server.app.server.Application`. Make it on a running loop.

    Raises:
        SettingsError: the telemetry that is asked for is not installed.
        ListenRefused: the address of the metrics cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.instance_id = secrets.token_hex(8)
        self._channelz = settings.channelz
        limits = settings.runtime_limits()
        TEXT_LIMITS.max_id_bytes = limits.max_id_bytes
        TEXT_LIMITS.max_tool_name_bytes = limits.max_tool_name_bytes
        defaults = SessionOptions(recorder_enabled=settings.recorder_enabled)
        self._telemetry = Telemetry(settings, self.instance_id)
        self._sessions = Sessions(
            limits,
            ProtobufCodec(limits, self.instance_id, defaults),
            observer=self._telemetry.observer,
        )
        self._telemetry.begin(self._sessions)
        self._info = ServerInfo(
            version=VERSION,
            instance_id=self.instance_id,
            protocol_versions=tuple(PROTOCOL_VERSIONS),
            features=FEATURES + (("channelz",) if settings.channelz else ()),
            recorder_enabled=settings.recorder_enabled,
        )

    def add_to(self, server: grpc.aio.Server) -> None:
        """Add all services; health says NOT_SERVING."""
        self._health = add_services(server, self._sessions, self._info, channelz=self._channelz)

    async def set_serving(self, serving: bool) -> None:
        """What health says from now on."""
        await self._health.set_serving(serving)

    def limit_refused(self, limit: str) -> None:
        """Count an rpc that was refused at a limit."""
        self._telemetry.observer.limit_refused(limit)

    async def drain(self, seconds: float) -> None:
        """Refuse what is new, let open calls end, abort the rest, end the streams."""
        await self._sessions.drain(seconds)

    async def close(self) -> None:
        """End all sessions, and with them their watchers; send the telemetry that is left."""
        self._sessions.close()
        await self._telemetry.close()
