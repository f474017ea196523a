"""What the settings turn on, what they refuse, and that the rest is not even imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.app.processes import finished
from tests.app.test_command_line import SERVE

EXTRAS = ("prometheus_client", "opentelemetry")


def test_a_server_without_telemetry_imports_none_of_its_libraries() -> None:
    program = (
        "import sys, sidecall_server.app.application, sidecall_server.app.server;"
        f"print(sorted({set(EXTRAS)!r} & set(sys.modules)))"
    )

    assert finished(sys.executable, "-c", program).stdout == "[]\n"


@pytest.mark.parametrize(
    ("library", "setting", "value", "extra"),
    [
        ("prometheus_client", "metrics-listen", "127.0.0.1:0", "prometheus"),
        ("opentelemetry.sdk", "otlp-endpoint", "http://127.0.0.1:4317", "otel"),
    ],
)
def test_telemetry_that_is_not_installed_is_refused_with_what_to_install(
    library: str, setting: str, value: str, extra: str, folder: Path
) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None;"
        "from sidecall_server.app.cli import main; sys.exit(main())"
    )

    result = finished(
        *(sys.executable, "-c", program, "serve"),
        *("--socket", str(folder / "a.sock"), f"--{setting}", value),
    )

    assert (result.returncode, result.stdout) == (2, "")
    assert setting.replace("-", "_") in result.stderr
    assert f"pip install 'sidecall-server[{extra}]'" in result.stderr


@pytest.mark.parametrize("endpoint", ["127.0.0.1:4317", "grpc://host:4317", "http://", "http:///x"])
def test_an_otlp_endpoint_that_is_none_is_refused(endpoint: str, folder: Path) -> None:
    result = finished(*SERVE, "--socket", str(folder / "a.sock"), "--otlp-endpoint", endpoint)

    assert (result.returncode, result.stdout) == (2, "")
    assert "otlp_endpoint" in result.stderr
    assert "http://HOST:4317" in result.stderr
