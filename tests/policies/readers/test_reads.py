"""What the readers make of each resource, in every spelling: ``<cloud>.yaml``, in the YAML of the corpus.

``reads`` has cases by the sentence that they prove. A case is a resource of its file ``of`` that name (the first unless
it says so) ``with`` other inputs, or one of its own: ``type`` and ``inputs``. ``beside``: other resources of the
program. Paths are written with spaces between their steps. ``is``: the one item that is read of it (or a list: these in
this order) by its fields; ``item`` is the class. ``like``: the resource that reads the same. ``judged``: rule →
``allowed``, ``not evaluated`` or words of the violation of the first item. ``known``: fields of the first item that
have some value. ``waits``: whether it can be read with the whole program only. What shares GPUs is below, in Python.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pulumi
import pytest

from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.declared import GpuSharing, NodeGroup, Stack, Workload
from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.parts import Gpus, Scaling
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read, read_stack, waits
from policies.readers.eks.facts import is_gpu_family
from policies.readers.idle import longest_window, minutes_of
from policies.readers.kubernetes.parts import replicated
from policies.readers.reading import located
from policies.readers.resource import Declared, in_one_place
from policies.rules.sharing import visible
from policies.rules.table import BY_ID
from tests.policies.corpus.case import declared_by
from tests.policies.corpus.programs import loaded, read_case

FILES = {
    file.stem: loaded(file)
    for file in sorted(Path(__file__).parent.glob("*.yaml"))
    if not file.stem.startswith("test_")
}
CASES = [
    pytest.param(name, case, id=f"{name}: {sentence}-{number}")
    for name, file in FILES.items()
    for sentence, cases in file["reads"].items()
    for number, case in enumerate(cases)
]


def program(name: str, case: Mapping[str, Any]) -> list[Declared]:
    """The case's resource and those beside it, as the readers get them."""
    resources = FILES[name]["resources"]
    row = case if "type" in case else resources[case.get("of", next(iter(resources)))]
    inputs = json.loads(json.dumps(row.get("inputs", {})))
    for path, value in case.get("with", {}).items():
        *parents, last = path.split()
        place = inputs
        for step in parents:
            place = place[step]
        place[last] = value
    beside = [resources[each] if isinstance(each, str) else each for each in case.get("beside", ())]
    rows = [{"type": row["type"], "name": row.get("name", "x"), "inputs": inputs}, *beside]
    return linked(declared_by(read_case({"id": "", "program": rows})))


def plain(value: Any) -> Any:
    """As the YAML has it: taints as texts, other objects by their fields that are not ``None``."""
    if value is UNKNOWN:
        return "${unknown}"
    if isinstance(value, Taint):
        return str(value) if value.value is not None else f"{value.key}:{value.effect}"
    if is_dataclass(value):
        return {each.name: plain(its) for each in fields(value) if (its := getattr(value, each.name)) is not None}
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (tuple, list)) else value


def at(item: Any, path: str) -> Any:
    if path == "item":
        return type(item).__name__
    for step in path.split():
        item = item[step] if isinstance(item, Mapping) else getattr(item, step)
    return plain(item)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_resource_is_read_as_this(name: str, case: Mapping[str, Any]) -> None:
    assert case.keys() <= {"type", "name", "inputs", "of", "with", "beside", "is", "like", "judged", "known", "waits"}
    assert case.keys() & {"is", "like", "judged", "waits"}
    resource, *others = program(name, case)
    inside = [each for each in others if each.holder and each.urn == resource.urn]
    items = tuple(item for each in (resource, *inside) for item in read(each))
    # What a pool may also have, machines without GPUs, is what the cases money-… of the corpus are about.
    items = tuple(each for each in items if not str(getattr(each, "name", "")).endswith("(machines without GPUs)"))
    if "is" in case:
        expected = case["is"] if isinstance(case["is"], list) else [case["is"]]
        actual = [{path: at(item, path) for path in one} for item, one in zip(items, expected, strict=True)]
        # As texts: true is not 1.
        assert json.dumps(actual, sort_keys=True) == json.dumps(expected, sort_keys=True)
    if "like" in case:
        same: Any = read(program(name, {"of": case["like"]})[0])
        assert items == tuple(replace(each, resource=resource.urn) for each in same)
    assert not [field for field in case.get("known", ()) if at(items[0], field) in (None, "${unknown}")]
    for rule, words in case.get("judged", {}).items():
        violations = BY_ID[rule].check(items[0])
        states = ["not evaluated" if each.not_evaluated else f"{each.message}\n{each.remedy}" for each in violations]
        assert words in (states or ["allowed"])[0], states
    assert waits(resource) is case.get("waits", waits(resource))


