"""The unchanged program with wrong inputs, the judges that need no engine, also of pods, and the committed tables."""

from __future__ import annotations

import functools
import itertools
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.providers.aks.test_program import Sent
from policies.offline import OfflineGate
from proof.mutants import program, table
from proof.mutants.judges import QuickJudges, Verdict
from proof.mutants.mutation import Mutant, Registered, mutants_of
from proof.mutants.placement import misplaced
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack, resolve
from rehearsal.providers.kubernetes import SimulatedKubernetes
from rehearsal.report.record import scope_of
from rehearsal.simulation import NodeShape, SimulatedNodeGroup
from tests import recorder
from tests.recorder import Recording
from tests.stacks import run_program, run_with_fault

STACK = resolve("dev")
POOL = "gcp:container/nodePool:NodePool"
CLUSTER = "gcp:container/cluster:Cluster"
AKS_POOL = "azure-native:containerservice:AgentPool"
AKS_CLUSTER = "azure-native:containerservice:ManagedCluster"
AKS_MAINTENANCE = "azure-native:containerservice:MaintenanceConfiguration"


def run(folder: Path, *mutants: Mutant, stack: Stack = STACK) -> tuple[Recording, list[Registered]]:
    """What the program registers with these mutants, and what it recorded before them."""
    plan, record = folder / "plan.json", folder / "record.jsonl"
    plan.write_text(json.dumps([asdict(one) for one in mutants]))
    record.write_text("")
    recording = run_with_fault(stack.file, lambda _: program.run(str(ROOT / "__main__.py"), str(plan), str(record)))
    return recording, [Registered(**json.loads(line)) for line in record.read_text().splitlines()]


@functools.cache
def judges(folder: Path) -> QuickJudges:
    return QuickJudges(STACK, run(folder)[1], OfflineGate.of_file(gate_for(ROOT, "dev").config), folder)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> QuickJudges:
    return judges(tmp_path_factory.mktemp("judges"))


def test_only_the_mutants_inputs_change_and_the_record_has_what_the_program_meant(tmp_path: Path) -> None:
    zone = Mutant(POOL, "t4-1-pool", ("nodeLocations", 0), "moved", '"us-central1-f"')
    spot = Mutant(POOL, "t4-1-pool", ("nodeConfig", "spot"), "dropped")
    created_early = Mutant(POOL, "t4-4-pool", ("(dependsOn)",), "dropped")
    unchanged = {each.urn: each for each in run_program(STACK.file).resources}
    recording, recorded = run(tmp_path, zone, spot, created_early)
    changed = {each.name: each for each in recording.resources if each.inputs != unchanged[each.urn].inputs}
    assert list(changed) == ["t4-1-pool"]
    inputs = changed["t4-1-pool"].inputs
    assert (inputs["nodeLocations"], "spot" in inputs["nodeConfig"]) == (["us-central1-f"], False)
    ahead = [each.name for each in recording.resources if set(each.depends_on) < set(unchanged[each.urn].depends_on)]
    assert ahead == ["t4-4-pool"]
    meant = {each.urn: each.inputs for each in recorded if not each.type.startswith("pulumi:")}
    assert meant == {urn: unchanged[urn].inputs for urn in meant}
    assert len(meant) > 20


def assert_noticed(verdicts: Mapping[Mutant, Verdict], expected: Mapping[Mutant, tuple[str, str]]) -> None:
    assert {one: verdict.judge for one, verdict in verdicts.items()} == {one: its[0] for one, its in expected.items()}
    assert [one for one, verdict in verdicts.items() if expected[one][1] not in verdict.detail] == []


# Mutant → the judge that notices it, and words of the detail.
EXPECTED_JUDGES: Final = {
    Mutant(CLUSTER, "cluster-control-plane", ("releaseChannel", "channel"), "moved", '"OFTEN"'): ("types", "OFTEN"),
    Mutant(CLUSTER, "cluster-control-plane", ("privateClusterConfig",), "dropped"): ("gate", "nodes-private"),
    Mutant(POOL, "t4-1-pool", ("nodeConfig", "taints"), "dropped"): ("gate", "gpu-taint"),
    Mutant(POOL, "t4-1-pool", ("nodeConfig", "labels"), "dropped"): ("scenario", "groups-as-declared"),
    Mutant(POOL, "t4-1-pool", ("nodeConfig", "machineType"), "moved", '"n1-standard-5"'): (
        "gate",
        "hourly-cost-ceiling",
    ),
    Mutant(POOL, "t4-1-pool", ("project",), "dropped"): ("same", ""),
    Mutant(CLUSTER, "cluster-control-plane", ("maintenancePolicy",), "dropped"): ("scenario", "maintenance: any hour"),
    Mutant(CLUSTER, "cluster-control-plane", ("deletionProtection",), "flipped"): ("scenario", "destroy: Cannot"),
    Mutant(POOL, "t4-1-pool", ("name",), "moved", '"t4-x"'): ("nobody", ""),
}


