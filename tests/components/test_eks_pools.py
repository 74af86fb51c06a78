"""``GpuPools`` on an EKS cluster of others with their Karpenter: what it adds, and what it looks at before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final
from unittest import mock

import pulumi
import pytest

from components.gpu_pools import GpuPools, GpuPoolsArgs
from tests import eks_answers
from tests.api_server import ApiServer
from tests.eks_answers import CLASSES, CONTROLLER, DEFAULT, DEPLOYMENTS, GENERAL, KARPENTER, TAGGED, deployment
from tests.joined import Joined, add, api_server
from tests.stacks import run_with

TYPE: Final = "gpucluster:index:GpuPools"
POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
CLASS: Final = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
READY: Final = [{"type": "Ready", "status": "True"}]
KEYS: Final[dict[str, Any]] = {
    "aws:region": "us-west-2",
    "gpucluster:cloud": "eks",
    "gpucluster:region": "us-west-2",
    "gpucluster:zones": ["us-west-2a", "us-west-2b"],
    "gpucluster:existingCluster": {"name": "research", "nodeClass": "default"},
    "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}],
}


JOINED: Final = Joined(KEYS)
pools, update, refusal, warnings = JOINED.pools, JOINED.update, JOINED.refusal, JOINED.warnings


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """With Karpenter, as its getting started has it."""
    with api_server(KARPENTER) as api:
        yield api


def node_class(server: ApiServer, **spec: Any) -> dict[str, Any]:
    """The spec of the pool's class where theirs has other fields; ``None`` takes one away."""
    theirs = {key: value for key, value in {**DEFAULT["spec"], **spec}.items() if value is not None}
    add(server, f"{CLASSES}/default", **{**DEFAULT, "spec": theirs})
    return dict(update().only(CLASS).inputs["spec"])


def test_it_adds_objects_alone(server: ApiServer) -> None:
    """No role, no queue, no chart, no node group: nothing in the account but what Karpenter starts."""
    program = update()
    assert {each.type for each in program.resources} == {
        TYPE,
        "gpucluster:index:ClusterAutoscaler",
        "gpucluster:index:GpuNodePool",
        "gpucluster:index:DriverDaemonSet",
        "gpucluster:index:GpuAdmission",
        "gpucluster:index:PublishedOffer",
        "pulumi:providers:kubernetes",
        POOL,
        CLASS,
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:core/v1:ServiceAccount",
        "kubernetes:apps/v1:DaemonSet",
        "kubernetes:batch/v1:CronJob",
        "kubernetes:rbac.authorization.k8s.io/v1:Role",
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    }
    assert program.reads == {}
    assert [each.name for each in program.resources if each.deleted_with or each.protect or each.retain_on_delete] == []
    provider = program.only("pulumi:providers:kubernetes")
    assert {each.provider.startswith(provider.urn) for each in program.resources if each.type in (POOL, CLASS)} == {
        True
    }


def test_where_and_as_whom_nodes_start_is_as_in_their_class_and_what_they_are_is_the_pools(server: ApiServer) -> None:
    assert node_class(server) == {
        "role": "KarpenterNodeRole-research",
        "subnetSelectorTerms": TAGGED,
        "securityGroupSelectorTerms": TAGGED,
        "amiSelectorTerms": [{"alias": "al2023@v20250807"}],
        "kubelet": {"maxPods": 58},
        "associatePublicIPAddress": False,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "enabled",
            "httpPutResponseHopLimit": 1,
            "httpTokens": "required",
        },
        "tags": {"cost-center": "42"},
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/xvda",
                "ebs": {
                    "volumeSize": "100Gi",
                    "volumeType": "gp3",
                    "kmsKeyID": "alias/company",
                    "encrypted": True,
                    "deleteOnTermination": True,
                },
            }
        ],
    }


def test_a_node_pool_has_the_class_of_its_own_and_the_pools_limits(server: ApiServer) -> None:
    program = update()
    made, own = program.only(POOL).inputs, program.only(CLASS).inputs
    assert (made["metadata"]["name"], own["metadata"]["name"]) == ("t4-1", "t4-1")
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "t4-1"}
    assert made["spec"]["template"]["spec"]["nodeClassRef"] == reference
    assert made["spec"]["limits"] == {"nodes": "2", "nvidia.com/gpu": "2"}
    assert made["spec"]["disruption"]["consolidationPolicy"] == "WhenEmpty"


