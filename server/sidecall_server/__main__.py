"""``python -m sidecall_server``: the same as ``sidecall``."""

from __future__ import annotations

import sys

from sidecall_server.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
