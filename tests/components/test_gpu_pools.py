"""``GpuPools``: pools on a cluster that somebody else made. What it adds, and what it looks at before."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from unittest import mock

import pulumi
import pytest

from components.cluster_reader import RefusedRequestError
from components.gpu_pools import GpuPools, GpuPoolsArgs
from components.resources import CustomResource, object_token
from facts.catalog import tables
from facts.concepts.offer import CONFIG_MAP, NAMESPACE, from_config_map
from tests import gke_answers, recorder
from tests.api_server import ApiServer, Reader
from tests.joined import Joined, add, api_server
from tests.recorder import Recording
from tests.stacks import STACK_FILES, run_program, run_with

OUTPUT: Final = object()
"""Stands for an output, which no test can make before a program runs."""
TYPE: Final = "gpucluster:index:GpuPools"
POOL: Final = "gcp:container/nodePool:NodePool"
INVENTORY: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"
KEYS: Final[dict[str, Any]] = {
    "gcp:project": "my-project",
    "gpucluster:cloud": "gke",
    "gpucluster:region": "us-central1",
    "gpucluster:zones": ["us-central1-a"],
    "gpucluster:existingCluster": {"name": "research"},
    "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}],
}


JOINED: Final = Joined(KEYS)
pools, update, refusal, warnings = JOINED.pools, JOINED.update, JOINED.refusal, JOINED.warnings


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server() as api:
        yield api


FABRIC: Final = pools(gpu="nvidia-h200-141gb", gpusPerNode=8, fabric="rdma", capacity="spot", zones=["us-central1-b"])


TPU7X: Final[dict[str, Any]] = {"gpu": "google-tpu7x", "gpusPerNode": 4, "zones": ["us-central1-c"], "hourlyUsd": 50}


def on(*changes: Callable[[dict[str, Any]], None], **fields: Any) -> Any:
    """The cluster with these fields, and changed so."""
    cluster = copy.deepcopy(gke_answers.RESEARCH) | fields
    for change in changes:
        change(cluster)
    return mock.patch.object(gke_answers, "CLUSTERS", [cluster])


def test_it_adds_pools_and_what_belongs_to_them_and_nothing_of_the_cluster(server: ApiServer) -> None:
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
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:core/v1:ServiceAccount",
        "kubernetes:batch/v1:CronJob",
        "kubernetes:rbac.authorization.k8s.io/v1:Role",
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    }
    assert program.reads == {}
    assert all(each.name == "pools" or each.name.startswith("pools-") for each in program.resources)
    assert [each.name for each in program.resources if each.deleted_with or each.protect or each.retain_on_delete] == []


def test_a_pool_takes_its_cluster_from_what_was_looked_up(server: ApiServer) -> None:
    pool = update().only(POOL).inputs
    assert (pool["cluster"], pool["location"], pool["name"]) == ("research", "us-central1-a", "t4-1")
    config = pool["nodeConfig"]
    assert config["serviceAccount"] == "nodes@my-project.iam.gserviceaccount.com"
    assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert "networkConfig" not in pool, "private or public nodes are as the cluster says"


SCOPES: Final = ["https://www.googleapis.com/auth/devstorage.read_only"]


@pytest.mark.parametrize(
    ("identity", "scopes"),
    [
        ({}, SCOPES),
        (
            {"nodeIdentity": "gpu@my-project.iam.gserviceaccount.com"},
            ["https://www.googleapis.com/auth/cloud-platform"],
        ),
    ],
)
def test_nodes_have_no_more_scopes_than_those_of_the_same_identity(
    server: ApiServer, identity: dict[str, str], scopes: list[str]
) -> None:
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    cluster["nodePools"][0]["nodeConfigs"][0] |= {"oauthScopes": SCOPES}
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        program = update({**KEYS, "gpucluster:existingCluster": {"name": "research", **identity}})
    assert program.only(POOL).inputs["nodeConfig"]["oauthScopes"] == scopes


def test_the_network_tags_of_all_nodes_are_taken(server: ApiServer) -> None:
    """Firewall rules of the owner go by them."""
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    first = cluster["nodePools"][0]
    second = copy.deepcopy(first) | {"name": "web"}
    first["nodeConfigs"][0]["tags"] = ["gke-research", "gke-research-default"]
    second["nodeConfigs"][0]["tags"] = ["gke-research", "gke-research-web"]
    cluster["nodePools"].append(second)
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        assert update().only(POOL).inputs["nodeConfig"]["tags"] == ["gke-research"]


def test_what_the_owner_changes_makes_no_node_of_a_running_pool_again(server: ApiServer) -> None:
    ignored = {f"nodeConfig.{key}" for key in ("oauthScopes", "tags", "workloadMetadataConfig", "serviceAccount")}
    assert ignored <= {*update().only(POOL).ignore_changes}
    written = update(
        {
            **KEYS,
            "gpucluster:existingCluster": {
                "name": "research",
                "nodeIdentity": "gpu@my-project.iam.gserviceaccount.com",
            },
        }
    )
    assert "nodeConfig.serviceAccount" not in written.only(POOL).ignore_changes


def test_another_pools_identity_changes_nothing_of_pools_that_are_there(server: ApiServer) -> None:
    first = update()
    own = copy.deepcopy(gke_answers.RESEARCH["nodePools"][0])
    own["nodeConfigs"][0] |= {"labels": {"gpucluster.dev/pool": "t4-1"}}
    with on(
        nodes(serviceAccount="more@my-project"), lambda cluster: cluster["nodePools"].append({**own, "name": "t4-1"})
    ):
        pool = update(deployed=first).only(POOL)
    assert pool.inputs["nodeConfig"]["serviceAccount"] == "nodes@my-project.iam.gserviceaccount.com"


def test_where_google_makes_all_pools_they_say_what_nodes_are(server: ApiServer) -> None:
    automatic = copy.deepcopy(gke_answers.RESEARCH["nodePools"][0]) | {"name": "nap-e2-standard-4-abc"}
    automatic["nodeConfigs"][0] |= {"serviceAccount": "default", "oauthScopes": SCOPES, "tags": ["theirs"]}
    with on(nodePools=[automatic]):
        config = update().only(POOL).inputs["nodeConfig"]
    assert (config["serviceAccount"], config["oauthScopes"], config["tags"]) == ("default", SCOPES, ["theirs"])


def test_the_default_account_has_googles_scopes_if_nobody_shows_others(server: ApiServer) -> None:
    """Its role in the project may be that of an editor."""
    with on(nodePools=[]):
        config = update().only(POOL).inputs["nodeConfig"]
    assert config["serviceAccount"] == "default"
    assert "https://www.googleapis.com/auth/cloud-platform" not in config["oauthScopes"]
    assert "https://www.googleapis.com/auth/devstorage.read_only" in config["oauthScopes"]


def test_pools_that_google_makes_and_deletes_change_nothing(server: ApiServer) -> None:
    automatic = copy.deepcopy(gke_answers.RESEARCH["nodePools"][0]) | {"name": "nap-e2-standard-4-abc"}
    automatic["nodeConfigs"][0] |= {"serviceAccount": "more@my-project", "tags": ["nap"]}
    with on(lambda cluster: cluster["nodePools"].append(automatic)):
        there = update()
    assert there.only(TYPE).inputs["cluster"] == update().only(TYPE).inputs["cluster"]


@pytest.mark.parametrize("key", ["tags", "resourceManagerTags"])
def test_what_is_written_is_not_read(server: ApiServer, key: str) -> None:
    value = ["mine"] if key == "tags" else {"tagKeys/1": "tagValues/1"}
    assert update(pools(raw={"nodeConfig": {key: value}})).only(POOL).inputs["nodeConfig"][key] == value


def test_resource_manager_tags_of_all_nodes_are_taken(server: ApiServer) -> None:
    """Firewall policies go by them."""
    both = {"tagKeys/1": "tagValues/1", "tagKeys/2": "tagValues/2"}
    with on(nodes(resourceManagerTags={**both, "tagKeys/2": "tagValues/3"})) as clusters:
        clusters[0]["nodePools"][0]["nodeConfigs"][0]["resourceManagerTags"] = both
        taken = update().only(POOL).inputs["nodeConfig"]["resourceManagerTags"]
    assert taken == {"tagKeys/1": "tagValues/1"}


@pytest.mark.parametrize(("channel", "upgraded"), [("UNSPECIFIED", False), ("REGULAR", True)])
def test_a_cluster_without_a_release_channel_has_pools_without_upgrades(
    server: ApiServer, channel: str, upgraded: bool
) -> None:
    with on(releaseChannels=[{"channel": channel}]):
        pool = update().only(POOL).inputs
        assert ("is in no release channel" in warnings()) != upgraded
    assert pool["management"]["autoUpgrade"] is upgraded
    assert bool(pool["maintenancePolicies"]) is upgraded


def test_a_new_ca_or_address_of_the_cluster_replaces_nothing(server: ApiServer) -> None:
    def identifier() -> str:
        return str(update().only("pulumi:providers:kubernetes").inputs["clusterIdentifier"])

    first = identifier()
    with on(masterAuths=[{"clusterCaCertificate": "TmV3"}], endpoint="203.0.113.99"):
        assert identifier() == first
    with on(location="us-central1"):
        assert identifier() != first


def test_pools_come_after_everything_and_go_before_it(server: ApiServer) -> None:
    """What costs is not there if anything fails, and is deleted first."""
    program = update(pools(drivers="daemonset"))
    objects = {each.urn for each in program.resources if each.type.startswith("kubernetes:")}
    assert len(objects) >= 10
    assert objects <= {*program.only(POOL).depends_on}


ADDRESSES: Final[dict[str, Any]] = {
    "controlPlaneEndpointsConfigs": [
        {"dnsEndpointConfigs": [{"endpoint": "gke-1.us-central1.gke.goog", "allowExternalTraffic": True}]}
    ],
    "privateClusterConfigs": [{"privateEndpoint": "10.0.0.2", "publicEndpoint": "203.0.113.10"}],
}


@pytest.mark.parametrize(
    ("silent", "server_address"),
    [
        ((), "https://gke-1.us-central1.gke.goog"),
        (("gke.goog",), "https://203.0.113.10"),
        (("gke.goog", "203.0.113.10"), "https://10.0.0.2"),
    ],
)
def test_each_address_of_the_control_plane_is_tried(
    server: ApiServer, silent: tuple[str, ...], server_address: str
) -> None:
    server.silent_at = silent
    with on(**ADDRESSES):
        kubeconfig = json.loads(update().stack_outputs["kubeconfig"])
    assert kubeconfig["clusters"][0]["cluster"]["server"] == server_address


def test_all_addresses_that_were_tried_are_named(server: ApiServer) -> None:
    server.silent_at = ("https://",)
    with on(**ADDRESSES):
        text = refusal()
    assert all(address in text for address in ("gke-1.us-central1.gke.goog", "203.0.113.10", "10.0.0.2"))


def test_an_address_that_refuses_the_user_is_not_the_last_one(server: ApiServer) -> None:
    real = Reader.version

    def version(reader: Reader) -> Any:
        if "gke.goog" in reader.server:
            raise RefusedRequestError(403, "Permission container.clusters.connect denied")
        return real(reader)

    with on(**ADDRESSES), mock.patch.object(Reader, "version", version):
        assert "203.0.113.10" in update().stack_outputs["kubeconfig"]
        server.silent_at = ("203.0.113.10", "10.0.0.2")
        assert "container.clusters.connect denied; no answer from" in refusal()


def test_the_nodes_identity_can_be_written(server: ApiServer) -> None:
    written = "gpu@my-project.iam.gserviceaccount.com"
    program = update({**KEYS, "gpucluster:existingCluster": {"name": "research", "nodeIdentity": written}})
    assert program.only(POOL).inputs["nodeConfig"]["serviceAccount"] == written


def test_every_resource_waits_for_the_look(server: ApiServer) -> None:
    """Pools by their cluster's name, objects by their provider: a refusal comes before all of them."""
    program = update()
    provider = program.only("pulumi:providers:kubernetes")
    for each in program.resources:
        if each.type.startswith("kubernetes:"):
            assert each.provider.startswith(provider.urn)


