"""The command line: ``sidecall serve | health | inspect | config``.

Each command is a module with ``run(arguments) -> exit status``, imported only when it is
called: a health probe must not pay for the server.

Exit status: 0 done; 1 the answer is no (not serving, not found, failed); 2 the command or its
settings cannot be used, or nothing answers.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

COMMANDS: Final = {
    "serve": "run the sidecar",
    "health": "ask a running sidecar whether it serves (exit status 0: yes)",
    "inspect": "look at sessions and tool calls of a running sidecar",
    "config": "show the settings in effect and where each comes from",
}

_EPILOG: Final = """\
examples:
  sidecall serve                               on this user's private unix socket
  sidecall serve --socket /run/me/agent.sock   on a socket of your choice
  sidecall serve --listen 127.0.0.1:7777       on TCP, this machine only
  SIDECALL_ENDPOINT=unix:///run/me/agent.sock sidecall health
  sidecall inspect sessions

`sidecall COMMAND --help` says more about each.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="sidecall",
        usage="sidecall COMMAND [option ...] | --help | --version",
        allow_abbrev=False,
        description="The tool-call runtime for AI agents, as a gRPC sidecar.",
        epilog="commands:\n"
        + "".join(f"  {name:<9}{summary}\n" for name, summary in COMMANDS.items())
        + "\n"
        + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    parser.add_argument("command", nargs="?", choices=COMMANDS, help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.version:
        from sidecall_server.app.version import VERSION, compiled

        print(f"sidecall {VERSION}{' (compiled)' if compiled() else ''}")
        return 0
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    # What a start makes stays, so looking for garbage only costs time; a server turns it on again.
    gc.disable()
    # pydantic would search all installed packages for plugins at its first use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    command = importlib.import_module(f"sidecall_server.app.commands.{options.command}")
    try:
        status: int = command.run(options.rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status