def test_fallback_pools_have_karpenters_weights(server: ApiServer) -> None:
    program = update(pools(capacity="spot-with-fallback"))
    weights = {each.inputs["metadata"]["name"]: each.inputs["spec"]["weight"] for each in program.of_type(POOL)}
    assert weights == {"t4-1-spot": 100, "t4-1-ondemand": 99}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"role": None, "instanceProfile": "company"}, {"instanceProfile": "company"}),
        ({"associatePublicIPAddress": True}, {"associatePublicIPAddress": True}),
        ({"userData": "[settings]"}, {"userData": "[settings]"}),
        ({"amiFamily": "AL2023"}, {"amiFamily": "AL2023"}),
    ],
)
def test_what_a_class_may_have_besides(server: ApiServer, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    made = node_class(server, **theirs)
    assert ours.items() <= made.items()
    assert ("role" in made) != ("instanceProfile" in made)


@pytest.mark.parametrize(("public", "expected"), [((False, False), False), ((True, True), True), ((True, False), None)])
def test_public_addresses_are_as_the_subnets_of_the_class_say(
    server: ApiServer, public: tuple[bool, bool], expected: bool | None
) -> None:
    subnets = {
        name: {**eks_answers.SUBNETS[name], "mapPublicIpOnLaunch": each}
        for name, each in zip(("subnet-0000000a", "subnet-0000000b"), public, strict=True)
    }
    with mock.patch.dict(eks_answers.SUBNETS, subnets):
        program = update()
    assert program.only(CLASS).inputs["spec"].get("associatePublicIPAddress") is expected
    assert ("public addresses of nodes" in program.only(TYPE).inputs["unknown"]) == (expected is None)


def test_tags_of_the_stack_go_before_those_of_their_class(server: ApiServer) -> None:
    tags = {"cost-center": "7", "team": "ml"}
    assert update({**KEYS, "gpucluster:tags": tags}).only(CLASS).inputs["spec"]["tags"] == tags


def test_a_key_of_the_stack_goes_before_that_of_their_class(server: ApiServer) -> None:
    key = f"arn:aws:kms:us-west-2:{eks_answers.ACCOUNT}:key/0a"
    spec = update({**KEYS, "gpucluster:security": {"diskKey": key}}).only(CLASS).inputs["spec"]
    assert spec["blockDeviceMappings"][0]["ebs"]["kmsKeyID"] == key


def test_the_look_changes_nothing_and_each_object_goes_through_a_dry_run(server: ApiServer) -> None:
    program = update()
    assert {method for method, _ in server.asked} == {"GET", "POST", "POST dry run"}
    assert {path for method, path in server.asked if method == "POST"} == {"selfsubjectaccessreviews"}
    tried = [path for method, path in server.asked if method == "POST dry run"]
    assert CLASSES in tried
    assert "/apis/karpenter.sh/v1/nodepools" in tried
    objects = [each for each in program.resources if each.type.startswith("kubernetes:")]
    assert len(tried) == len(objects) + 2, "of the reaper and of the device plugin there are pods, too"


def changed(**fields: Any) -> dict[str, dict[str, Any]]:
    return {"research": {**eks_answers.RESEARCH, **fields}}


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        ({"status": "DELETING"}, "'research' is being deleted"),
        ({"status": "CREATING"}, "'research' is being made"),
        ({"status": "FAILED"}, "'research' has failed"),
        ({"version": "1.29"}, "'research' has Kubernetes 1.29, and the program needs 1.30 or newer"),
    ],
)
def test_a_cluster_that_cannot_have_pools_is_refused(server: ApiServer, cluster: dict[str, Any], says: str) -> None:
    with mock.patch.object(eks_answers, "CLUSTERS", changed(**cluster)):
        assert says in refusal()
    assert server.asked == []


def test_a_cluster_that_is_not_there_is_refused_with_the_account_that_was_asked(server: ApiServer) -> None:
    text = refusal({**KEYS, "gpucluster:existingCluster": {"name": "missing", "nodeClass": "default"}})
    assert f"there is no cluster 'missing' in us-west-2 of account {eks_answers.ACCOUNT}" in text