def test_the_look_changes_nothing(server: ApiServer) -> None:
    update()
    assert {method for method, _ in server.asked} == {"GET", "POST", "POST dry run"}
    assert {path for method, path in server.asked if method == "POST"} == {"selfsubjectaccessreviews"}


def test_each_object_of_ours_goes_through_a_dry_run_and_so_does_each_pod(server: ApiServer) -> None:
    program = update(pools(drivers="daemonset"))
    objects = [each for each in program.resources if each.type.startswith("kubernetes:")]
    tried = [path for method, path in server.asked if method == "POST dry run"]
    assert len(tried) == len(objects) + 2
    assert tried.count(f"/api/v1/namespaces/{NAMESPACE}/pods") == 2, "of the reaper and of the driver installer"


def test_what_is_recorded_of_the_cluster_changes_by_nothing_of_this_stack(server: ApiServer) -> None:
    """Neither by a pool of it, nor by one that the same update removes, nor by the size of an autoscaled pool."""
    two = {
        **KEYS,
        "gpucluster:gpuPools": [*KEYS["gpucluster:gpuPools"], {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 1}],
    }
    first = update(two)
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    theirs = {**cluster["nodePools"][0], "name": "web", "autoscalings": [{"minNodeCount": 1, "maxNodeCount": 5}]}
    recorded = []
    for count in (1, 4):
        own = [{"name": name, "nodeConfigs": [{}]} for name in ("t4-1", "l4-1")]
        cluster["nodePools"] = [gke_answers.RESEARCH["nodePools"][0], {**theirs, "nodeCount": count}, *own]
        with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
            recorded.append(update(deployed=first).only(TYPE).inputs["cluster"])
    assert recorded[0] == recorded[1]
    assert [pool["name"] for pool in recorded[0]["nodePools"]] == ["default-pool", "web"]