def test_pools_that_the_cluster_lists_as_well_count_once() -> None:
    pool = program("gke", {"with": {"cluster": "c"}})
    cluster = program("gke", {"of": "cluster", "with": {"nodePools": [FILES["gke"]["resources"]["pool"]["inputs"]]}})
    assert [group.name for group in read_stack([*cluster, *pool]).groups] == ["t4-2"]


def test_an_account_is_the_same_in_any_order_of_its_keys() -> None:
    role = {"roleArn": "arn:aws:iam::1:role/r", "sessionName": "s"}
    orders = (role, dict(reversed(role.items())))
    first, second = (located(NodeGroup("t4", "eks"), {}, {"assumeRole": each}).account for each in orders)
    assert first == second != {}


@pytest.mark.parametrize(("namespace", "exposures"), [("kube-system", 1), ("ml", 0)])
def test_a_binding_may_have_the_namespace_of_its_provider(namespace: str, exposures: int) -> None:
    pods = {"kind": "Group", "name": "system:serviceaccounts:ml"}
    type_token = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"
    properties = {"roleRef": {"kind": "ClusterRole", "name": "admin"}, "subjects": [pods]}
    assert len(read(Declared(type_token, "b", "urn:b", properties, provider={"namespace": namespace}))) == exposures


def test_every_family_of_amazon_s_table_counts_as_one_with_gpus() -> None:
    nvidia = [name for name, machine in gpu_machines("eks").items() if machine.gpu.startswith("nvidia-")]
    assert all(is_gpu_family(f"{name.partition('.')[0]}.*") for name in nvidia)
    assert not any(is_gpu_family(pattern) for pattern in ("g4ad.*", "m*", "c7g.*", "trn1.*"))


SLICED = "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: {}\n"


@pytest.mark.parametrize(
    ("value", "replicas"),
    [
        ({"a": SLICED.format(4)}, 4),
        ({"a": SLICED.format(1)}, None),
        (
            {
                "a": SLICED.format(2),
                "b": SLICED.format(8),
            },
            8,
        ),
        ({"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}}, 3),
        ({"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": UNKNOWN}]}}, UNKNOWN),
        ({"replicas": 3}, None),
        ('{"sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}}', 2),
        (None, None),
    ],
)
def test_how_often_a_gpu_is_offered(value: Any, replicas: Any) -> None:
    assert replicated(value) == replicas


def test_sharing_is_refused_only_beside_an_autoscaler() -> None:
    config_map = Declared("kubernetes:core/v1:ConfigMap", "plugin", "urn:p", {"data": {"a": SLICED.format(4)}})
    (shared,) = read_stack([config_map]).sharing
    assert shared == GpuSharing("ConfigMap 'plugin'", 4, "urn:p")
    group = NodeGroup("t4", "any", gpus=Gpus(per_node=1), scaling=Scaling(max_nodes=None))
    (violation,) = visible(Stack(groups=(group,), sharing=(shared,)))
    assert violation.message == "ConfigMap 'plugin' advertises each GPU 4 times; the autoscaler of 't4' does not know."
    assert visible(Stack(groups=(NodeGroup("rack", "any", gpus=Gpus(per_node=1)),), sharing=(shared,))) == []
    assert visible(Stack(groups=(group,), sharing=(GpuSharing("c", UNKNOWN),)))[0].not_evaluated


