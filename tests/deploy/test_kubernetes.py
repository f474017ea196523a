"""The Kubernetes manifests: valid, strict about rights, and with settings that work."""

from __future__ import annotations

import copy
import signal
from pathlib import Path

import kubernetes_validate
import pytest
from sidecall_server.app.settings import ENVIRONMENT_PREFIX, Settings, load

from tests.app.certificates import Authority
from tests.app.processes import Processes, finished
from tests.app.test_command_line import SERVE, SIDECALL
from tests.deploy.manifests import (
    FOLDER,
    Object,
    agent_pod,
    environment_of,
    moved,
    objects,
    pool_pod,
    sidecar_of,
)

KUBERNETES_VERSIONS = ("1.33", "1.37")
"""The oldest whose schemas are at hand and have native sidecars for good, and the newest."""

MANIFESTS = sorted(FOLDER.glob("*.yaml"))
PODS = {"agent": agent_pod(), "pool": pool_pod()}
IDLE_MIB = 64
"""What a sidecar without sessions takes; tests/app/test_sidecar.py holds it to that."""

NOT_SETTINGS = {"SIDECALL_ENDPOINT"}
"""Read by clients and probes."""


def settings_of(variables: dict[str, str]) -> Settings:
    return load({}, variables).settings


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_every_object_fits_the_strict_schema(path: Path, version: str) -> None:
    found = objects(path)

    assert found
    for one in found:
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_the_schema_refuses_a_field_that_does_not_exist(version: str) -> None:
    (deployment,) = objects(FOLDER / "agent.yaml")
    deployment["spec"]["template"]["spec"]["initContainers"][0]["restartPolicies"] = "Always"

    with pytest.raises(kubernetes_validate.ValidationError, match="restartPolicies"):
        kubernetes_validate.validate(deployment, version, strict=True)


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_no_container_can_do_more_than_it_must(pod: Object) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    for container in [*pod.get("initContainers", ()), *pod["containers"]]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}


def test_the_sidecar_is_a_native_one_that_shares_its_socket_with_the_agent() -> None:
    pod = agent_pod()
    (sidecar,), (agent,) = pod["initContainers"], pod["containers"]

    assert sidecar["restartPolicy"] == "Always"
    assert sidecar["volumeMounts"] == agent["volumeMounts"]
    (mount,) = sidecar["volumeMounts"]
    (volume,) = (one for one in pod["volumes"] if one["name"] == mount["name"])
    assert "emptyDir" in volume
    socket = environment_of(sidecar)["SIDECALL_SOCKET"]
    assert socket.startswith(mount["mountPath"] + "/")
    assert environment_of(agent)["SIDECALL_ENDPOINT"] == f"unix://{socket}"
    assert environment_of(sidecar)["SIDECALL_ENDPOINT"] == f"unix://{socket}"


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_the_pod_has_more_time_to_end_than_the_drain_takes(pod: Object) -> None:
    settings = settings_of(environment_of(sidecar_of(pod)))

    assert pod["terminationGracePeriodSeconds"] > settings.drain_seconds + 10


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_every_variable_is_a_setting(pod: Object) -> None:
    names = environment_of(sidecar_of(pod)).keys() - NOT_SETTINGS

    known = {ENVIRONMENT_PREFIX + field.upper() for field in Settings.model_fields}
    assert names <= known


def test_the_agents_memory_limit_is_above_all_that_the_limits_let_it_hold() -> None:
    sidecar = sidecar_of(agent_pod())
    settings = settings_of(environment_of(sidecar))
    limit_mib = int(sidecar["resources"]["limits"]["memory"].removesuffix("Mi"))
    held_bytes = settings.max_bytes_in_flight_total + settings.max_record_bytes_total
    held_bytes += settings.max_sessions * settings.max_message_bytes
    assert limit_mib >= IDLE_MIB + held_bytes / (1 << 20)


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_the_agents_sidecar_runs_and_its_probes_see_it(
    probe: str, folder: Path, processes: Processes
) -> None:
    sidecar = sidecar_of(agent_pod())
    (folder / "run").mkdir(0o777)  # an emptyDir
    (folder / "run").chmod(0o777)
    variables = moved(environment_of(sidecar), {"/run/sidecall": folder / "run"})
    server = processes.start(command=SERVE, variables=variables)

    name, *arguments = sidecar[probe]["exec"]["command"]
    assert name == "sidecall"
    result = finished(*SIDECALL, *arguments, variables=variables)

    assert (result.returncode, result.stdout) == (0, "SERVING\n")
    assert server.signalled(signal.SIGTERM) == 0
    gone = finished(*SIDECALL, *arguments, variables=variables)
    assert gone.returncode == 2


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_the_pools_sidecar_runs_with_tls_and_tokens_and_its_probes_see_it(
    probe: str, folder: Path, processes: Processes
) -> None:
    sidecar = sidecar_of(pool_pod())
    authority = Authority.make("authority")
    certificate, key = authority.sign("sidecall-pool").write(folder)
    certificate.rename(folder / "tls.crt")
    key.rename(folder / "tls.key")
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    (folder / "tokens").write_text("token\n")
    mounts = {mount["mountPath"]: folder for mount in sidecar["volumeMounts"]}
    variables = moved(environment_of(sidecar), mounts)
    variables["SIDECALL_LISTEN"] = variables["SIDECALL_LISTEN"].replace(":7777", ":0")
    server = processes.start(command=SERVE, variables=variables)
    port = server.address.rpartition(":")[2]
    variables["SIDECALL_ENDPOINT"] = variables["SIDECALL_ENDPOINT"].replace("7777", port)

    command = [word.replace("/etc/sidecall/tls", str(folder)) for word in probe_of(sidecar, probe)]
    result = finished(*SIDECALL, *command[1:], variables=variables)

    assert (result.returncode, result.stdout) == (0, "SERVING\n")


def probe_of(container: Object, probe: str) -> list[str]:
    return copy.copy(container[probe]["exec"]["command"])