def policy(program: Recording, name: str) -> dict[str, Any]:
    kind = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
    return program.called(kind, name).inputs["spec"]


def test_admission_says_nothing_about_pods_for_other_nodes(server: ApiServer) -> None:
    program = update()
    spec = policy(program, "gpu-placement.gpucluster.dev")
    assert spec["failurePolicy"] == "Ignore"
    messages = " ".join(each["message"] for each in spec["validations"])
    assert "matches no GPU pool" not in messages
    assert "does not tolerate the taints of any pool" not in messages
    assert "more GPUs per pod than any node" not in messages
    assert messages, "but it warns about pods that reach one of ours"
    values = {each["name"]: each["expression"] for each in spec["variables"]}
    assert "labelKeys" not in values["selected"], "a label that no pool of ours has selects other nodes"
    assert json.loads(values["labels"])["t4-1"]["cloud.google.com/gke-nodepool"] == "t4-1"


def test_admission_refuses_only_where_the_namespaces_owner_wants_it(server: ApiServer) -> None:
    program = update()
    spec = policy(program, "gpu-isolation.gpucluster.dev")
    assert spec["failurePolicy"] == "Ignore"
    selector = spec["matchConstraints"]["namespaceSelector"]
    assert selector["matchLabels"] == {"gpucluster.dev/isolation": "enforced"}
    assert not [each.name for each in program.resources if "claims" in each.name or "mps" in each.name]


def test_a_stack_with_a_cluster_of_its_own_refuses_everywhere_as_before() -> None:
    spec = policy(run_program(STACK_FILES[0]), "gpu-isolation.gpucluster.dev")
    assert spec["failurePolicy"] == "Fail"
    assert "matchLabels" not in spec["matchConstraints"]["namespaceSelector"]


def test_the_reaper_runs_on_any_node_without_gpus(server: ApiServer) -> None:
    pod = update().only("kubernetes:batch/v1:CronJob").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux"}
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    absent = {each["key"] for each in term["matchExpressions"] if each["operator"] == "DoesNotExist"}
    assert absent == {
        "gpucluster.dev/pool",
        "nvidia.com/gpu.present",
        "cloud.google.com/gke-accelerator",
        "cloud.google.com/gke-tpu-accelerator",
    }


def changed(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda cluster: cluster.update(fields)


def nodes(**fields: Any) -> Callable[[dict[str, Any]], None]:
    def change(cluster: dict[str, Any]) -> None:
        pool = copy.deepcopy(cluster["nodePools"][0])
        pool["nodeConfigs"][0] |= fields
        cluster["nodePools"] = [*cluster["nodePools"], {**pool, "name": "other"}]

    return change


@pytest.mark.parametrize(
    ("change", "keys", "says"),
    [
        (changed(enableAutopilot=True), KEYS, '"gpu": {"type": "nvidia-tesla-t4", "count": 1}, "spot": true'),
        (changed(masterVersion="1.29.9-gke.1"), KEYS, "has Kubernetes 1.29.9-gke.1, and the program needs 1.30"),
        (changed(name="other"), KEYS, "there is no cluster 'research' in us-central1 of project my-project"),
        (changed(location="europe-west4"), KEYS, "there is no cluster 'research' in us-central1"),
        (changed(nodePools=[{"name": "t4-1"}]), KEYS, "'research' has a pool 't4-1' already"),
        (
            changed(nodePools=[{"name": "t4-1", "nodeConfigs": [{"labels": {"gpucluster.dev/pool": "t4-1"}}]}]),
            KEYS,
            "delete it: gcloud container node-pools delete t4-1 --cluster research --location us-central1-a",
        ),
        (changed(endpoint=""), KEYS, "the control plane of 'research' has no address: it is being made or deleted"),
        (
            changed(masterVersion="1.32.2-gke.1651999"),
            pools(capacity="flex-start"),
            "has GKE 1.32.2-gke.1651999, and capacity: flex-start needs 1.32.2-gke.1652000 or newer",
        ),
        (
            changed(masterVersion="1.34.1-gke.1000"),
            FABRIC,
            "and fabric needs 1.34.1-gke.1829001 or newer",
        ),
        (
            changed(masterVersion="1.34.0-gke.2200000"),
            pools(**TPU7X),
            "has GKE 1.34.0-gke.2200000, and gpu: google-tpu7x needs 1.34.0-gke.2201000 or newer",
        ),
        (changed(networkingMode="ROUTES"), FABRIC, "'research' has no addresses of its network for pods (VPC-native)"),
        (changed(datapathProvider="LEGACY_DATAPATH"), FABRIC, "'research' has no dataplane v2"),
        (nodes(serviceAccount="more@my-project"), KEYS, "the nodes of 'research' have several identities: nodes@"),
    ],
)
def test_a_cluster_that_cannot_have_the_pools_is_refused(
    server: ApiServer, change: Callable[[dict[str, Any]], None], keys: dict[str, Any], says: str
) -> None:
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    change(cluster)
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        assert says in refusal(keys)
        assert says in refusal(keys, new=["none"])


@pytest.mark.parametrize("of_pool", [{}, {"nodeConfig": {"confidentialNodes": {"enabled": True}}}])
def test_confidential_nodes_of_a_cluster_leave_jobs_less_memory(server: ApiServer, of_pool: dict[str, Any]) -> None:
    """Each node of such a cluster is one; what a pool says of it is counted once."""
    h100 = {"gpu": "nvidia-h100-80gb", "machineType": "a3-highgpu-1g", "capacity": "spot", "zones": ["us-central1-a"]}
    keys = pools(**h100, raw=of_pool)

    def offered() -> int:
        return from_config_map(update(keys).named("pools-offer-pools").inputs).pools[0].memory_mib or 0

    usual = offered()
    with on(confidentialNodes=[{"enabled": True, "confidentialInstanceType": "TDX"}]):
        assert usual - offered() == (0 if of_pool else 1131)
        assert "all nodes of 'research' are confidential" in recorder.warnings(lambda: update(keys))


def test_each_version_of_the_catalogue_is_asked_for() -> None:
    known = {row["need"] for row in tables.rows("gke", "oldest_versions")}
    assert known == {"capacity: flex-start", "fabric", "gpu: google-tpu7x"}, "each is a row above"


def test_versions_are_compared_as_numbers(server: ApiServer) -> None:
    with on(masterVersion="1.32.10-gke.5"):
        assert update(pools(capacity="flex-start")).only(POOL)


@pytest.mark.parametrize(
    ("pool", "rule"),
    [
        ({"capacity": "spot"}, {"spot": True}),
        ({"capacity": "on-demand"}, {}),
        ({"capacity": "flex-start"}, {"flexStart": {"enabled": True}, "maxRunDurationSeconds": 604800}),
        (
            {"capacity": "reserved", "reservation": "lab", "zones": ["us-central1-a"]},
            {"reservations": {"affinity": "Specific", "specific": [{"name": "lab"}]}},
        ),
    ],
)
def test_a_compute_class_for_autopilot_has_the_capacity_of_the_pool(
    server: ApiServer, pool: dict[str, Any], rule: dict[str, Any]
) -> None:
    with on(enableAutopilot=True):
        text = refusal(pools(**pool))
    (spec,) = [json.loads(line)["spec"] for line in text.splitlines() if '"ComputeClass"' in line]
    assert spec["priorities"] == [{"gpu": {"type": "nvidia-tesla-t4", "count": 1}, **rule}]
    assert "Nothing there limits their number as maxNodes does" in text


def test_a_pool_that_holds_the_control_plane_back_is_named(server: ApiServer) -> None:
    first = update()
    pool = {"name": "t4-1", "version": "1.33.5-gke.1", "nodeConfigs": [{"labels": {"gpucluster.dev/pool": "t4-1"}}]}
    with on(lambda cluster: cluster["nodePools"].append(pool)):
        text = warnings(deployed=first)
    assert "t4-1 (1.33.5-gke.1): older than the control plane (1.34.4-gke.1193000)" in text
    assert "gcloud container clusters upgrade research --location us-central1-a --node-pool <pool>" in text


@pytest.mark.parametrize(("locations", "named"), [(["us-central1-a"], False), (["us-central1-b"], True), ([], False)])
def test_zones_where_the_cluster_has_no_nodes_are_named(server: ApiServer, locations: list[str], named: bool) -> None:
    with on(nodeLocations=locations):
        assert ("may have nodes in us-central1-a, where 'research' has none" in warnings()) == named


def test_a_pool_that_is_gone_is_named(server: ApiServer) -> None:
    assert "the pool t4-1 of this stack is gone from 'research': run pulumi refresh" in warnings(deployed=update())


def test_an_autopilot_cluster_is_not_asked_what_else_it_refuses(server: ApiServer) -> None:
    with mock.patch.object(gke_answers, "CLUSTERS", [{**gke_answers.RESEARCH, "enableAutopilot": True}]):
        assert "1 problem" in refusal()
    assert server.asked == []


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ('googleapi: Error 403: Required "container.clusters.get" permission', "roles/container.clusterViewer"),
        (
            "googleapi: Error 403: Required 'compute.instanceGroupManagers.get' permission for x",
            "Ask the project's administrator for roles/compute.viewer, which has compute.instanceGroupManagers.get",
        ),
        ("could not find default credentials: /home/me/key.json not found", "Correct what Google says: the login"),
        ('exec: "gcloud": executable file not found in $PATH', "Correct what Google says: the login"),
    ],
)
def test_what_google_says_instead_is_no_missing_cluster(server: ApiServer, said: str, remedy: str) -> None:
    with mock.patch.dict(
        gke_answers.CALLS, {"gcp:container/getCluster:getCluster": mock.Mock(side_effect=LookupError(said))}
    ):
        text = refusal()
    assert said in text
    assert remedy in text