def release(chart: str, **properties: Any) -> list[Workload]:
    inputs = {"chart": chart, "name": "r", "namespace": "gpu", **properties}
    read_items = read(Declared("kubernetes:helm.sh/v3:Release", "x", "urn:x", inputs))
    return [item for item in read_items if isinstance(item, Workload)]


def test_values_in_files() -> None:
    text = pulumi.StringAsset("daemonsets: {tolerations: [], annotations: {}}\nnfd: {enabled: false}\n")
    (daemons,) = release("gpu-operator", valueYamlFiles=[text])
    assert daemons.tolerations == ()
    (daemons,) = release("gpu-operator", valueYamlFiles=[text], values={"daemonsets": {"tolerations": [{"key": "a"}]}})
    assert daemons.tolerations == (Toleration("a", "Equal", ""),)
    out_of_reach = pulumi.FileAsset("values.yaml")
    values = {"daemonsets": {"tolerations": []}}
    daemons, discovery = release("gpu-operator", valueYamlFiles=[out_of_reach], values=values)
    assert (daemons.tolerations, discovery.tolerations) == ((), UNKNOWN)


@pytest.mark.parametrize(
    "chart",
    [
        *("gpu-operator", "nvidia/gpu-operator", "./gpu-operator-v25.3.0.tgz"),
        *("oci://a.example:5000/b/gpu-operator", "oci://a.example/b/gpu-operator:v25.3.0"),
        f"oci://a.example/b/gpu-operator@sha256:{'a' * 64}",
        f"oci://a.example/b/gpu-operator:v25.3.0@sha256:{'a' * 64}",
    ],
)
def test_a_chart_is_known_by_its_name_wherever_it_is(chart: str) -> None:
    assert len(release(chart)) == 2


@pytest.mark.parametrize(("limits", "doubted"), [({"extra_resource_limits": {"nvidia.com/gpu": "1"}}, 0), ({}, 1)])
def test_a_notebook_of_jupyterhub_may_be_on_gpu_nodes_if_it_asks_for_gpus(limits: Any, doubted: int) -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    spawned = {**limits, "tolerations": tolerations, "node_selector": {"gpucluster.dev/pool": "t4-1"}}
    values = {"singleuser": {"profileList": [{"display_name": "t4", "kubespawner_override": spawned}]}}
    assert len([workload for workload in release("jupyterhub", values=values) if workload.unknown_reason]) == doubted


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        ("10m", 10),
        ("720h", 43200),
        ("1h30m", 90),
        ("1.5h", 90),
        ("90s", 1.5),
        ("0", 0),
        (0, 0),
        (None, None),
        ("10", UNKNOWN),
        ("10 m", UNKNOWN),
        ("10d", UNKNOWN),
        ("h", UNKNOWN),
        (10, UNKNOWN),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_minutes(written: Any, minutes: Any) -> None:
    assert minutes_of(written) == minutes


@pytest.mark.parametrize(
    ("schedule", "duration", "minutes"),
    [
        ("0 9 * * 1-5", "8h", 480),
        ("0 0 * * *", "24h", math.inf),
        ("@daily", "24h", math.inf),
        ("0 0 * * *", "23h59m", 1439),
        ("0 0 * * 1-5", "24h", 5 * 1440),
        ("0 0 * * mon-fri", "24h", 5 * 1440),
        ("0 0 * * *", "8784h", math.inf),
        ("*/10 * * * *", "10m", math.inf),
        ("*/10 * * * *", "9m", 9),
        ("0,30 9-11 * * *", "30m", 180),
        ("0 22,23 * * *", "90m", 150),
        ("0 0 1 * *", "48h", 2880),
        ("0 0 31 12 *", "48h", 2880),
        ("nonsense", "1h", UNKNOWN),
        ("61-x * * * *", "1h", UNKNOWN),
        ("0 9 * * *", UNKNOWN, UNKNOWN),
        (UNKNOWN, "1h", UNKNOWN),
    ],
)
def test_a_window_is_as_long_as_its_runs(schedule: Any, duration: Any, minutes: Any) -> None:
    assert longest_window((schedule, duration)) == minutes