def test_what_amazon_says_instead_is_told(server: ApiServer) -> None:
    denied = mock.Mock(side_effect=LookupError("AccessDeniedException: not authorized to perform eks:DescribeCluster"))
    with mock.patch.dict(eks_answers.CALLS, {"aws:eks/getCluster:getCluster": denied}):
        text = refusal()
    assert "'research' cannot be looked up in us-west-2" in text
    assert "AccessDeniedException" in text


OF_KARPENTER: Final = ("/apis/karpenter.sh", "/apis/karpenter.k8s.aws", f"{DEPLOYMENTS}/karpenter")
BETA: Final = {"versions": [{"version": "v1beta1"}]}
SCALER: Final = deployment("registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.1")


@pytest.mark.parametrize(
    ("objects", "auto_mode", "says"),
    [
        (dict.fromkeys(OF_KARPENTER), False, "'research' has no Karpenter. Ask its owner for Karpenter"),
        (
            {**dict.fromkeys(OF_KARPENTER), f"{DEPLOYMENTS}/cluster-autoscaler": SCALER},
            False,
            "'research' has cluster-autoscaler and no Karpenter. Write autoscaling: {autoscaler: cluster-autoscaler}",
        ),
        (dict.fromkeys(OF_KARPENTER[1:]), True, "'research' has EKS Auto Mode"),
        ({"/apis/karpenter.k8s.aws": BETA}, False, "has only v1beta1 of its API, and the program needs v1"),
        ({f"{DEPLOYMENTS}/karpenter": None}, False, "has the kinds of Karpenter, and no Deployment runs it"),
        ({f"{DEPLOYMENTS}/karpenter": deployment(CONTROLLER, replicas=0)}, False, "no Deployment runs it"),
        ({f"{DEPLOYMENTS}/karpenter": None, f"{DEPLOYMENTS}/scaler": deployment("mirror/karpenter:1")}, False, ""),
    ],
)
def test_who_starts_the_nodes_is_looked_at(
    server: ApiServer, objects: dict[str, Any], auto_mode: bool, says: str
) -> None:
    for path, each in objects.items():
        server.objects.pop(path, None)
        if each is not None:
            add(server, path, **each)
    with mock.patch.object(eks_answers, "CLUSTERS", changed(computeConfigs=[{"enabled": auto_mode}])):
        if says:
            assert says in refusal()
        else:
            assert update().only(POOL)


def test_beside_auto_mode_there_may_be_a_karpenter(server: ApiServer) -> None:
    with mock.patch.object(eks_answers, "CLUSTERS", changed(computeConfigs=[{"enabled": True}])):
        assert update().only(POOL)