def test_the_id_of_a_cluster_is_not_its_name(server: ApiServer) -> None:
    name = "projects/my-project/locations/us-central1-a/clusters/research"
    text = refusal({**KEYS, "gpucluster:existingCluster": {"name": name}})
    assert "is no name of a cluster. Write the name alone, the last part of an ID" in text


def test_two_clusters_of_one_name_are_told_apart_by_their_place(server: ApiServer) -> None:
    other = {**gke_answers.RESEARCH, "location": "us-central1"}
    with mock.patch.object(gke_answers, "CLUSTERS", [gke_answers.RESEARCH, other]):
        text = refusal()
        assert "2 clusters are called 'research': in us-central1, us-central1-a" in text
        assert "Write existingCluster.location: us-central1, or the other" in text
        for place in ("us-central1", "us-central1-a"):
            program = update({**KEYS, "gpucluster:existingCluster": {"name": "research", "location": place}})
            assert program.only(POOL).inputs["location"] == place


def test_the_reapers_image_can_be_the_owners(server: ApiServer) -> None:
    keys = {**KEYS, "gpucluster:existingCluster": {"name": "research", "reaperImage": "example.com/python:3.13"}}
    pod = update(keys).only("kubernetes:batch/v1:CronJob").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "example.com/python:3.13"


@pytest.mark.parametrize(
    ("change", "mode"), [(changed(), "GKE_METADATA"), (changed(workloadIdentityConfigs=[]), "GCE_METADATA")]
)
def test_a_cluster_without_a_workload_pool_has_no_metadata_server(
    server: ApiServer, change: Callable[[dict[str, Any]], None], mode: str
) -> None:
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    change(cluster)
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        assert update().only(POOL).inputs["nodeConfig"]["workloadMetadataConfig"] == {"mode": mode}


def test_the_control_planes_name_is_used_where_it_is_reachable_from_anywhere(server: ApiServer) -> None:
    by_name = [{"dnsEndpointConfigs": [{"endpoint": "gke-1.us-central1.gke.goog", "allowExternalTraffic": True}]}]
    cluster = {**gke_answers.RESEARCH, "controlPlaneEndpointsConfigs": by_name}
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        kubeconfig = update().stack_outputs["kubeconfig"]
    assert "https://gke-1.us-central1.gke.goog" in kubeconfig
    assert "certificate-authority-data" not in kubeconfig, "its certificate is of a public authority"


def test_a_missing_right_is_named_with_the_role_that_has_it(server: ApiServer) -> None:
    server.denied = frozenset({"create validatingadmissionpolicies", "patch nodes"})
    text = refusal()
    assert "create validatingadmissionpolicies.admissionregistration.k8s.io" in text
    assert "patch nodes" in text, "nobody grants what they may not do"
    assert "kind: ClusterRole" in text


@pytest.mark.parametrize(
    ("status", "message", "remedy"),
    [
        (401, "Unauthorized", "Log in as somebody with rights in the cluster"),
        (403, "Forbidden", "Log in as somebody with rights in the cluster"),
        (429, "Too many requests", "Try again in some minutes"),
        (503, "Unavailable", "Try again in some minutes"),
    ],
)
def test_what_the_api_server_answers_instead_is_told(server: ApiServer, status: int, message: str, remedy: str) -> None:
    with mock.patch.object(Reader, "version", side_effect=RefusedRequestError(status, message)):
        text = refusal()
    assert f"the API server of 'research' refuses to be looked at ({status}): {message}" in text
    assert remedy in text