@pytest.mark.parametrize(
    ("windows", "minutes"),
    [
        ([("@hourly", "30m"), ("30 * * * *", "30m")], math.inf),
        ([("@hourly", "30m"), ("30 * * * *", "29m")], 59),
        ([("0 */2 * * *", "1h"), ("0 1-23/2 * * *", "1h")], math.inf),
        ([("0 8 * * *", "1h"), ("0 9 * * *", "1h"), ("0 10 * * *", "1h")], 180),
        ([("0 8 * * *", "3h"), ("0 9 * * *", "1h")], 180),
        ([("0 8 * * *", "1h"), (UNKNOWN, "1h")], UNKNOWN),
        ([("* * * * *", "1m"), (UNKNOWN, "1h")], math.inf),
    ],
)
def test_windows_that_follow_one_another_are_one(windows: Any, minutes: Any) -> None:
    assert longest_window(*windows) == minutes


QUARTERS = ["0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2"]
OFFICES = ["203.0.113.0/24", "198.51.100.7/32"]


def cluster_of_google(ranges: list[str]) -> dict[str, Any]:
    blocks = [{"cidrBlock": each} for each in ranges]
    return {"masterAuthorizedNetworksConfig": {"cidrBlocks": blocks, "gcpPublicCidrsAccessEnabled": False}}


@pytest.mark.parametrize(
    ("type_token", "inputs"),
    [
        ("aws:eks/cluster:Cluster", lambda ranges: {"vpcConfig": {"publicAccessCidrs": ranges}}),
        ("aws-native:eks:Cluster", lambda ranges: {"resourcesVpcConfig": {"publicAccessCidrs": ranges}}),
        ("gcp:container/cluster:Cluster", cluster_of_google),
        (
            "azure-native:containerservice:ManagedCluster",
            lambda ranges: {"apiServerAccessProfile": {"authorizedIPRanges": ranges}},
        ),
        (
            "azure:containerservice/kubernetesCluster:KubernetesCluster",
            lambda ranges: {"apiServerAccessProfile": {"authorizedIpRanges": ranges}, "defaultNodePool": {"name": "a"}},
        ),
        ("gpucluster-machines:index:ControlPlane", lambda ranges: {"machine": {"name": "a"}, "apiClients": ranges}),
        (
            "kubernetes:core/v1:Service",
            lambda ranges: {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ranges}},
        ),
    ],
)
def test_the_internet_in_four_ranges_is_the_internet(type_token: str, inputs: Any) -> None:
    rules = ("control-plane-access", "private-load-balancers")

    def violations(ranges: list[str]) -> list[str]:
        items = read(linked([Declared(type_token, "x", "urn:x", inputs(ranges))])[0])
        checked = [(item, BY_ID[rule]) for item in items for rule in rules]
        return [one.message for item, rule in checked if isinstance(item, rule.subjects) for one in rule.check(item)]

    assert len(violations(QUARTERS)) == 1
    assert violations(OFFICES) == []


@pytest.mark.parametrize(
    ("location", "most"),
    [("us-central1-c", 2), ("us-central1", 6), (None, 6), (UNKNOWN, 6)],
)
def test_a_pool_of_google_has_its_maximum_in_each_zone(location: Any, most: int) -> None:
    inputs = {"location": location, "autoscaling": {"maxNodeCount": 2}, "nodeConfig": {"machineType": "g2-standard-4"}}
    (group,) = read(Declared("gcp:container/nodePool:NodePool", "l4", "urn:l4", inputs))
    assert isinstance(group, NodeGroup)
    assert group.scaling.max_nodes == most


