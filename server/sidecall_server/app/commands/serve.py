"""``sidecall serve``: run the sidecar until a signal ends it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from sidecall_server.app.flags import add_setting_flags, given_flags
from sidecall_server.app.logs import configure_logging
from sidecall_server.app.settings import Settings, SettingsError, load

if TYPE_CHECKING:
    from sidecall_server.app.server import Application

_EPILOG: Final = """\
Once clients can connect, one JSON line on standard output says where:
  {"event":"ready","address":"unix:///run/user/1000/sidecall/sidecall.sock",...}
Clients look for the address in SIDECALL_ENDPOINT. The log goes to standard
error. SIGTERM drains and exits with 0; a second one stops at once.

A flag wins over its variable (in brackets), a variable over the --config file.
Sizes are bytes, times are seconds.

examples:
  sidecall serve
  sidecall serve --socket /run/me/agent.sock --exit-with-parent
  sidecall serve --listen 0.0.0.0:7777 --tls-client-ca clients.pem \\
                 --tls-certificate cert.pem --tls-key key.pem
"""


def run(arguments: Sequence[str], build: Callable[[Settings], Application] | None = None) -> int:
    """Run the server; returns its exit status (2: it cannot start).

    Args:
        arguments: the flags.
        build: what makes the application to serve; absent: the sidecar itself.
    """
    parser = argparse.ArgumentParser(
        prog="sidecall serve",
        allow_abbrev=False,
        usage="sidecall serve [--socket FILE | --listen HOST:PORT] [option ...]",
        description="Run the sidecar.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_setting_flags(parser)
    options = parser.parse_args(arguments)
    try:
        settings = load(given_flags(options), os.environ, options.config).settings
    except SettingsError as error:
        print(f"sidecall serve: {error}", file=sys.stderr)
        return 2
    # gRPC's own log is not ours in form or place; what matters comes back as exceptions.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    configure_logging(settings.log_level, settings.log_format)
    from sidecall_server.app.process import run_server

    if build is None:
        from sidecall_server.app.application import SidecallApplication

        build = SidecallApplication
    return run_server(settings, build)