@pytest.mark.parametrize("kind", ["ConfigMap", "CronJob", "Pod", "ValidatingAdmissionPolicy"])
def test_what_a_policy_or_quota_of_others_refuses_is_known_before_anything_is_added(
    server: ApiServer, kind: str
) -> None:
    server.refused = {kind: "exceeded quota: team"}
    assert "exceeded quota: team" in refusal()


@pytest.fixture
def printed(server: ApiServer) -> dict[str, list[dict[str, Any]]]:
    """Namespace (empty: the cluster) → the rules of the role that a refusal prints."""
    server.granted = {}
    return JOINED.roles()


def test_the_roles_that_a_refusal_prints_are_enough_and_each_is_needed(server: ApiServer, printed: Any) -> None:
    server.granted = printed
    assert update().only(POOL)
    server.granted = {namespace: rules for namespace, rules in printed.items() if namespace}
    assert "create validatingadmissionpolicies.admissionregistration.k8s.io" in refusal()
    server.granted = {"": printed[""]}
    text = refusal()
    assert "create cronjobs.batch in kube-system" in text
    assert "get, list, watch, create configmaps in kube-system" in text


def test_the_printed_roles_permit_what_the_update_deletes(server: ApiServer) -> None:
    installer = Joined(pools(drivers="daemonset"))
    assert installer.deletable(server, KEYS) == {"DaemonSet nvidia-driver-installer-cos-default": True}
    assert not server.allows("create", "/apis/apps/v1/namespaces/kube-system/daemonsets"), "only to delete that one"


@pytest.mark.parametrize("name", ["gpu", "gpu-2"])
def test_objects_of_another_cluster_and_of_the_programs_author_need_no_rights(server: ApiServer, name: str) -> None:
    """Of a component whose name begins with this one's, and its own ones when it moves."""

    def before() -> None:
        GpuPools("gpu", GpuPoolsArgs.of(PLAIN))
        (pool,) = PLAIN["gpuPools"]
        more = {"existingCluster": {"name": "another"}, "gpuPools": [{**pool, "drivers": "daemonset"}]}
        GpuPools("gpu-2", GpuPoolsArgs.of({**PLAIN, **more}))
        own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "namespace": "lab"}}
        CustomResource(object_token(own), "gpu-own", own, pulumi.ResourceOptions())

    first = run_with(ACCOUNT, "ml", before)
    assert first.of_type("kubernetes:apps/v1:DaemonSet")
    server.granted = {}

    def again() -> None:
        GpuPools(name, GpuPoolsArgs.of(PLAIN))

    text = recorder.refusal(lambda: run_with(ACCOUNT, "ml", again, deployed=first))
    assert "patch, delete configmaps gpucluster-pools in kube-system" in text
    assert "daemonsets.apps " not in text
    assert "lab" not in text


def test_what_is_there_can_be_changed_by_the_names_of_this_stack_alone(printed: Any) -> None:
    changing = [
        (namespace, rule)
        for namespace, rules in printed.items()
        for rule in rules
        if {"patch", "delete"} & {*rule["verbs"]} and rule["resources"] != ["nodes"]
    ]
    assert len(changing) >= 5
    assert [rule for _, rule in changing if not all("gpu" in name for name in rule.get("resourceNames", [""]))] == []
    assert {namespace for namespace, rule in changing if rule["apiGroups"] == [""]} == {"kube-system"}


VIEW: Final = {
    "": [
        {"apiGroups": ["", "apps", "batch", "nvidia.com", "cloud.google.com"], "resources": [each], "verbs": ["list"]}
        for each in ("pods", "daemonsets", "deployments", "statefulsets", "cronjobs", "jobs", "clusterpolicies")
    ]
}
"""Who may look at workloads, and neither at roles and namespaces nor write anything."""


def test_a_preview_needs_no_rights_to_write_and_says_what_it_left_out(server: ApiServer) -> None:
    """As that of a pull request, whose user may only read."""
    server.granted = VIEW
    path = "/apis/apps/v1/namespaces/gpu/daemonsets/plugin"
    with mock.patch.object(pulumi, "warn") as warn:
        unknown = update(new=["none"]).only(TYPE).inputs["unknown"]
    assert isinstance(unknown, pulumi.output.Unknown), "so the gate says that it cannot judge"
    said = "\n".join(str(call.args[0]) for call in warn.call_args_list)
    assert "create validatingadmissionpolicies.admissionregistration.k8s.io" in said
    assert "the user may not list computeclasses, namespaces" in said
    assert "The update prints roles that have them; this preview has tried no object by a dry run" in said
    assert not [method for method, _ in server.asked if "dry run" in method]
    add(server, path, **plugin(tolerations=EVERYTHING))
    assert "would offer the GPUs of t4-1" in refusal(new=["none"]), "what can be seen is judged all the same"
    assert "lacks rights in the cluster" in refusal()


def _violated(plan: Any, update: Any) -> bool:
    """Whether an update with this value is not what a plan with that value permits, where unknown is anything."""
    if isinstance(plan, pulumi.output.Unknown):
        return False
    if isinstance(plan, Mapping) and isinstance(update, Mapping):
        return plan.keys() != update.keys() or any(_violated(plan[key], update[key]) for key in plan)
    if isinstance(plan, list) and isinstance(update, list):
        return len(plan) != len(update) or any(map(_violated, plan, update))
    return bool(plan != update)


@pytest.mark.parametrize("preview", [{"granted": VIEW}, {"granted": {}}, {"silent": "timed out"}, {}])
def test_an_update_is_what_a_preview_of_another_user_or_place_has_planned(
    server: ApiServer, preview: dict[str, Any]
) -> None:
    """``pulumi up --plan`` refuses an update that is not."""
    for key, value in preview.items():
        setattr(server, key, value)
    planned = update(new=["none"])
    server.granted, server.silent = None, ""
    done = {each.urn: each.inputs for each in update().resources}
    violated = {each.name for each in planned.resources if _violated(each.inputs, done[each.urn])}
    assert violated == set()
    assert {each.urn for each in planned.resources} == done.keys()


def test_room_is_not_published_while_nobody_can_list_daemonsets(server: ApiServer) -> None:
    server.granted = {}
    data = update(new=["none"]).named("pools-offer-pools").inputs["data"]
    assert isinstance(data, pulumi.output.Unknown)


