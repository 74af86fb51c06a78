"""Machines that joined and did not become ready: which the reaper ends, when, and with which permissions."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from components.clouds.eks.stuck_nodes import is_stuck
from tests.components import eks_specs
from tests.tables import cases

NOW = datetime(2026, 11, 25, 12, 0, 0, tzinfo=timezone.utc)
CRON_JOB = "kubernetes:batch/v1:CronJob"


@cases
def test_only_a_node_that_joined_and_is_not_ready_in_time_is_stuck(
    registered: str, initialized: str, stuck: bool
) -> None:
    joined = {"type": "Registered", "status": "True", "lastTransitionTime": f"2026-11-25T{registered}Z"}
    claim = {"status": {"conditions": [joined, {"type": "Initialized", "status": initialized}]}}
    assert is_stuck(claim, NOW, timedelta(minutes=20)) is stuck
    assert not is_stuck({"metadata": {"name": "new"}}, NOW, timedelta(minutes=20))


def test_it_looks_every_five_minutes_and_may_only_delete_claims() -> None:
    recording = eks_specs.recorded(eks_specs.gpu_pool(), cluster={"autoscaler": "karpenter"})
    spec = recording.only(CRON_JOB).inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert spec["schedule"] == "*/5 * * * *"
    assert pod["containers"][0]["env"] == [{"name": "MINUTES", "value": "20"}]
    assert pod["nodeSelector"]["gpucluster.dev/role"] == "admin"
    (role,) = [
        one.inputs["rules"]
        for one in recording.of_type("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole")
        if one.inputs["metadata"]["name"] == pod["serviceAccountName"]
    ]
    assert role == [{"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["list", "delete"]}]


def test_node_repair_is_on_and_the_agent_reports_no_gpu_as_broken() -> None:
    recording = eks_specs.recorded(eks_specs.gpu_pool(), cluster={"autoscaler": "karpenter"})
    (release,) = [
        one.inputs for one in recording.of_type("kubernetes:helm.sh/v3:Release") if one.inputs["name"] == "karpenter"
    ]
    # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/charts/karpenter/values.yaml
    assert release["values"]["settings"]["featureGates"] == {"nodeRepair": True}
    (agent,) = [
        one.inputs
        for one in recording.of_type("aws:eks/addon:Addon")
        if one.inputs["addonName"] == "eks-node-monitoring-agent"
    ]
    # Node repair deletes the node of a reported GPU with its job, and a lost connection to DCGM is reported for ever:
    # https://github.com/aws/eks-node-monitoring-agent/issues/266
    assert json.loads(agent["configurationValues"]) == {"nodeAgent": {"monitors": {"nvidia": {"enabled": False}}}}
