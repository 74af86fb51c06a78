"""A machine that joined and cannot serve a GPU is ended: by the node reaper or by the real Karpenter's node repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from facts.concepts.broken_nodes import SINCE
from packages.rehearsal.tests.providers.eks.karpenter_sandbox import (
    SECONDS,
    KarpenterSandbox,
    conditions_of,
    karpenter_sandbox,
)
from packages.rehearsal.tests.simulated_cluster import JOBS, eventually, job
from rehearsal.cluster.cron_jobs import run_all
from tests.components import eks_specs

pytestmark = [pytest.mark.rehearsal]

_SYSTEM: Final = "namespaces/kube-system"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterSandbox]:
    pool = eks_specs.gpu_pool("t4-1", zones=eks_specs.THREE_ZONES, capacity_type="on-demand")
    with karpenter_sandbox(tmp_path_factory.mktemp("broken"), pool) as running:
        yield running


def submit(sandbox: KarpenterSandbox, name: str) -> None:
    made = job(name, 1, seconds=3600, nodeSelector={"gpucluster.dev/pool": "t4-1"})
    sandbox.api.create(JOBS, {**made, "spec": {**made["spec"], "backoffLimit": 3}})


def claim_with(sandbox: KarpenterSandbox, condition: str) -> dict[str, Any]:
    """The first claim that has the condition and is not being deleted."""

    def matching() -> Any:
        for each in sandbox.claims():
            if conditions_of(each).get(condition) == "True" and "deletionTimestamp" not in each["metadata"]:
                return each
        return None

    claim: dict[str, Any] = eventually(f"a claim is {condition}", matching, SECONDS)
    return claim


def ended(sandbox: KarpenterSandbox, claim: dict[str, Any]) -> bool:
    instance = claim["status"]["providerID"].rpartition("/")[2]
    return any(each["InstanceId"] == instance for each in sandbox.instances("shutting-down", "terminated"))


def reap(sandbox: KarpenterSandbox) -> str:
    """Run the CronJob's program; what it writes."""
    cluster = yaml.safe_load(sandbox.kubeconfig.read_text())["clusters"][0]["cluster"]
    folder = sandbox.run_dir / "cron-jobs"
    endpoint = cluster["server"].removeprefix("https://")
    declared = {each["metadata"]["uid"] for each in sandbox.api.list(f"/apis/batch/v1/{_SYSTEM}/cronjobs")}
    (output,) = run_all(sandbox.api, endpoint, cluster["certificate-authority-data"], folder, declared)
    return output


def test_broken_hardware_is_replaced_and_the_job_starts_again(sandbox: KarpenterSandbox) -> None:
    submit(sandbox, "repaired")
    broken = claim_with(sandbox, "Initialized")
    path = f"/api/v1/nodes/{broken['status']['nodeName']}"
    # As the monitoring agent reports it, an hour ago. Karpenter waits 10 minutes.
    report = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    report |= {"message": "GPU has fallen off the bus", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [*sandbox.api.get(path)["status"]["conditions"], report]
    sandbox.api.merge(f"{path}/status", {"status": {"conditions": conditions}})
    eventually("the machine is ended", lambda: ended(sandbox, broken), SECONDS)
    assert claim_with(sandbox, "Initialized")["metadata"]["name"] != broken["metadata"]["name"]
    sandbox.api.delete(f"{JOBS}/repaired")
    sandbox.settle()


def test_a_machine_whose_gpu_never_registers_is_ended(sandbox: KarpenterSandbox) -> None:
    sandbox.api.delete(f"/apis/apps/v1/{_SYSTEM}/daemonsets/nvidia-device-plugin-whole")
    submit(sandbox, "waits")
    stuck = claim_with(sandbox, "Registered")
    node = stuck["status"]["nodeName"]
    # Twice: it is only noted, as the minutes of a driver's installation are not over.
    assert (reap(sandbox), reap(sandbox)) == (f"note {node}: 0 of 1 nvidia.com/gpu usable\n", "")
    sandbox.api.delete(f"{JOBS}/waits")
    since = {"metadata": {"annotations": {SINCE: "2026-01-01T00:00:00Z"}}}
    sandbox.api.merge(f"/api/v1/nodes/{node}", since)
    assert f"end {node}: since 2026-01-01" in reap(sandbox)
    eventually("the machine is ended", lambda: ended(sandbox, stuck), SECONDS)