def daemon(cpu: str = "500m", memory: str = "1Gi", **pod: Any) -> dict[str, Any]:
    container = {"name": "agent", "image": "agent", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return {"spec": {"template": {"spec": {"containers": [container], **pod}}}}


@pytest.mark.parametrize(
    ("path", "labels", "pod", "cpu", "mib"),
    [
        ("monitoring/daemonsets/agent", {}, {"tolerations": [{"operator": "Exists"}]}, 500, 1024),
        ("monitoring/daemonsets/agent", {}, {}, 0, 0),
        (
            "monitoring/daemonsets/agent",
            {},
            {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"a": "b"}},
            0,
            0,
        ),
        (
            "kube-system/daemonsets/netd",
            {"addonmanager.kubernetes.io/mode": "Reconcile"},
            {"tolerations": [{"operator": "Exists"}]},
            0,
            0,
        ),
        ("gmp-system/daemonsets/collector", {}, {"tolerations": [{"operator": "Exists"}]}, 0, 0),
        ("gke-tools/daemonsets/agent", {}, {"tolerations": [{"operator": "Exists"}]}, 500, 1024),
    ],
)
def test_the_owners_daemonsets_take_their_part_of_a_nodes_room(
    server: ApiServer, path: str, labels: dict[str, str], pod: dict[str, Any], cpu: int, mib: int
) -> None:
    def room(program: Recording) -> tuple[int, int]:
        (pool,) = json.loads(program.named("pools-offer-pools").inputs["data"]["offer.json"])["pools"]
        return pool["milli_cpu"], pool["memory_mib"]

    alone = room(update())
    add(server, f"/apis/apps/v1/namespaces/{path}", metadata={"labels": labels}, **daemon(**pod))
    shared = room(update())
    assert (alone[0] - shared[0], alone[1] - shared[1]) == (cpu, mib)


def test_a_daemonset_that_is_larger_than_the_nodes_is_named(server: ApiServer) -> None:
    everywhere = {"tolerations": [{"operator": "Exists"}]}
    add(server, "/apis/apps/v1/namespaces/sandbox/daemonsets/agent", **daemon("3", "1Gi", **everywhere))
    assert "sandbox/agent" not in warnings()
    add(server, "/apis/apps/v1/namespaces/sandbox/daemonsets/agent", **daemon("1000", "1Gi", **everywhere))
    assert "DaemonSet sandbox/agent requests more than a node of t4-1 has, so no job would fit there" in warnings()


def test_a_name_that_exists_is_refused(server: ApiServer) -> None:
    add(server, "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpucluster-node-reaper")
    text = refusal()
    assert "the cluster has a ClusterRole gpucluster-node-reaper already, which this stack did not make" in text


def test_what_this_stack_made_is_its_own(server: ApiServer) -> None:
    first = update()
    name = "pools-autoscaler-reaper-clusterrole"
    made = first.named(name)
    first.states[made.urn]["metadata"]["uid"] = "ours"
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gpucluster-node-reaper"
    assert "the ClusterRole gpucluster-node-reaper of this stack is gone" in warnings(deployed=first)
    add(server, path, metadata={"uid": "ours"})
    again = update(deployed=first)
    assert again.named(name)
    assert ("PATCH dry run", path) in server.asked
    add(server, path, metadata={"uid": "restored"})
    assert "If it is a copy of that one, run pulumi refresh" in refusal(deployed=first)


@pytest.mark.parametrize(
    ("project", "stack", "says"),
    [
        ("gpucluster", "other", "Add the pools there"),
        ("another", "ml", "Add the pools there"),
        ("gpucluster", "ml", "this state does not have them"),
    ],
)
def test_two_stacks_on_one_cluster_are_refused_by_name(server: ApiServer, project: str, stack: str, says: str) -> None:
    offer = f'{{"schema": 2, "stack": "{stack}", "project": "{project}", "pools": []}}'
    add(server, INVENTORY, data={"offer.json": offer})
    text = refusal()
    assert f"stack '{stack}' of project '{project}' has pools on this cluster already" in text
    assert says in text


def test_the_inventory_of_this_stack_is_its_own(server: ApiServer) -> None:
    first = update()
    first.states[first.named("pools-offer-pools").urn]["metadata"]["uid"] = "ours"
    add(server, INVENTORY, metadata={"uid": "ours"}, data={"offer.json": '{"schema": 2, "stack": "ml", "pools": []}'})
    assert update(deployed=first).only(POOL)


def test_a_stack_keeps_the_cluster_that_it_has_made(server: ApiServer) -> None:
    own = {key: value for key, value in KEYS.items() if key != "gpucluster:existingCluster"}
    networks = [{"cidr": "203.0.113.0/24", "name": "office"}]
    made = update({**own, "gpucluster:network": {"authorizedNetworks": networks}})
    assert made.only("gcp:container/cluster:Cluster")
    text = refusal(deployed=made)
    assert "existingCluster: this stack has made a cluster, which the update would delete" in text
    assert update(deployed=update()).only(POOL)


def plugin(**pod: Any) -> dict[str, Any]:
    container = {"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"}
    volumes = [{"name": "sockets", "hostPath": {"path": "/var/lib/kubelet/device-plugins"}}]
    return {"spec": {"template": {"spec": {"containers": [container], "volumes": volumes, **pod}}}}


EVERYTHING: Final = [{"operator": "Exists"}]
GPUS: Final = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
WITHOUT_GKES: Final[dict[str, Any]] = {
    "drivers": "daemonset",
    "labels": {"gke-no-default-nvidia-gpu-device-plugin": "true"},
}
OPERANDS: Final = "nvidia.com/gpu.deploy.operands"


@pytest.mark.parametrize(
    ("pod", "pool", "says"),
    [
        ({"tolerations": EVERYTHING}, {}, "would offer the GPUs of t4-1, as GKE's own device plugin does"),
        ({"tolerations": GPUS, "nodeSelector": {"nvidia.com/gpu.present": "true"}}, {}, "would offer the GPUs of t4-1"),
        ({"tolerations": GPUS, "nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"}}, {}, "t4-1"),
        ({"tolerations": GPUS, "nodeSelector": {"cloud.google.com/gke-nodepool": "theirs"}}, {}, ""),
        ({"tolerations": GPUS, "nodeSelector": {"team": "theirs"}}, {}, ""),
        ({}, {}, ""),
        ({"tolerations": EVERYTHING}, TPU7X, ""),  # it finds no GPUs there
        ({"tolerations": GPUS}, WITHOUT_GKES, ""),
        ({"tolerations": GPUS}, {**WITHOUT_GKES, "timeSharing": {"clientsPerGpu": 2}}, "decides how they are divided"),
    ],
)
def test_a_device_plugin_of_others_is_used_or_kept_away(
    server: ApiServer, pod: dict[str, Any], pool: dict[str, Any], says: str
) -> None:
    add(server, "/apis/apps/v1/namespaces/gpu/daemonsets/plugin", **plugin(**pod))
    if says:
        assert says in refusal(pools(**pool))
    else:
        assert update(pools(**pool)).only(POOL)


