"""A sidecar, and grpcurl to look into it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from tests.grpcurl.grpcurl import Grpcurl, installed

MISSING = "grpcurl is missing: `make .tools/bin/grpcurl` installs it (needs Go, https://go.dev/dl)"


@pytest.fixture(scope="module")
def grpcurl() -> Iterator[Grpcurl]:
    """grpcurl, pointed at a sidecar of this module's own."""
    program = installed()
    if program is None:
        if shutil.which("go") or os.environ.get("REQUIRE_ALL"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        command = [sys.executable, "-m", "sidecall_server", "serve", "--socket", f"{folder}/s.sock"]
        with subprocess.Popen(
            [*command, "--log-level", "error"], stdout=subprocess.PIPE, text=True
        ) as sidecar:
            try:
                assert sidecar.stdout is not None
                yield Grpcurl(program, json.loads(sidecar.stdout.readline())["address"])
            finally:
                sidecar.kill()