def test_with_auto_mode_alone_the_node_pools_to_apply_are_written(server: ApiServer) -> None:
    for path in OF_KARPENTER:
        del server.objects[path]
    with mock.patch.object(eks_answers, "CLUSTERS", changed(computeConfigs=[{"enabled": True}])):
        text = refusal()
    manifest = json.loads(next(line for line in text.splitlines() if line.strip().startswith("{")).strip().rstrip("."))
    template = manifest["spec"]["template"]["spec"]
    assert template["nodeClassRef"] == {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    assert "expireAfter" not in template


@pytest.mark.parametrize(
    ("changes", "keys", "says"),
    [
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, KEYS, "EC2NodeClass 'default' is being deleted"),
        (
            {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no subnets"}]}},
            KEYS,
            "EC2NodeClass 'default' is not ready: no subnets",
        ),
        (
            {},
            {**KEYS, "gpucluster:zones": ["us-west-2a", "us-west-2c"]},
            "gpuPools[0].zones: EC2NodeClass 'default' has no subnet in us-west-2c. Write zones: [us-west-2a]",
        ),
        ({"spec": {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}}, KEYS, "Write image: bottlerocket"),
        ({"spec": {"amiSelectorTerms": [{"alias": "al2@latest"}]}}, KEYS, "Write a class with al2023"),
        ({"spec": {"amiFamily": "Bottlerocket", "amiSelectorTerms": [{"id": "ami-0"}]}}, KEYS, "image: bottlerocket"),
        (
            {"spec": {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0"}]}},
            KEYS,
            "gpuPools[0].image: EC2NodeClass 'default' selects images of its owner's",
        ),
        ({"spec": {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}}, pools(image="bottlerocket"), ""),
        (
            {"spec": {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0"}]}},
            pools(raw={"amiSelectorTerms": [{"id": "ami-1"}]}),
            "",
        ),
        (
            {"spec": {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0"}]}},
            pools(image="al2023@v20260917"),
            "",
        ),
        ({"status": {"conditions": READY}}, {**KEYS, "gpucluster:zones": ["us-west-2c"]}, ""),
    ],
)
def test_the_class_is_looked_at(server: ApiServer, changes: dict[str, Any], keys: dict[str, Any], says: str) -> None:
    spec = {**DEFAULT["spec"], **changes.get("spec", {})}
    add(server, f"{CLASSES}/default", **{**DEFAULT, **changes, "spec": spec})
    if says:
        assert says in refusal(keys)
    else:
        assert update(keys).only(CLASS)


def test_a_class_that_was_just_made_is_looked_at_when_karpenter_has(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(server, f"{CLASSES}/default", **{**DEFAULT, "status": {"conditions": [{**READY[0], "status": "Unknown"}]}})
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            add(server, f"{CLASSES}/default", **DEFAULT)

    monkeypatch.setattr("time.sleep", sleep)
    assert "has no subnet in us-west-2c" in refusal({**KEYS, "gpucluster:zones": ["us-west-2c"]})
    assert len(waits) == 3


def test_a_class_that_does_not_exist_is_refused_with_those_that_do(server: ApiServer) -> None:
    text = refusal({**KEYS, "gpucluster:existingCluster": {"name": "research", "nodeClass": "gpu"}})
    assert "'research' has no EC2NodeClass 'gpu'. Write one of default, other" in text


@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass"])
def test_a_name_that_exists_is_refused(server: ApiServer, kind: str) -> None:
    add(
        server, {"NodePool": "/apis/karpenter.sh/v1/nodepools/t4-1", "EC2NodeClass": f"{CLASSES}/t4-1"}[kind], **GENERAL
    )
    assert f"the cluster has a {kind} t4-1 already, which this stack did not make" in refusal()


def test_what_their_karpenter_is_too_old_for_is_known_before_anything_is_added(server: ApiServer) -> None:
    """Unless it is asked strictly, the API server drops a field that a kind does not have yet."""
    server.refused = {"EC2NodeClass": 'strict decoding error: unknown field "spec.capacityReservationSelectorTerms"'}
    server.status = 400
    text = refusal()
    assert 'unknown field "spec.capacityReservationSelectorTerms"' in text
    assert "ask its owner for a newer version" in text


def test_rights_to_karpenters_kinds_are_asked_for(server: ApiServer) -> None:
    server.denied = frozenset({"create nodepools", "delete ec2nodeclasses"})
    text = refusal()
    assert "create nodepools.karpenter.sh" in text
    assert "delete ec2nodeclasses.karpenter.k8s.aws" in text


def plugin(**pod: Any) -> dict[str, Any]:
    container = {"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"}
    volumes = [{"name": "sockets", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}]
    return {"spec": {"template": {"spec": {"containers": [container], "volumes": volumes, **pod}}}}


GPUS: Final = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_the_gpu_operator_leaves_the_nodes_alone_unless_its_plugin_is_used(server: ApiServer) -> None:
    server.objects["/apis/nvidia.com/v1/clusterpolicies/policy"] = {"metadata": {"name": "policy"}, "spec": {}}
    labels = update().only(POOL).inputs["spec"]["template"]["metadata"]["labels"]
    assert labels["nvidia.com/gpu.deploy.operands"] == "false"
    assert "installs drivers on nodes of t4-1, as the program does" in refusal(pools(drivers="none"))
    server.objects["/apis/nvidia.com/v1/clusterpolicies/policy"]["spec"] = {"driver": {"enabled": False}}
    labels = update(pools(drivers="none")).only(POOL).inputs["spec"]["template"]["metadata"]["labels"]
    assert "nvidia.com/gpu.deploy.operands" not in labels


@pytest.mark.parametrize(
    ("pod", "pool", "says"),
    [
        ({"tolerations": GPUS}, {}, "gpuPools[0].drivers: DaemonSet gpu/plugin would offer the GPUs of t4-1"),
        ({"tolerations": GPUS}, {"drivers": "none"}, ""),
        ({"tolerations": GPUS, "nodeSelector": {"team": "theirs"}}, {}, ""),
        ({"tolerations": GPUS, "nodeSelector": {"team": "theirs"}}, {"drivers": "none"}, "no device plugin reaches"),
        ({"tolerations": GPUS}, {"drivers": "none", "gpusPerNode": [1, 4]}, "no device plugin reaches t4-4"),
        ({}, {}, ""),
    ],
)
def test_a_device_plugin_of_others_is_used_or_kept_away(
    server: ApiServer, pod: dict[str, Any], pool: dict[str, Any], says: str
) -> None:
    add(server, "/apis/apps/v1/namespaces/gpu/daemonsets/plugin", **plugin(**pod))
    if says:
        assert says in refusal(pools(**pool))
    else:
        ours = [each.name for each in update(pools(**pool)).of_type("kubernetes:apps/v1:DaemonSet")]
        assert bool(ours) == ("drivers" not in pool)


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": f"karpenter.k8s.aws/instance-{key}", "operator": operator, "values": [*values]}


@pytest.mark.parametrize(
    ("requirements", "taints", "named"),
    [
        ([], [], True),
        ([requirement("category", "In", "g", "p")], [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], True),
        ([requirement("category", "In", "g")], [{"key": "team", "effect": "NoSchedule"}], False),
        ([requirement("category", "NotIn", "g")], [], False),
        ([requirement("gpu-count", "DoesNotExist")], [], False),
        ([requirement("gpu-count", "Gt", "0")], [], True),
        ([requirement("gpu-count", "Gt", "1")], [], False),
        ([requirement("gpu-name", "In", "t4")], [], True),
        ([requirement("gpu-name", "In", "a10g")], [], False),
        ([requirement("accelerator-count", "Exists")], [], False),
    ],
)
def test_node_pools_of_others_that_start_the_same_machines_are_named_with_their_weight(
    server: ApiServer, requirements: list[Any], taints: list[Any], named: bool
) -> None:
    template = {"spec": {"requirements": requirements, "taints": taints}}
    add(server, "/apis/karpenter.sh/v1/nodepools/theirs", spec={"weight": 10, "template": template})
    assert ("theirs (weight 10)" in warnings()) == named


@pytest.mark.parametrize(("variables", "capacity", "warned"), [((), "spot", True), ((), "on-demand", False)])
def test_a_karpenter_without_an_interruption_queue_is_told_of(
    server: ApiServer, variables: tuple[str, ...], capacity: str, warned: bool
) -> None:
    assert "no interruption queue" not in warnings()
    add(server, f"{DEPLOYMENTS}/karpenter", **deployment(CONTROLLER, *variables))
    assert ("no interruption queue" in warnings(pools(capacity=capacity))) == warned


@pytest.mark.parametrize(
    ("selector", "named"),
    [
        ({}, True),
        ({"karpenter.k8s.aws/instance-gpu-name": "t4"}, True),
        ({"karpenter.k8s.aws/instance-gpu-name": "a10g"}, False),
        ({"karpenter.sh/nodepool": "theirs"}, False),
        ({"karpenter.sh/capacity-type": "on-demand"}, False),
    ],
)
def test_gpu_pods_of_others_are_known_by_karpenters_labels(
    server: ApiServer, selector: dict[str, str], named: bool
) -> None:
    container = {"name": "train", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [container], "nodeSelector": selector}
    add(server, "/api/v1/namespaces/lab/pods/train", kind="Pod", spec=spec, status={"phase": "Pending"})
    assert ("lab/train" in warnings()) == named


@pytest.mark.parametrize(
    ("node", "home"),
    [
        ({"spec": {}, "status": {"capacity": {"cpu": "4"}}}, True),
        ({"spec": {"taints": [{"key": "team", "effect": "NoSchedule"}]}, "status": {}}, False),
        ({"spec": {}, "status": {"capacity": {"nvidia.com/gpu": "1"}}}, False),
        ({"spec": {}, "status": {}, "metadata": {"labels": {"karpenter.sh/nodepool": "t4-1"}}}, False),
    ],
)
def test_the_gate_is_told_whether_system_pods_have_nodes(server: ApiServer, node: dict[str, Any], home: bool) -> None:
    add(server, "/api/v1/nodes/ip-10-20-0-9", **node)
    # Karpenter makes nodes for system pods, whether one is there or not.
    assert update().only(TYPE).inputs["cluster"]["systemNodes"] is True
    tainted = {"taints": [{"key": "team", "effect": "NoSchedule"}]}
    add(server, "/apis/karpenter.sh/v1/nodepools/general", spec={"template": {"spec": tainted}})
    assert update().only(TYPE).inputs["cluster"]["systemNodes"] is home


def test_a_node_group_that_the_same_program_makes_is_none_of_these_pools(server: ApiServer) -> None:
    tainted = {"taints": [{"key": "team", "effect": "NoSchedule"}]}
    add(server, "/apis/karpenter.sh/v1/nodepools/general", spec={"template": {"spec": tainted}})
    labels = {"eks.amazonaws.com/nodegroup": "system"}
    add(server, "/api/v1/nodes/ip-10-20-0-9", metadata={"labels": labels}, spec={}, status={"capacity": {"cpu": "4"}})
    first = update()
    group = "urn:pulumi:ml::gpucluster::aws:eks/nodeGroup:NodeGroup::system"
    first.states[group] = {"nodeGroupName": "system"}
    assert update(deployed=first).only(TYPE).inputs["cluster"]["systemNodes"] is True


@pytest.mark.parametrize(
    ("daemon", "enforces"),
    [
        ({"name": "aws-node", "args": ["--enable-network-policy=true"]}, True),
        ({"name": "aws-node", "args": ["--enable-network-policy=false"]}, False),
        ({"name": "cilium"}, True),
    ],
)
def test_the_gate_is_told_whether_network_policies_are_enforced(
    server: ApiServer, daemon: dict[str, Any], enforces: bool
) -> None:
    containers = [{"image": "plugin", "args": daemon.get("args")}]
    path = f"/apis/apps/v1/namespaces/kube-system/daemonsets/{daemon['name']}"
    add(server, path, spec={"template": {"spec": {"containers": containers}}})
    assert update().only(TYPE).inputs["cluster"]["networkPolicies"] is enforces


@pytest.mark.parametrize("kind", ["deployments", "nodes", "daemonsets", "ec2nodeclasses"])
def test_what_the_user_may_not_look_at_is_unknown_in_a_preview_and_refused_at_the_update(
    server: ApiServer, kind: str
) -> None:
    server.denied = frozenset({f"list {kind}"})
    preview = update(new=["none"])
    for known in ("cluster", "unknown"):
        assert isinstance(preview.only(TYPE).inputs[known], pulumi.output.Unknown), "the update knows more"
    assert isinstance(preview.only(CLASS).inputs["spec"], pulumi.output.Unknown) == (kind == "ec2nodeclasses")
    assert f"list {kind}" in refusal()


def test_of_a_cluster_that_answers_the_key_of_its_secrets_alone_is_not_known(server: ApiServer) -> None:
    assert update().only(TYPE).inputs["unknown"].keys() == {"encryptionConfig"}


def test_a_cluster_that_does_not_answer_is_asked_at_the_update(server: ApiServer) -> None:
    server.silent = "timed out"
    with mock.patch.object(pulumi, "warn") as warn:
        preview = update(new=["none"])
    assert "cannot be asked: timed out. The update asks it before it adds pools" in str(warn.call_args_list)
    assert len(server.asked) == 1, "it is asked once"
    assert isinstance(preview.only(CLASS).inputs["spec"], pulumi.output.Unknown)
    for known in ("cluster", "unknown"):
        assert isinstance(preview.only(TYPE).inputs[known], pulumi.output.Unknown), "the update knows more"
    assert "the API server of 'research' cannot be asked: timed out" in refusal()


def test_the_inputs_of_a_second_update_are_those_of_the_first(server: ApiServer) -> None:
    """What is recorded of the cluster changes by nothing of this stack."""
    first = update()
    for each in first.of_type(POOL) + first.of_type(CLASS):
        first.states[each.urn]["metadata"]["uid"] = "ours"
        path = "/apis/karpenter.sh/v1/nodepools" if each.type == POOL else CLASSES
        add(server, f"{path}/t4-1", metadata={"uid": "ours"}, spec=each.inputs["spec"])
    daemon = first.only("kubernetes:apps/v1:DaemonSet")
    first.states[daemon.urn]["metadata"]["uid"] = "ours"
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-device-plugin-whole"
    add(server, path, metadata={**daemon.inputs["metadata"], "uid": "ours"}, spec=daemon.inputs["spec"])
    labels = {"karpenter.sh/nodepool": "t4-1"}
    add(server, "/api/v1/nodes/ip-10-20-0-10", metadata={"labels": labels}, spec={}, status={})
    again = update(deployed=first)
    for token in (TYPE, POOL, CLASS):
        assert again.only(token).inputs == first.only(token).inputs


def test_the_kubeconfig_logs_in_by_the_aws_cli(server: ApiServer) -> None:
    kubeconfig = json.loads(update().stack_outputs["kubeconfig"])
    (user,) = kubeconfig["users"]
    assert user["user"]["exec"]["command"] == "aws"
    assert kubeconfig["clusters"][0]["cluster"]["server"] == eks_answers.RESEARCH["endpoint"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"existingCluster": {"name": "research"}}, "existingCluster.nodeClass: missing"),
        (
            {"existingCluster": {"name": "research", "nodeClass": "default", "nodeIdentity": "role"}},
            "existingCluster.nodeIdentity: nodes have the role of their node class",
        ),
        ({"existingCluster": {"name": "research", "nodeClass": "t4-1"}}, "existingCluster.nodeClass: 't4-1' is what"),
        ({"autoscaling": {"autoscaler": "cluster-autoscaler"}}, "existingCluster.nodeClass: an EC2NodeClass is"),
        ({"autoscaling": {"unneededMinutes": 5}}, "autoscaling.unneededMinutes: belongs to the cluster"),
        ({"kubernetes": {"version": "1.34"}}, "kubernetes: belongs to the cluster"),
        ({"access": [{"who": "arn:aws:iam::123456789012:role/ml", "role": "edit"}]}, "access: belongs to the cluster"),
        ({"autoscaling": {"autoscaler": "karpenter"}}, ""),
    ],
)
def test_keys_that_are_the_owners_are_refused(server: ApiServer, keys: dict[str, Any], says: str) -> None:
    changed_keys = {**KEYS, **{f"gpucluster:{key}": value for key, value in keys.items()}}
    if says:
        assert says in refusal(changed_keys)
        assert server.asked == []
    else:
        assert update(changed_keys).only(POOL)


def test_a_fabric_needs_what_is_the_owners(server: ApiServer) -> None:
    fabric = pools(gpu="nvidia-h100-80gb", gpusPerNode=[8], fabric="rdma", zones=["us-west-2a"], capacity="on-demand")
    assert "gpuPools[0].fabric: EFA needs a security group of its own" in refusal(fabric)


def test_the_roles_that_a_refusal_prints_are_enough(server: ApiServer) -> None:
    server.granted = {}
    server.granted = JOINED.roles()
    assert update().only(POOL)


def test_the_printed_roles_permit_what_the_update_deletes(server: ApiServer) -> None:
    """Without that an update that renames a pool fails, and the former pool goes on starting nodes."""
    assert JOINED.deletable(server, pools(name="other")) == {"NodePool t4-1": True, "EC2NodeClass t4-1": True}
    assert not server.allows("delete", "/apis/karpenter.sh/v1/nodepools", "default")


PLAIN: Final = {key.removeprefix("gpucluster:"): value for key, value in KEYS.items() if key.startswith("gpucluster:")}


def test_in_another_program_the_name_of_the_class_may_be_an_output(server: ApiServer) -> None:
    def run() -> None:
        existing = {"name": pulumi.Output.from_input("research"), "nodeClass": pulumi.Output.from_input("default")}
        GpuPools("gpu", GpuPoolsArgs.of({**PLAIN, "existingCluster": existing}))

    made = run_with({"aws:region": "us-west-2"}, "ml", run)
    assert made.only(POOL).name == "gpu-t4-1-pool"
    assert made.only(CLASS).inputs["spec"]["role"] == "KarpenterNodeRole-research"