@pytest.mark.parametrize(("scheduled", "believed"), [(0, False), (3, True)])
def test_a_device_plugin_whose_pods_nobody_admits_is_none(server: ApiServer, scheduled: int, believed: bool) -> None:
    """Anybody with a namespace makes such a DaemonSet; Pod Security refuses its pods alone."""
    status = {"observedGeneration": 1, "desiredNumberScheduled": 3, "currentNumberScheduled": scheduled}
    path = "/apis/apps/v1/namespaces/sandbox/daemonsets/nvidia-x"
    add(server, path, metadata={"generation": 1}, status=status, **plugin(tolerations=EVERYTHING))
    if believed:
        assert "write taints that it does not tolerate, or ask its owner to remove nvidia-x" in refusal()
    else:
        assert update().only(POOL)


def test_gkes_own_device_plugin_is_none_of_others(server: ApiServer) -> None:
    path = "/apis/apps/v1/namespaces/kube-system/daemonsets/nvidia-gpu-device-plugin-small-cos"
    labels = {"addonmanager.kubernetes.io/mode": "Reconcile"}
    add(server, path, metadata={"labels": labels}, **plugin(tolerations=EVERYTHING))
    assert update().only(POOL)


@pytest.mark.parametrize(
    ("spec", "pool", "says"),
    [
        ({}, {}, ""),
        ({"devicePlugin": {"enabled": False}}, {}, ""),
        ({}, {"labels": {OPERANDS: "true"}}, "would offer the GPUs of t4-1"),
        ({"devicePlugin": {"enabled": False}}, {"labels": {OPERANDS: "true"}}, "installs drivers on nodes of t4-1"),
        ({}, WITHOUT_GKES, "installs drivers on nodes of t4-1"),
        ({"driver": {"enabled": False}}, WITHOUT_GKES, ""),
        ({}, {**WITHOUT_GKES, "labels": {**WITHOUT_GKES["labels"], "nvidia.com/gpu.deploy.driver": "false"}}, ""),
        ({"daemonsets": {"tolerations": [{"key": "team", "operator": "Exists"}]}}, {"labels": {OPERANDS: "true"}}, ""),
    ],
)
def test_the_gpu_operator_leaves_nodes_alone_unless_a_pool_is_made_for_it(
    server: ApiServer, spec: dict[str, Any], pool: dict[str, Any], says: str
) -> None:
    """With its DaemonSets, which are named by their policy alone."""
    add(server, "/apis/nvidia.com/v1/clusterpolicies/cluster-policy", spec=spec)
    if (spec.get("devicePlugin") or {}).get("enabled") is not False:
        tolerations = (spec.get("daemonsets") or {}).get("tolerations") or GPUS
        placement = {"tolerations": tolerations, "nodeSelector": {"nvidia.com/gpu.deploy.device-plugin": "true"}}
        add(server, "/apis/apps/v1/namespaces/gpu-operator/daemonsets/nvidia-device-plugin", **plugin(**placement))
    if says:
        text = refusal(pools(**pool))
        assert says in text
        assert text.count(says) == 1
        return
    labels = update(pools(**pool)).only(POOL).inputs["nodeConfig"]["labels"]
    assert labels.get(OPERANDS) == ("false" if not pool else pool["labels"].get(OPERANDS))


def test_an_owner_with_terraform_is_told_before_a_pool_is_added_and_not_again(server: ApiServer) -> None:
    assert "lifecycle { ignore_changes = [node_pool] }" in warnings(new=[])
    first = update()
    cluster = copy.deepcopy(gke_answers.RESEARCH)
    cluster["nodePools"].append({"name": "t4-1", "nodeConfigs": [{}]})
    with mock.patch.object(gke_answers, "CLUSTERS", [cluster]):
        assert warnings(deployed=first) == ""


@pytest.mark.parametrize(
    ("phase", "spec", "says"),
    [
        ("Pending", {}, "1 pod (lab/train) waiting for GPUs start nodes of t4-1 at once, 0."),
        ("Running", {}, "1 pod (lab/train) with GPUs of other nodes may move to t4-1"),
        ("Succeeded", {}, ""),
        ("Pending", {"nodeSelector": {"cloud.google.com/gke-nodepool": "theirs"}}, ""),
        ("Pending", {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}, ""),
        ("Pending", {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}}, "lab/train"),
        ("Running", {"nodeSelector": {"gpucluster.dev/gpu": "nvidia-t4"}}, ""),
    ],
)
def test_gpu_pods_of_others_that_may_start_our_nodes_are_named_with_the_price(
    server: ApiServer, phase: str, spec: dict[str, Any], says: str
) -> None:
    container = {"name": "train", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [container], **spec}
    add(server, "/api/v1/namespaces/lab/pods/train", kind="Pod", spec=spec, status={"phase": phase})
    text = warnings()
    assert says in text
    assert ("lab/train" in text) == bool(says)


