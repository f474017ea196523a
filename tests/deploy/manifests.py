"""The manifests of deploy/kubernetes, read as a cluster would read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.app.processes import ROOT

Object = dict[str, Any]

FOLDER: Final = ROOT / "deploy" / "kubernetes"


def objects(path: Path) -> list[Object]:
    """The objects of a file."""
    return list(yaml.safe_load_all(path.read_text()))


def pod_of(name: str, kind: str) -> Object:
    """The pod that an object of a file makes."""
    (found,) = (one for one in objects(FOLDER / name) if one["kind"] == kind)
    pod: Object = found["spec"]["template"]["spec"]
    return pod


def agent_pod() -> Object:
    return pod_of("agent.yaml", "Deployment")


def pool_pod() -> Object:
    return pod_of("pool.yaml", "StatefulSet")


def sidecar_of(pod: Object) -> Object:
    """The container that runs sidecall."""
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    (sidecar,) = (one for one in containers if one["image"].startswith("sidecall:"))
    return dict(sidecar)


def environment_of(container: Object) -> dict[str, str]:
    """The variables that a container sets."""
    return {variable["name"]: variable["value"] for variable in container["env"]}


def moved(variables: Mapping[str, str], folders: Mapping[str, Path]) -> dict[str, str]:
    """The same variables with other folders in the place of a container's."""
    result = {}
    for name, value in variables.items():
        for container_folder, folder in folders.items():
            value = value.replace(container_folder, str(folder))
        result[name] = value
    return result