LINK = "projects/p/locations/{}/clusters/ml"
BESIDE_A = {"location": "us-central1-a", "nodeLocations": ["us-central1-b", "us-central1-c"]}
FOUR = {"location": "us-central1", "nodeLocations": [f"us-central1-{zone}" for zone in "abcf"]}


# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_node_pool
@pytest.mark.parametrize(
    ("cluster", "pool", "zones"),
    [
        ({"location": "us-central1-a"}, {"location": "us-central1-a"}, 1),
        (BESIDE_A, {"location": "us-central1-a"}, 3),
        (BESIDE_A, {}, 3),
        (BESIDE_A, {"location": "us-central1-a", "nodeLocations": ["us-central1-b"]}, 1),
        (FOUR, {"location": "us-central1"}, 4),
        (FOUR, {"location": "us-central1", "nodeLocations": ["us-central1-a", "us-central1-b"]}, 2),
        (FOUR, {"location": "us-central1", "nodeLocations": [UNKNOWN, UNKNOWN]}, 2),
        (FOUR, {"location": "us-central1", "nodeLocations": UNKNOWN}, 4),
        ({"location": "us-central1", "nodeLocations": UNKNOWN}, {"location": "us-central1"}, 4),
        ({"location": "us-central1"}, {}, 3),
        ({"location": "us-central1-a"}, {}, 1),
        ({"location": UNKNOWN}, {"cluster": LINK.format("us-central1-a")}, 1),
        ({"location": "us-central1"}, {"cluster": LINK.format("us-central1")}, 3),
        ({"location": "us-central1", "name": "other"}, {"location": "us-central1-a"}, 1),
        ({**FOUR, "name": "other"}, {"location": "us-central1"}, 3),
        ({**FOUR, "name": UNKNOWN}, {"cluster": UNKNOWN}, 4),
    ],
)
def test_a_pool_of_google_has_the_zones_of_its_cluster(
    cluster: dict[str, Any], pool: dict[str, Any], zones: int
) -> None:
    made = Declared("gcp:container/cluster:Cluster", "c", "urn:c", {"name": "ml", **cluster})
    inputs = {"cluster": "ml", "autoscaling": {"maxNodeCount": 2}, **pool}
    by_engine = {"cluster": ("urn:c",)} if inputs["cluster"] is UNKNOWN else {}
    declared = Declared("gcp:container/nodePool:NodePool", "l4", "urn:l4", inputs, by_engine)
    (group,) = (each for one in linked([declared, made]) if one.urn == "urn:l4" for each in read(one))
    assert isinstance(group, NodeGroup)
    assert group.scaling.max_nodes == 2 * zones
    inline = {**made.properties, "nodePools": [{"name": "l4", "autoscaling": {"maxNodeCount": 2}}]}
    if pool.keys() <= {"location"} and cluster.get("name") != "other":
        (inline_group,) = [each for each in read(replace(made, properties=inline)) if isinstance(each, NodeGroup)]
        assert inline_group.scaling.max_nodes == 2 * zones


def test_of_two_objects_of_one_name_the_one_of_its_own_cluster_completes_a_pool() -> None:
    def declared(kind: str, spec: dict[str, Any], cluster: str) -> Declared:
        inputs = {"metadata": {"name": "d"}, "spec": spec}
        return Declared(f"kubernetes:{kind}", cluster, f"urn:{kind}:{cluster}", inputs, provider_urn=f"urn:{cluster}")

    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "d"}
    pool = {"template": {"spec": {"nodeClassRef": reference, "requirements": []}}}
    classes = [
        declared("karpenter.k8s.aws/v1:EC2NodeClass", {"associatePublicIPAddress": public}, cluster)
        for cluster, public in (("b", False), ("a", True))
    ]
    linked_pools = {
        each.name: each.references[0].name
        for each in linked([*classes, *(declared("karpenter.sh/v1:NodePool", pool, name) for name in ("a", "b"))])
        if each.references
    }
    assert linked_pools == {"a": "a", "b": "b"}