def test_who_notices_what(quick: QuickJudges) -> None:
    assert_noticed(quick.verdicts(list(EXPECTED_JUDGES)), EXPECTED_JUDGES)


# What Azure refuses while another operation on a pool runs, or takes although it comes too late.
EXPECTED_ON_AZURE: Final = {
    Mutant(AKS_POOL, "inference-pool", ("(dependsOn)",), "dropped"): ("up", "Another agentpool operation"),
    Mutant(AKS_CLUSTER, "cluster-control-plane", ("(dependsOn)",), "dropped"): ("up", "has no rights in cluster"),
    Mutant(AKS_CLUSTER, "cluster-control-plane", ("sku", "name"), "moved", '"Automatic"'): (
        "up",
        "Node auto provisioning",
    ),
    Mutant(AKS_POOL, "training-1-spot-pool", ("nodeLabels", "kubernetes.azure.com/scalesetpriority"), "dropped"): (
        "scenario",
        "lose the label",
    ),
    Mutant(AKS_MAINTENANCE, "cluster-images-window", ("(dependsOn)",), "dropped"): ("nobody", ""),
}


def test_what_azure_refuses_beside_another_operation_or_takes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = resolve("examples/aks-train-infer.yaml")
    azure = aks.Microsoft(tmp_path / "azure", subscriptionId=stack.settings.project)
    monkeypatch.setattr(Sent, "azure", azure, raising=False)
    monkeypatch.setattr(recorder, "Cloud", Sent)
    gate = OfflineGate.of_file(gate_for(ROOT, stack.name).config)
    quick = QuickJudges(stack, run(tmp_path, stack=stack)[1], gate, tmp_path)
    azure.provider.close()
    assert quick.refusal == ""
    assert_noticed(quick.verdicts(list(EXPECTED_ON_AZURE)), EXPECTED_ON_AZURE)


def test_nobody_notices_a_program_without_a_change(quick: QuickJudges) -> None:
    unchanged = [Mutant(each.type, each.name, ("no such input",), "dropped") for each in quick.cloud.values()]
    assert set(quick.verdicts(unchanged).values()) == {Verdict("same")}


# Their type is that of the object with this name.
EXPECTED_IN_CLUSTER: Final = {
    Mutant("", "autoscaler-reaper-cronjob", ("spec", "schedule"), "dropped"): ("up", "spec.schedule"),
    Mutant("", "autoscaler-reaper-clusterrole", ("rules", 0, "resources"), "emptied"): ("up", "rules[0].resources"),
    Mutant("", "gpu-admission-isolation", ("spec", "variables", 1), "dropped"): ("up", "gpu-isolation.gpucluster.dev"),
    Mutant("", "access-budget-default", ("spec", "selector"), "emptied"): ("scenario", "namespaces: default"),
    Mutant("", "offer-reader", ("rules", 0, "resourceNames"), "dropped"): ("scenario", "account-rights: a pod"),
    Mutant("", "autoscaler-reaper-cronjob", ("metadata", "labels"), "dropped"): ("nobody", ""),
    Mutant("", "gpu-admission-isolation", ("spec", "matchConstraints", "namespaceSelector"), "dropped"): (
        "scenario",
        "in kube-system: refused",
    ),
    Mutant("", "gpu-admission-placement", ("spec", "matchConditions", 0), "dropped"): (
        "scenario",
        "written by a controller: warned",
    ),
    Mutant("", "gpu-admission-claims-binding", ("spec", "validationActions", 0), "moved", '"Audit"'): (
        "scenario",
        "a ResourceClaim for gpu.",
    ),
    Mutant("", "autoscaler-compute-classes-binding", ("spec", "validationActions", 0), "moved", '"Warn"'): (
        "scenario",
        "ComputeClass: accepted",
    ),
}