GPU_POD: Final[dict[str, Any]] = {
    "spec": {"containers": [{"name": "t", "image": "t", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
}
OWNED: Final = {"ownerReferences": [{"kind": "CronJob"}]}


@pytest.mark.parametrize(
    ("path", "metadata", "spec", "named"),
    [
        ("apps/v1/namespaces/lab/deployments/train", {}, {"replicas": 0, "template": GPU_POD}, True),
        ("apps/v1/namespaces/lab/statefulsets/train", {}, {"replicas": 0, "template": GPU_POD}, True),
        ("apps/v1/namespaces/lab/deployments/train", {}, {"replicas": 1, "template": GPU_POD}, False),
        ("batch/v1/namespaces/lab/cronjobs/train", {}, {"jobTemplate": {"spec": {"template": GPU_POD}}}, True),
        ("batch/v1/namespaces/lab/jobs/train", {}, {"suspend": True, "template": GPU_POD}, True),
        ("batch/v1/namespaces/lab/jobs/train", OWNED, {"suspend": True, "template": GPU_POD}, False),
        ("batch/v1/namespaces/lab/jobs/train", {}, {"template": GPU_POD}, False),
        (
            "apps/v1/namespaces/lab/deployments/train",
            {},
            {"replicas": 0, "template": daemon()["spec"]["template"]},
            False,
        ),
    ],
)
def test_workloads_that_start_our_nodes_later_are_named_with_the_price(
    server: ApiServer, path: str, metadata: dict[str, Any], spec: dict[str, Any], named: bool
) -> None:
    add(server, f"/apis/{path}", metadata=metadata, spec=spec)
    said = "1 workload (lab/train) with GPUs and without pods now may start nodes of t4-1 later, 0."
    assert (said in warnings()) == named


@pytest.mark.parametrize(
    ("metadata", "spec", "phase", "says"),
    [
        ({}, {"tolerations": EVERYTHING}, "Running", "may run on the new nodes and keep them"),
        ({}, {"tolerations": EVERYTHING}, "Pending", "may start nodes of t4-1 at once, 0."),
        ({}, {"tolerations": EVERYTHING}, "Succeeded", ""),
        ({}, {}, "Running", ""),
        ({}, {"tolerations": EVERYTHING, "nodeSelector": {"team": "theirs"}}, "Running", ""),
        ({"ownerReferences": [{"kind": "DaemonSet"}]}, {"tolerations": EVERYTHING}, "Running", ""),
    ],
)
def test_pods_without_gpus_that_would_start_or_keep_our_nodes_are_named(
    server: ApiServer, metadata: dict[str, Any], spec: dict[str, Any], phase: str, says: str
) -> None:
    pod = {"containers": [{"name": "shell", "image": "shell"}], **spec}
    status = {"phase": phase}
    add(server, "/api/v1/namespaces/shop/pods/toolbox", metadata=metadata, spec=pod, status=status, kind="Pod")
    text = warnings()
    assert ("1 pod (shop/toolbox) without GPUs" in text) == bool(says)
    assert says in text


def test_a_namespace_whose_pods_get_a_compute_class_is_named(server: ApiServer) -> None:
    server.objects["/api/v1/namespaces/lab"] = {
        "metadata": {"name": "lab", "labels": {"cloud.google.com/default-compute-class": "cheap"}}
    }
    assert "pods of lab get the default ComputeClass cheap and its nodes: submit jobs" in warnings()
    spec = {"nodePoolAutoCreation": {"enabled": True}}
    add(server, "/apis/cloud.google.com/v1/computeclasses/cheap", spec=spec)
    assert "and its nodes, which Google makes past the limits and prices of this stack" in warnings()
    with on(clusterAutoscalings=[{"defaultComputeClassEnabled": True}]):
        assert "'research' has a default ComputeClass" in warnings()


def test_an_api_server_that_does_not_answer_is_asked_at_the_update(server: ApiServer) -> None:
    server.silent = "timed out"
    assert "cannot be asked: timed out. The update asks it before it adds pools" in warnings(new=[])
    unknown = update(new=["none"]).only(TYPE).inputs["unknown"]
    assert isinstance(unknown, pulumi.output.Unknown), "so the gate says that it cannot judge"
    assert "the API server of 'research' cannot be asked: timed out" in refusal()


def _with_outputs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_outputs(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_outputs(each) for each in value]
    return pulumi.Output.from_input(2) if value is OUTPUT else value


PLAIN: Final = {key.removeprefix("gpucluster:"): value for key, value in KEYS.items() if key.startswith("gpucluster:")}
ACCOUNT: Final = {"gcp:project": "my-project"}


def test_in_another_program_the_clusters_name_may_be_an_output(server: ApiServer) -> None:
    def run() -> None:
        name = pulumi.Output.from_input("research")
        identity = pulumi.Output.from_input("nodes@my-project.iam.gserviceaccount.com")
        GpuPools("gpu", GpuPoolsArgs.of({**PLAIN, "existingCluster": {"name": name, "nodeIdentity": identity}}))

    made = run_with(ACCOUNT, "ml", run)
    assert made.only(POOL).inputs["cluster"] == "research"
    assert made.only(POOL).name == "gpu-t4-1-pool"
    assert '"cluster": "research"' in made.named("gpu-offer-pools").inputs["data"]["offer.json"]


def test_a_cluster_of_this_program_has_a_name_before_it_is_there(server: ApiServer) -> None:
    def run() -> None:
        GpuPools("gpu", GpuPoolsArgs.of({**PLAIN, "existingCluster": {"name": pulumi.Output.from_input("research")}}))

    with mock.patch.object(gke_answers, "CLUSTERS", []):
        preview = run_with(ACCOUNT, "ml", run, new=["none"])
        assert isinstance(preview.only(POOL).inputs["cluster"], pulumi.output.Unknown)
        with pytest.raises(pulumi.RunError, match="there is no cluster 'research'"):
            run_with(ACCOUNT, "ml", run)


@pytest.mark.parametrize(("other", "refused"), [("research", True), ("another", False)])
def test_a_program_may_have_several_but_not_on_one_cluster(server: ApiServer, other: str, refused: bool) -> None:
    def run() -> None:
        GpuPools("gpu", GpuPoolsArgs.of(PLAIN))
        GpuPools("more", GpuPoolsArgs.of({**PLAIN, "existingCluster": {"name": other}}))

    if refused:
        with pytest.raises(pulumi.RunError, match=r"'research' has the pools of GpuPools '(gpu|more)' of this program"):
            run_with(ACCOUNT, "ml", run)
    else:
        assert {each.name for each in run_with(ACCOUNT, "ml", run).of_type(POOL)} == {"gpu-t4-1-pool", "more-t4-1-pool"}


def test_a_cluster_that_is_not_there_yet_is_looked_at_by_the_update(server: ApiServer) -> None:
    def run() -> None:
        name = pulumi.Output.from_input(pulumi.output.UNKNOWN)
        GpuPools("gpu", GpuPoolsArgs.of({**PLAIN, "existingCluster": {"name": name}}))

    with mock.patch.object(pulumi, "warn") as warn:
        made = run_with(ACCOUNT, "ml", run, new=["none"])
    assert "the cluster is not known yet" in str(warn.call_args_list)
    assert isinstance(made.only(POOL).inputs["cluster"], pulumi.output.Unknown)
    assert server.asked == []


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": OUTPUT}]}, "gpuPools[0].maxNodes: is an output"),
        ({"existingCluster": None}, "existingCluster: missing"),
        ({"existingCluster": {"nodeIdentity": "x"}}, "existingCluster.name: missing"),
        ({"teams": [{"name": "red", "gpus": 1}]}, "teams: belongs to the cluster"),
    ],
)
def test_bad_keys_of_a_program_are_refused(server: ApiServer, keys: dict[str, Any], says: str) -> None:
    def run() -> None:
        changes = {key: _with_outputs(value) for key, value in keys.items()}
        GpuPools("gpu", GpuPoolsArgs.of({**PLAIN, **changes}))

    with pytest.raises(pulumi.RunError, match="problem") as refused:
        run_with(ACCOUNT, "ml", run)
    assert says in str(refused.value)


@pytest.mark.parametrize("file", STACK_FILES, ids=lambda file: file.stem)
def test_a_stack_with_a_cluster_of_its_own_has_no_gpu_pools_component(file: Any) -> None:
    """So no registration of a running stack gets another name or parent."""
    made = run_program(file)
    assert made.of_type(TYPE) == []
    roots = {each.parent for each in made.of_type("gpucluster:index:GpuNodePool")}
    assert {root.rpartition("::")[0].rpartition("::")[2] for root in roots} == {"pulumi:pulumi:Stack"}