def kubeconfig(server: str, comment: str = "") -> dict[str, str]:
    """A provider's configuration with the cluster of this address."""
    clusters = f"clusters: [{{name: other, cluster: {{server: o}}}}, {{name: c, cluster: {{server: {server}}}}}]"
    contexts = "contexts: [{name: o, context: {cluster: other}}, {name: x, context: {cluster: c}}]"
    return {"kubeconfig": f"{clusters}\n{contexts}\ncurrent-context: x\n{comment}"}


IRELAND, VIRGINIA = {"region": "eu-west-1"}, {"region": "us-east-1"}


@pytest.mark.parametrize(
    ("token", "one", "other", "expected"),
    [
        ("kubernetes:apps/v1:Deployment", kubeconfig("a"), kubeconfig("b"), False),
        # The text of the configuration is not the cluster.
        ("kubernetes:apps/v1:Deployment", kubeconfig("a"), kubeconfig("a", "# of somebody else"), UNKNOWN),
        ("kubernetes:apps/v1:Deployment", kubeconfig("a"), kubeconfig("a"), UNKNOWN),
        ("kubernetes:apps/v1:Deployment", {"kubeconfig": UNKNOWN}, {"kubeconfig": UNKNOWN}, UNKNOWN),
        ("kubernetes:apps/v1:Deployment", {"context": "a"}, {"context": "b"}, False),
        ("aws:ec2/launchTemplate:LaunchTemplate", IRELAND, VIRGINIA, False),
        ("aws:ec2/launchTemplate:LaunchTemplate", IRELAND, {**IRELAND, "profile": "b"}, UNKNOWN),
        ("aws:iam/role:Role", IRELAND, VIRGINIA, UNKNOWN),
        ("gcp:compute/instanceTemplate:InstanceTemplate", {"project": "a"}, {"project": "b"}, False),
        ("azure-native:compute:VirtualMachine", {"subscriptionId": "a"}, {"subscriptionId": "b"}, False),
    ],
)
def test_two_providers_resources_are_in_one_place_unless_something_known_tells_them_apart(
    token: str, one: dict[str, Any], other: dict[str, Any], expected: Any
) -> None:
    first, second = (
        Declared(token, name, f"urn:{name}", {}, provider=config, provider_urn=f"urn:provider:{name}")
        for name, config in (("a", one), ("b", other))
    )
    assert in_one_place(first, second) is expected
    assert in_one_place(first, replace(first, urn="urn:c")) is True


def test_objects_that_two_resources_hold_may_be_in_two_clusters() -> None:
    """Their node classes have one name: whether the pool's are private is unknown, unless its own is not."""

    def held(name: str, *manifests: dict[str, Any]) -> Declared:
        inputs = {"spec": {"workload": {"manifests": [*manifests]}}}
        return Declared("kubernetes:work.open-cluster-management.io/v1:ManifestWork", name, f"urn:{name}", inputs)

    def node_class(*, public: bool) -> dict[str, Any]:
        spec = {"associatePublicIPAddress": public}
        return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "d"}, "spec": spec}

    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "d"}
    spec = {"template": {"spec": {"nodeClassRef": reference, "requirements": []}}}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}

    def private(own: bool, others: bool) -> Any:
        works = [held("a", pool, node_class(public=not own)), held("b", node_class(public=not others))]
        group, *_ = read_stack(linked(works)).groups
        return group.private

    assert private(own=True, others=True) is True
    assert private(own=True, others=False) is UNKNOWN
    assert private(own=False, others=True) is False