@pytest.mark.rehearsal
def test_who_notices_wrong_objects_in_the_cluster(tmp_path: Path, control_plane: ControlPlane) -> None:
    kubernetes = SimulatedKubernetes()
    kubernetes.configure({"kubeconfig": control_plane.kubeconfig.read_text()})
    gate = OfflineGate.of_file(gate_for(ROOT, "dev").config)
    quick = QuickJudges(STACK, run(tmp_path)[1], gate, tmp_path, (control_plane.api, kubernetes))
    assert quick.refusal == ""
    objects = [each for key, each in quick.mutable.items() if key not in quick.cloud]
    kinds = {each.inputs["kind"] for each in objects}
    assert kinds >= {"ClusterRole", "CronJob", "PodDisruptionBudget", "Role", "ValidatingAdmissionPolicy"}
    named = {each.name: each.type for each in objects}
    expected = {replace(one, type=named[one.name]): its for one, its in EXPECTED_IN_CLUSTER.items()}
    unchanged = [Mutant(each.type, each.name, ("no such input",), "dropped") for each in objects]
    verdicts = quick.verdicts([*expected, *unchanged])
    assert {verdicts[one] for one in unchanged} == {Verdict("same")}
    assert_noticed({one: verdicts[one] for one in expected}, expected)


def test_another_object_in_the_cluster_is_checked_beside_the_groups(quick: QuickJudges) -> None:
    agent = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment(nodeSelector={"role": "nowhere"})}
    replay, program = quick.replay, quick.in_order()
    runs = {**agent, "spec": deployment()["spec"]}
    lone = replace(replay, objects=[runs])
    problems = lone.beside(program, [(0, agent), (0, runs), (0, {"kind": "Deployment"})])
    assert [problem.partition(":")[0] for problem in problems] == ["system-pods-run", "", ""]


@pytest.mark.slow
def test_what_the_table_does_not_have_is_noticed(quick: QuickJudges) -> None:
    """A sample, by the judges that need no rehearsal."""
    mutants = random.Random(1).sample(mutants_of(quick.cloud.values(), quick.enum), 150)
    known = table.judgements("dev")
    rows = [table.row_of(one, verdict, known) for one, verdict in quick.verdicts(mutants).items()]
    lost = {(row["path"], row["mutation"]) for row in table.lost(rows, table.read("dev"))}
    # Then nobody outside reaches the API server, and only a rehearsal asks it.
    assert lost <= {("privateClusterConfig.enablePrivateEndpoint", "flipped")}
    assert sum(row["noticed_by"] in table.NOTICED for row in rows) > 75


def test_a_table_has_what_nobody_notices_and_a_loss_is_found(tmp_path: Path) -> None:
    one, other = (Mutant(POOL, name, ("size",), "dropped") for name in ("t4", "l4"))
    noticed, unnoticed = (table.row_of(one, Verdict(judge)) for judge in ("gate", "advisory"))
    harmless = {**table.row_of(other, Verdict("nobody")), "harm": "harmless"}
    table.write("dev", [noticed, table.row_of(other, Verdict("nobody")), harmless], tmp_path)
    committed = table.read("dev", tmp_path)
    assert committed == {other.key: table.row_of(other, Verdict("nobody"))}
    assert table.counts(tmp_path) == {"dev": (2, 1)}
    assert table.lost([noticed, harmless], committed) == []
    assert table.lost([unnoticed], committed) == [unnoticed]
    assert table.lost([table.row_of(other, Verdict("advisory"))], committed) == []
    assert table.lost([unnoticed], table.read("prod", tmp_path)) == [], "no table says what was noticed"


def test_the_first_judgement_that_covers_a_mutant_counts() -> None:
    one = Mutant(POOL, "admin-pool", ("taints", 0, "value"), "emptied")
    known = [
        {"resource": f"{POOL} t4*", "path": "*", "mutation": "*", "harm": "harmless", "why": "another pool"},
        {"resource": "*", "path": "name|taints.value", "mutation": "emptied", "harm": "named", "why": "a reason"},
        {"resource": "*", "path": "*", "mutation": "*", "harm": "harmless", "why": "too late"},
    ]
    assert table.row_of(one, Verdict("nobody"), known)["why"] == "a reason"
    assert table.row_of(one, Verdict("nobody"))["harm"] == "harmful"


TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
ADMIN_NODES: Nodes = Nodes(machine_types=("m",), zones=("a",), labels={"role": "admin"})
GPU_NODES: Nodes = Nodes(machine_types=("g",), zones=("a",), labels={"role": "gpu"}, taints=(TAINT,))
GROUPS = [
    SimulatedNodeGroup("admin", "c", NodeShape(2, 8), ADMIN_NODES, Scaling(min_nodes=1, max_nodes=1)),
    SimulatedNodeGroup("t4", "c", NodeShape(4, 16, gpus=1), GPU_NODES, Scaling(max_nodes=2)),
]
ANY = [{"operator": "Exists"}]


def deployment(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "kube-system"}, "spec": {"template": {"spec": spec}}}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, ""),
        ({"nodeSelector": {"role": "admin"}, "tolerations": ANY}, ""),
        ({"nodeSelector": {"role": "admins"}}, "system-pods-run: web never runs: it selects role=admins"),
        ({"tolerations": ANY}, "system-pods-off-gpu: web may run on a GPU node of t4"),
    ],
)
def test_a_deployment_runs_and_only_beside_gpus(spec: dict[str, Any], problem: str) -> None:
    reported = misplaced(GROUPS, [deployment(**spec)], [])
    assert reported.startswith(problem)
    assert bool(reported) is bool(problem)


def test_a_group_whose_gpus_nobody_advertises() -> None:
    nodes: Nodes = Nodes(machine_types=("g",), zones=("a",), labels={})
    plain = SimulatedNodeGroup(
        "t4", "c", NodeShape(4, 16, gpus=1), nodes, Scaling(max_nodes=0), gpus_advertised_by="device-plugin"
    )
    assert misplaced([plain], [], []).startswith("reached:t4: no DaemonSet runs NVIDIA's device plugin")


# Only goes up: measured with `make mutants STACK=… UPDATE=1`.
TABLES = sorted(table.counts())
FLOORS = {"dev": 0.98, "dev-objects": 0.97, "aks-train-infer": 0.99, "eks-spot": 0.96}


@pytest.mark.parametrize("stack", FLOORS)
def test_most_harmful_mutants_are_noticed(stack: str) -> None:
    harmful, noticed = table.counts()[stack]
    assert noticed >= FLOORS[stack] * harmful > 0, f"{noticed} of {harmful}"
    left = [row for row in (table.read(stack) or {}).values() if row["harm"] == "harmful"]
    assert len(left) == harmful - noticed


@pytest.mark.parametrize("stack", ["dev", "examples/aks-train-infer.yaml", "examples/eks-spot.yaml"])
def test_what_is_called_named_has_its_subject_in_the_verdict(stack: str) -> None:
    resolved = resolve(stack)
    subjects = scope_of(resolved.settings).not_rehearsed
    rows = (table.read(resolved.name) or {}).values()
    named = {row["why"].partition(":")[0] for row in rows if row["harm"] == "named"}
    assert named
    assert named <= subjects.keys()


def test_every_judgement_has_a_reason_and_a_source() -> None:
    for row in itertools.chain.from_iterable(map(table.judgements, TABLES)):
        assert row["harm"] in ("harmful", "harmless", "named")
        assert row["why"]
        assert row["source"].startswith("https://") or (ROOT / "packages" / "rehearsal" / row["source"]).is_file()


@pytest.mark.parametrize("stack", TABLES)
def test_a_table_has_the_harm_that_the_judgements_give(stack: str) -> None:
    known = table.judgements(stack)
    for row in (table.read(stack) or {}).values():
        assert table.judged(row, known) == row
        assert row["harm"] != "harmless"
        assert row["noticed_by"] not in table.NOTICED


# Mutants of eks-spot, each under what it does.
HARMFUL: Final = (
    # EKS writes to a group of a fixed name.
    "aws:cloudwatch/logGroup:LogGroup cluster-control-plane-logs name moved",
    # Its roles allow one name of the cluster.
    "aws:eks/cluster:Cluster cluster-control-plane name moved",
    # Another role has this name.
    "aws:iam/role:Role autoscaler-role name moved",
    # Another role gets these rights.
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment "
    "admin-pool-aws-fsx-csi-driver-role-AmazonFSxFullAccess role moved",
    # Another role gets these rights.
    "aws:iam/rolePolicy:RolePolicy admin-pool-load-balancer-role-policy role moved",
    # More rights.
    'aws:iam/rolePolicy:RolePolicy admin-pool-load-balancer-role-policy policy["{}"].Statement[10].Condition dropped',
    # No pod gets an address.
    "aws:eks/addon:Addon cluster-vpc-cni podIdentityAssociations dropped",
    # The endpoint of another service.
    "aws:ec2/vpcEndpoint:VpcEndpoint cluster-endpoint-s3 serviceName moved",
    # No node joins.
    "aws:ec2/launchTemplate:LaunchTemplate admin-pool-template metadataOptions.httpEndpoint moved",
)


def test_a_judgement_covers_no_more_than_its_reason() -> None:
    for text in HARMFUL:
        type, name, path, mutation = text.split(" ")
        row = {"type": type, "resource": name, "path": path, "mutation": mutation, "noticed_by": "nobody"}
        assert table.judged(row, table.judgements("eks-spot"))["harm"] == "harmful", text


def test_a_judgement_of_one_stack_is_none_of_another() -> None:
    row = {"type": "aws:iam/role:Role", "resource": "r", "path": "tags", "mutation": "dropped", "noticed_by": "nobody"}
    assert table.judged(row, table.judgements("eks-spot"))["harm"] == "harmless"
    assert table.judged(row, table.judgements("eks-company"))["harm"] == "harmful"
