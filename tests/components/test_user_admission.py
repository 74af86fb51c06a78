"""What is refused where people run pods: by a real API server, and in the listing of what an update would refuse."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pytest

from components.clouds.base import load_cloud
from components.settings import Settings
from components.teams import priority_classes
from components.user_admission import claim_rules, gpu_name_rules, main, pod_rules, refusals, user_policies, user_rules
from components.users import NAMESPACE_LIMITS
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.api import ApiError
from tests import one_stack
from tests.components.gpu_workloads import Submit, controller, judging, pod, workload
from tests.components.settings.test_clouds import load_stack
from tests.stacks import EXISTING, OWN_MACHINES, STACK_FILES, run_program, settings_of, stack_name

CLUSTER_CLASS = "gmp-critical"  # GKE has it in every cluster
ACCESS = [
    {"name": "ann", "who": "0a1b2c3d-0000-4000-8000-000000000000", "role": "developer", "namespaces": ["sandbox"]}
]
TEAMS = [
    {"name": "research", "gpus": 2, "priority": "high", "migSlices": {"1g.10gb": 2}},
    {"name": "nightly", "gpus": 1, "priority": "normal"},
]
PEOPLE = ("default", "sandbox", "research", "nightly")
ELSEWHERE = ("monitoring", "operators", "kube-system")


def settings() -> Settings:
    """A cloud whose shared volume is open to the network, and whose runtime reads a variable for GPUs."""
    return load_stack("aks", teams=TEAMS, access=ACCESS, workloads={"sharedVolume": {}})


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    with judging(tmp_path_factory.mktemp("users"), user_policies(settings())) as submit:
        api, about = submit.api, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        for each in (
            *priority_classes(default=True),
            {**about, "metadata": {"name": CLUSTER_CLASS}, "value": 1_000_000_000},
        ):
            api.create("/apis/scheduling.k8s.io/v1/priorityclasses", dict(each))
        for name in {*PEOPLE, *ELSEWHERE} - {"default", "kube-system"}:
            api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            eventually(f"{name} has its account", partial(api.find, path))
        for title, one in REFUSED.items():
            eventually(f"the policy on {title} is in force", partial(_is_refused, submit, written(one)))
        for title, one in WARNED.items():
            eventually(f"the warning about {title} is in force", partial(_is_warned, submit, written(one)))
        yield submit


def _is_refused(submit: Submit, one: dict[str, Any]) -> bool:
    return submit(one).status == 403


def _is_warned(submit: Submit, one: dict[str, Any]) -> bool:
    return bool(submit(one).warnings)


def real(test: Callable[..., None]) -> Callable[..., None]:
    """Marks of what asks a real API server; it is shared, so all of it takes seconds."""
    return pytest.mark.merge(pytest.mark.rehearsal(test))


def written(one: dict[str, Any], namespace: str = "sandbox") -> dict[str, Any]:
    return {**one, "metadata": {**one["metadata"], "namespace": namespace}}


def with_spec(gpus: int = 0, **spec: Any) -> dict[str, Any]:
    made = pod(gpus)
    made["spec"] |= spec
    return made


def with_limit(**limits: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "main", "resources": {"limits": limits}}]}


def with_env(*variables: dict[str, Any]) -> dict[str, Any]:
    """A pod with a GPU, and a container beside without one that has the ``variables``."""
    made = with_spec(1, tolerations=[GPU])
    made["spec"]["containers"] += [{"name": "beside", "image": "beside", "env": [*variables]}]
    return made


def with_env_from(*sources: dict[str, Any]) -> dict[str, Any]:
    """A pod with a GPU that has all variables of the ``sources``."""
    made = with_spec(1, tolerations=[GPU])
    made["spec"]["containers"][0]["envFrom"] = [*sources]
    return made


def with_gpu_beside_none() -> dict[str, Any]:
    """A pod with a GPU, and a container that says that it has none."""
    made = with_spec(1)
    made["spec"]["containers"] += [{"name": "beside", "image": "beside", "resources": {"limits": NO_GPU}}]
    return made


def keys(kind: str = "ConfigMap", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "one"}, "data": data}


def with_finalizers(*names: str, **spec: Any) -> dict[str, Any]:
    made = with_spec(**spec)
    return {**made, "metadata": {**made["metadata"], "finalizers": [*names]}}


def with_template_finalizer(made: dict[str, Any]) -> dict[str, Any]:
    made["spec"]["template"]["metadata"]["finalizers"] = ["example.com/a"]
    return made


def service(**spec: Any) -> dict[str, Any]:
    spec = {"ports": [{"port": 80}], "selector": {"app": "one"}, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": spec}


def apart(when: str = "required", kind: str = "podAntiAffinity", **term: Any) -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/os", "labelSelector": {"matchLabels": {"app": "one"}}, **term}
    if when == "preferred":
        term = {"weight": 1, "podAffinityTerm": term}
    return with_spec(affinity={kind: {f"{when}DuringSchedulingIgnoredDuringExecution": [term]}})


OTHER_JOBSETS = [
    {"key": "jobset.sigs.k8s.io/job-key", "operator": "Exists"},
    {"key": "jobset.sigs.k8s.io/job-key", "operator": "NotIn", "values": ["one"]},
]


def of_a_job_set(key: str, job: str | None = "one") -> dict[str, Any]:
    """A pod as JobSet's webhook writes it: of the job set's job ``job``, alone on nodes with one value of ``key``."""
    made = apart(namespaceSelector={}, topologyKey=key, labelSelector={"matchExpressions": OTHER_JOBSETS})
    labels = {} if job is None else {"jobset.sigs.k8s.io/job-key": job}
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


GPU = {"key": "nvidia.com/gpu", "operator": "Exists"}
TPU = {"key": "google.com/tpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
NFS = {"name": "s", "nfs": {"server": "10.0.0.2", "path": "/shared"}}
FILESTORE = {"name": "s", "csi": {"driver": "filestore.csi.storage.gke.io"}}
CLAIMED_VOLUME = {"name": "s", "persistentVolumeClaim": {"claimName": "shared"}}
BUCKET = {"name": "s", "csi": {"driver": "gcsfuse.csi.storage.gke.io"}}
AZURE_FILES = {"name": "s", "csi": {"driver": "file.csi.azure.com"}}
ALL_GPUS = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
GPUS_OF_A_FILE = {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"configMapKeyRef": {"name": "one", "key": "gpus"}}}
OF_A_CONFIG_MAP = {"configMapRef": {"name": "one"}}
A_YEAR = {"terminationGracePeriodSeconds": 31_536_000}
NEURON = {"key": "aws.amazon.com/neuron", "operator": "Exists"}
ALL = {"operator": "Exists"}
NO_GPU = {"nvidia.com/gpu": "0"}
CLAIM = {"name": "gpu", "resourceClaimTemplateName": "one"}
REFUSED = {
    "system-node-critical": with_spec(priorityClassName="system-node-critical"),
    "system-cluster-critical": with_spec(priorityClassName="system-cluster-critical"),
    "a class of the cloud": with_spec(priorityClassName=CLUSTER_CLASS),
    "the class of other teams": with_spec(priorityClassName="gpucluster-high"),
    "that with a GPU": with_spec(1, priorityClassName="gpucluster-high"),
    "all taints": with_spec(tolerations=[ALL]),
    "all taints with a GPU": with_spec(1, tolerations=[ALL]),
    "all taints that repel": with_spec(tolerations=[{**ALL, "effect": "NoSchedule"}]),
    "the taint of GPUs": with_spec(tolerations=[GPU]),
    "the taint of TPUs": with_spec(tolerations=[TPU]),
    "the taint of TPUs with a GPU": with_spec(1, tolerations=[TPU]),
    "a limit of no GPU": with_spec(tolerations=[GPU], **with_limit(**NO_GPU)),
    "a limit of no GPU alone": with_spec(**with_limit(**NO_GPU)),
    "cores of a chip": with_spec(tolerations=[NEURON], **with_limit(**{"aws.amazon.com/neuroncore": 2})),
    "a claim where no pool grows for one": with_spec(tolerations=[GPU], resourceClaims=[CLAIM]),
    "an owner that anybody may write": {
        **with_spec(tolerations=[ALL]),
        "metadata": {**pod(0)["metadata"], "ownerReferences": [controller("DaemonSet")]},
    },
    "a node by name": with_spec(nodeName="gpu-1"),
    "a file server by its address": with_spec(volumes=[NFS]),
    "the shared volume without its claim": with_spec(volumes=[AZURE_FILES]),
    "a disk of AWS by its name": with_spec(volumes=[{"name": "d", "awsElasticBlockStore": {"volumeID": "vol-1"}}]),
    "a repository on its node": with_spec(
        volumes=[{"name": "d", "gitRepo": {"repository": "/var/lib/kubelet/pods/a"}}]
    ),
    "a disk of Google by its name": with_spec(volumes=[{"name": "d", "gcePersistentDisk": {"pdName": "pvc-1"}}]),
    "a disk of Azure by its name": with_spec(
        volumes=[{"name": "d", "azureDisk": {"kind": "Managed", "diskName": "one", "diskURI": "/subscriptions/one"}}]
    ),
    "a disk of a network": with_spec(
        volumes=[{"name": "d", "iscsi": {"targetPortal": "10.0.0.2", "iqn": "iqn.2001-04.com.example:one", "lun": 0}}]
    ),
    "no other pods anywhere": apart(namespaceSelector={}),
    "no pods but one's own JobSet": apart(namespaceSelector={}, labelSelector={"matchExpressions": OTHER_JOBSETS[1:]}),
    "no JobSets, by a pod of none": of_a_job_set("kubernetes.io/hostname", None),
    "no JobSets, its own among them": of_a_job_set("kubernetes.io/hostname", "two"),
    "no other JobSets on any node": of_a_job_set("kubernetes.io/os"),
    "no other JobSets below the top of a network": of_a_job_set("topology.k8s.aws/network-node-layer-1"),
    "no other JobSets in a zone": of_a_job_set("topology.kubernetes.io/zone"),
    "no other JobSets in a cluster of a cloud": of_a_job_set("kubernetes.azure.com/cluster"),
    "no JobSets at all": {
        **of_a_job_set("kubernetes.io/hostname"),
        "spec": apart(
            namespaceSelector={},
            topologyKey="kubernetes.io/hostname",
            labelSelector={"matchExpressions": OTHER_JOBSETS[:1]},
        )["spec"],
    },
    "no other pods of a namespace": apart(namespaces=["research"]),
    "cores beside a chip": with_spec(
        **with_limit(**{"aws.amazon.com/neuron": 1, "aws.amazon.com/neuroncore": 2}), tolerations=[NEURON]
    ),
    "all GPUs of its node": with_env(ALL_GPUS),
    "GPUs by what a ConfigMap says": with_env(GPUS_OF_A_FILE),
    "GPUs by the keys of a ConfigMap": with_env_from({**OF_A_CONFIG_MAP, "prefix": "NVIDIA_"}),
    "GPUs by the keys of a Secret": with_env_from(
        OF_A_CONFIG_MAP, {"prefix": "NVIDIA_VISIBLE_DEVICE", "secretRef": {"name": "one"}}
    ),
    "a ConfigMap for envFrom": keys(NVIDIA_VISIBLE_DEVICES="all"),
    "a Secret whose bytes are not void": keys("Secret", NVIDIA_VISIBLE_DEVICES="void"),
    "a Secret for envFrom": keys("Secret", NVIDIA_VISIBLE_DEVICES="YWxs", LR="MQ=="),
    "all GPUs in a container that starts first": with_spec(
        1, initContainers=[{"name": "first", "image": "first", "env": [ALL_GPUS]}], tolerations=[GPU]
    ),
    "a GPU for a year after its deletion": with_spec(1, tolerations=[GPU], **A_YEAR),
    "a chip for a year": with_spec(tolerations=[NEURON], **with_limit(**{"aws.amazon.com/neuron": 1}), **A_YEAR),
    "a claim for a year": with_spec(resourceClaims=[CLAIM], **A_YEAR),
    "a finalizer that nobody removes": {
        **with_spec(),
        "metadata": {**pod(0)["metadata"], "finalizers": ["example.com/a"]},
    },
    "a DaemonSet for all nodes": workload("DaemonSet", with_spec(tolerations=[ALL])),
    "a DaemonSet for GPU nodes": workload("DaemonSet", with_spec(1, tolerations=[TPU])),
    "addresses of others": service(externalIPs=["10.0.0.2"]),
}
UNLISTED = {"a node by name", "an owner that anybody may write", "a class of the cloud"}
"""What a pod that exists does not show; the class is a value there."""
WARNED = {
    "a Deployment for all taints": workload("Deployment", REFUSED["all taints"]),
    "a Job with a critical class": workload("Job", REFUSED["system-node-critical"]),
    "a CronJob with the class of others": workload("CronJob", REFUSED["the class of other teams"]),
    "a DaemonSet with a critical class": workload("DaemonSet", REFUSED["system-node-critical"]),
    "a Job that no other pods are beside": workload("Job", REFUSED["no other pods anywhere"]),
    "a Deployment with a disk of others": workload("Deployment", REFUSED["a disk of Google by its name"]),
    "a Deployment with all GPUs of its node": workload("Deployment", REFUSED["all GPUs of its node"]),
    "a Job with a GPU for a year": workload("Job", REFUSED["a GPU for a year after its deletion"]),
    "a Job whose pods have a finalizer": with_template_finalizer(workload("Job", with_spec())),
    "a Deployment with a limit of no GPU": workload("Deployment", with_spec(**with_limit(**NO_GPU))),
    "a StatefulSet for GPU nodes": workload("StatefulSet", REFUSED["the taint of GPUs"]),
    "a Job on a node by name": workload("Job", REFUSED["a node by name"]),
}
ADMITTED = {
    "a pod": with_spec(),
    "a pod with a GPU": with_spec(1, tolerations=[GPU]),
    "a GPU that ends in time": with_spec(1, tolerations=[GPU], terminationGracePeriodSeconds=600),
    "a year without a GPU": with_spec(**A_YEAR),
    "no GPU by its variable": with_env({**ALL_GPUS, "value": "void"}, {"name": "CUDA_VISIBLE_DEVICES", "value": "0"}),
    "variables of a ConfigMap": with_env_from(OF_A_CONFIG_MAP, {**OF_A_CONFIG_MAP, "prefix": "TRAIN_"}),
    "a ConfigMap": keys(LR="1", VISIBLE_DEVICES="all"),
    "a ConfigMap without data": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}},
    "a ConfigMap by which a container gets none": keys(NVIDIA_VISIBLE_DEVICES="void"),
    "a Secret": keys("Secret", LR="MQ=="),
    "a Secret by which a container gets none": keys("Secret", NVIDIA_VISIBLE_DEVICES="dm9pZA=="),
    "a low priority": with_spec(priorityClassName="gpucluster-low"),
    "a part of a GPU": with_spec(tolerations=[GPU], **with_limit(**{"nvidia.com/mig-1g.10gb": 1})),
    "a chip": with_spec(tolerations=[NEURON], **with_limit(**{"aws.amazon.com/neuron": 1})),
    "a GPU beside a container with none": with_gpu_beside_none(),
    "a claim and a GPU": with_spec(1, tolerations=[GPU], resourceClaims=[CLAIM]),
    "a claim without a toleration": with_spec(resourceClaims=[CLAIM]),
    "eviction alone": with_spec(tolerations=[{**ALL, "effect": "NoExecute"}]),
    "a preference": with_spec(tolerations=[{**GPU, "effect": "PreferNoSchedule"}]),
    "a taint by name": with_spec(tolerations=[{"key": "team", "operator": "Exists"}]),
    "a Service": service(),
    "a load balancer": service(type="LoadBalancer"),
    "a DaemonSet for nodes with a taint": workload("DaemonSet", with_spec(tolerations=[{**ALL, "key": "team"}])),
    "a DaemonSet that stays": workload("DaemonSet", with_spec(tolerations=[{**ALL, "effect": "NoExecute"}])),
    "the claim of the shared volume": with_spec(volumes=[CLAIMED_VOLUME]),
    "a bucket": with_spec(volumes=[BUCKET]),
    "volumes of its own": with_spec(
        volumes=[{"name": "e", "emptyDir": {}}, {"name": "c", "configMap": {"name": "one", "optional": True}}]
    ),
    "no other pods of its own": apart(),
    "rather no other pods": apart("preferred", namespaceSelector={}),
    "no other JobSets on its node": of_a_job_set("kubernetes.io/hostname"),
    "no other JobSets in its pool": of_a_job_set("cloud.google.com/gke-nodepool"),
    "no other JobSets in its rack": of_a_job_set("topology.k8s.aws/network-node-layer-3"),
    "near other pods": apart(kind="podAffinity", namespaceSelector={}),
    "a Job with a GPU": workload("Job", with_spec(1, tolerations=[GPU])),
}


@real
@pytest.mark.parametrize("title", REFUSED)
@pytest.mark.parametrize("namespace", ["default", "sandbox", "nightly"])
def test_it_is_refused_wherever_people_run_pods(submit: Submit, title: str, namespace: str) -> None:
    answer = submit(written(REFUSED[title], namespace))
    assert answer.status == 403
    assert "ValidatingAdmissionPolicy" in answer.error


@real
@pytest.mark.parametrize("title", REFUSED)
@pytest.mark.parametrize("namespace", ELSEWHERE)
def test_where_the_cluster_and_its_tools_run_it_is_admitted(submit: Submit, title: str, namespace: str) -> None:
    assert submit(written(REFUSED[title], namespace)).status == 201


@real
@pytest.mark.parametrize("title", WARNED)
def test_the_author_of_a_workload_of_such_pods_is_warned(submit: Submit, title: str) -> None:
    answer = submit(written(WARNED[title]))
    assert answer.status == 201
    assert len(answer.warnings) == 1


@real
@pytest.mark.parametrize("title", ADMITTED)
@pytest.mark.parametrize("namespace", ["default", "sandbox"])
def test_what_people_run_is_admitted_in_silence(submit: Submit, title: str, namespace: str) -> None:
    assert submit(written(ADMITTED[title], namespace)).silent


@real
def test_a_high_team_has_its_priority_and_no_higher_one(submit: Submit) -> None:
    assert submit(written(REFUSED["the class of other teams"], "research")).silent
    assert submit(written(REFUSED["system-node-critical"], "research")).status == 403


SLICE = with_spec(tolerations=[GPU], **with_limit(**{"nvidia.com/mig-1g.10gb": 1}))
COUNTED = {"research": True, "nightly": False}


@real
@pytest.mark.parametrize("team", COUNTED)
def test_a_team_gets_the_slices_that_its_quota_counts(submit: Submit, team: str) -> None:
    assert submit(written(SLICE, team)).status == (201 if COUNTED[team] else 403)
    assert bool(submit(written(workload("Job", SLICE), team)).warnings) is not COUNTED[team]


@pytest.mark.parametrize("team", COUNTED)
def test_slices_that_no_quota_of_the_team_counts_are_listed(team: str) -> None:
    lines = [*refusals([running(SLICE, team)], settings())]
    assert lines == (
        [] if COUNTED[team] else [f"{team}: Pod one requests nvidia.com/mig-1g.10gb, which no quota counts"]
    )


@real
@pytest.mark.parametrize("made", [with_spec, partial(workload, "Deployment")], ids=["Pod", "Deployment"])
def test_who_wrote_a_limit_of_no_gpu_reads_of_that(submit: Submit, made: Callable[..., dict[str, Any]]) -> None:
    """The API server adds the toleration to the pod, which its author never wrote."""
    spec = with_spec(**with_limit(**NO_GPU))
    answer = submit(written(spec if made is with_spec else made(spec)))
    (text,) = answer.warnings or [answer.error]
    assert "by a limit of 0" in text
    assert "containers remove nvidia.com/gpu from the limits" in text


@real
def test_pods_of_daemon_sets_that_are_there_run_on_every_node(submit: Submit) -> None:
    owned = {"ownerReferences": [controller("DaemonSet")]}
    made = written({**with_spec(tolerations=[ALL, GPU]), "metadata": {**pod(0)["metadata"], **owned}})
    assert submit.controller is not None
    assert submit.controller(made).silent
    urgent = {**made, "spec": {**made["spec"], "priorityClassName": "system-node-critical"}}
    assert submit.controller(urgent).status == 403, "a DaemonSet's pods end those of others, too"


@real
def test_what_runs_may_change_but_not_get_access_to_more_nodes(submit: Submit) -> None:
    submit.api.create("/api/v1/namespaces/default/pods", with_spec())
    assert submit.change("one", {"metadata": {"labels": {"a": "b"}}}).status == 200
    named = {"key": "team", "operator": "Exists"}
    assert submit.change("one", {"spec": {"tolerations": [*_defaults(submit), named]}}).status == 200
    for one in (ALL, GPU):
        assert submit.change("one", {"spec": {"tolerations": [*_defaults(submit), named, one]}}).status == 403


@real
def test_a_daemon_set_that_was_there_may_go_but_not_change_its_pods(submit: Submit) -> None:
    path = "/apis/apps/v1/namespaces/former/daemonsets"
    with former(submit, REFUSED["a DaemonSet for all nodes"], "user-daemon-sets", user_rules(["former"], ())):
        submit.api.merge(f"{path}/one", {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(ApiError, match="user-daemon-sets"):
            submit.api.merge(f"{path}/one", {"spec": {"template": {"metadata": {"labels": {"app": "one", "a": "b"}}}}})
        submit.api.delete(f"{path}/one")


@real
def test_a_config_map_that_was_there_may_change_but_name_no_other_gpus(submit: Submit) -> None:
    path = "/api/v1/namespaces/former/configmaps/one"
    with former(submit, keys(NVIDIA_VISIBLE_DEVICES="0", LR="1"), "user-gpu-names", gpu_name_rules(["former"])):
        submit.api.merge(path, {"data": {"LR": "2"}})
        with pytest.raises(ApiError, match="user-gpu-names"):
            submit.api.merge(path, {"data": {"NVIDIA_VISIBLE_DEVICES": "all"}})
        submit.api.merge(path, {"data": {"NVIDIA_VISIBLE_DEVICES": None}})
        with pytest.raises(ApiError, match="user-gpu-names"):
            submit.api.merge(path, {"data": {"NVIDIA_VISIBLE_DEVICES": "0"}})


@real
def test_a_container_that_is_added_to_a_pod_names_no_gpus_either(submit: Submit) -> None:
    """By ``kubectl debug``."""
    submit.api.create("/api/v1/namespaces/sandbox/pods", {**with_spec(), "metadata": {"name": "debugged"}})
    path = "/api/v1/namespaces/sandbox/pods/debugged/ephemeralcontainers"

    def add(**fields: Any) -> None:
        submit.api.merge(path, {"spec": {"ephemeralContainers": [{"name": "debug", "image": "debug", **fields}]}})

    prefixed = {"envFrom": [{**OF_A_CONFIG_MAP, "prefix": "N"}]}
    for fields in ({"env": [ALL_GPUS]}, {"env": [GPUS_OF_A_FILE]}, prefixed):
        with pytest.raises(ApiError, match="user-gpu-names"):
            add(**fields)
    add(env=[{"name": "LR", "value": "1"}])


def long_job(name: str, gpus: int, grace: int = 600, **spec: Any) -> dict[str, Any]:
    """A pod on a node that may run on for ``grace`` seconds after its deletion."""
    tolerations = [GPU] if gpus else []
    spec = {"terminationGracePeriodSeconds": grace, "nodeName": "n1", "tolerations": tolerations, **spec}
    return {**with_spec(gpus, **spec), "metadata": {"name": name, "namespace": "forced"}}


ENDED = {"status": {"phase": "Succeeded"}}
TARGET = {"type": "DisruptionTarget", "status": "True"}


def disrupted(reason: str) -> dict[str, Any]:
    """The status of a pod that Kubernetes deletes from now on: without a time it would take that back at once."""
    now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    return {"status": {"conditions": [{**TARGET, "reason": reason, "lastTransitionTime": now}]}}


@pytest.fixture(scope="module")
def forced(submit: Submit) -> Submit:
    """The policy on deletion by force in a namespace where pods name their node, as the scheduler does."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "forced"}}
    submit.api.create("/api/v1/namespaces", space)
    account = "/api/v1/namespaces/forced/serviceaccounts/default"
    eventually("forced has its account", partial(submit.api.find, account))
    apply_as(submit, "user-forced-deletion", "forced", user_rules(["forced"], ()))
    path = "/api/v1/namespaces/forced/pods"

    def refused() -> bool:
        assert submit.person is not None
        if submit.api.find(f"{path}/tried") is None:  # its node is not there
            submit.api.create(path, long_job("tried", 1))
        try:
            submit.person.delete(f"{path}/tried", gracePeriodSeconds=0, dryRun=["All"])
        except ApiError as refusal:
            return refusal.status == 403
        return False

    eventually("the policy on deletion by force is in force", refused)
    return submit


@real
def test_a_pod_that_would_keep_its_gpus_is_not_deleted_by_force(forced: Submit) -> None:
    """It runs on for the time that it wrote, and neither the quota nor the scheduler knows it any more."""
    person, pods = forced.person, "/api/v1/namespaces/forced/pods"
    assert person is not None
    path = f"{pods}/first"
    forced.api.create(pods, long_job("first", 1))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "first", "namespace": "forced"}}
    for call in (
        partial(person.delete, path, gracePeriodSeconds=0),
        partial(person.delete, pods, gracePeriodSeconds=0),
        partial(person.create, f"{path}/eviction", {**eviction, "deleteOptions": {"gracePeriodSeconds": 0}}),
    ):
        with pytest.raises(ApiError, match="--grace-period=1"):
            call()
    assert "deletionTimestamp" not in forced.api.get(path)["metadata"]
    person.create(f"{path}/eviction", eviction)
    assert forced.api.get(path)["metadata"]["deletionGracePeriodSeconds"] == 600, "quotas count it until it has ended"
    with pytest.raises(ApiError, match="--grace-period=1"):
        person.delete(path, gracePeriodSeconds=0)
    person.delete(path, gracePeriodSeconds=1)
    person.delete(path, gracePeriodSeconds=0)
    assert forced.api.find(path) is None


@real
@pytest.mark.parametrize(
    ("one", "status"),
    [
        (long_job("no-gpu", 0), dict),
        (long_job("short", 1, 30), dict),
        (long_job("waits", 1, nodeName=None), dict),
        (long_job("ended", 1), lambda: ENDED),
        (long_job("lost", 1), lambda: disrupted("DeletionByTaintManager")),
        (long_job("gone", 1), lambda: disrupted("DeletionByPodGC")),
    ],
    ids=("no-gpu", "short", "waits", "ended", "lost", "gone"),
)
def test_other_pods_are_deleted_by_force(
    forced: Submit, one: dict[str, Any], status: Callable[[], dict[str, Any]]
) -> None:
    path = f"/api/v1/namespaces/forced/pods/{one['metadata']['name']}"
    forced.api.create(path.rpartition("/")[0], one)
    forced.api.merge(f"{path}/status", status())
    assert forced.person is not None
    forced.person.delete(path, gracePeriodSeconds=0)
    assert forced.api.find(path) is None


@real
def test_kubelets_controllers_and_administrators_delete_by_force(forced: Submit) -> None:
    """Administrators of clouds are in no group of Kubernetes' own, and drain nodes."""
    path = "/api/v1/namespaces/forced/pods"
    assert forced.controller is not None
    assert forced.administrator is not None
    by = {"the-owner": forced.api, "an-administrator": forced.administrator, "a-controller": forced.controller.api}
    for name, api in by.items():
        forced.api.create(path, long_job(name, 1))
        api.delete(f"{path}/{name}", gracePeriodSeconds=0)
        assert forced.api.find(f"{path}/{name}") is None


NOT_COUNTED = {
    ("", "events"),  # Kubernetes counts none, and deletes them after an hour
    ("authorization.k8s.io", "localsubjectaccessreviews"),  # an answer that nothing stores
}


@real
def test_a_namespace_has_a_limit_for_each_kind_of_object_that_people_make_there(submit: Submit) -> None:
    """Each may have a megabyte in etcd. Kubernetes gives `admin` what a developer may make, and roles."""
    rules = submit.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/admin")["rules"]
    made = {
        (group, resource)
        for rule in rules
        if {"create", "*"} & {*rule["verbs"]}
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if "/" not in resource and group != "extensions"  # not served any more
    }
    limited = {tuple(key.removeprefix("count/").partition(".")[::2]) for key in NAMESPACE_LIMITS}
    assert {(group, resource) for group, resource in made if (resource, group) not in limited} == NOT_COUNTED
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "limited"}}
    submit.api.create("/api/v1/namespaces", space)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limits"}}
    path = "/api/v1/namespaces/limited/resourcequotas"
    submit.api.create(path, {**quota, "spec": {"hard": {**NAMESPACE_LIMITS}}})
    counted = partial(submit.api.get, f"{path}/limits")
    eventually("all are counted", lambda: counted().get("status", {}).get("used", {}).keys() == NAMESPACE_LIMITS.keys())


JOBS_FINALIZER, KUEUES_FINALIZER = "batch.kubernetes.io/job-tracking", "kueue.x-k8s.io/managed"
GATED = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


@real
def test_people_set_no_finalizers_of_pods_and_their_controllers_do(submit: Submit) -> None:
    """A pod that waited for a node would stay after its deletion, and Karpenter would make nodes for it."""
    path, person = "/api/v1/namespaces/sandbox/pods", submit.person
    assert person is not None
    assert submit.controller is not None
    for name in (JOBS_FINALIZER, KUEUES_FINALIZER):
        with pytest.raises(ApiError, match="user-finalizers"):
            person.create(path, with_finalizers(name))
    # Kueue's webhook adds both to a pod of a user, and its controller takes both away.
    person.create(path, with_finalizers(KUEUES_FINALIZER, **GATED))
    person.merge(f"{path}/one", {"metadata": {"labels": {"a": "b"}}})
    for change in (
        {"metadata": {"finalizers": [KUEUES_FINALIZER, "example.com/stays"]}},
        {"spec": {"schedulingGates": None}},
    ):
        with pytest.raises(ApiError, match="user-finalizers"):
            person.merge(f"{path}/one", change)
    assert submit.kueue is not None
    submit.kueue.merge(f"{path}/one", {"spec": {"schedulingGates": None}})
    person.merge(f"{path}/one", {"metadata": {"labels": {"a": "c"}}})
    person.merge(f"{path}/one", {"metadata": {"finalizers": None}})
    person.delete(f"{path}/one", gracePeriodSeconds=0)
    # The Job controller copies what a template has, and adds its own.
    job = {**workload("Job", with_spec()), "metadata": {"name": "tracked", "namespace": "sandbox"}}
    person.create("/apis/batch/v1/namespaces/sandbox/jobs", job)
    pods = partial(submit.api.list, path, labelSelector="batch.kubernetes.io/job-name=tracked")
    assert eventually("the Job has its pod", pods)[0]["metadata"]["finalizers"] == [JOBS_FINALIZER]


def apply_as(submit: Submit, policy: str, name: str, rules: Iterable[Any]) -> None:
    """The ``policy`` of the ``rules`` and its binding, under a ``name`` of its own before theirs."""
    root = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    own = [each for each in rules if policy in each["metadata"]["name"]]
    assert len(own) == 2
    for each in own:
        plural = "ybindings" if each["kind"].endswith("Binding") else "ies"
        made = json.loads(json.dumps(each).replace(policy, f"{name}-{policy}"))
        submit.api.apply(f"{root}{plural}/{made['metadata']['name']}", made)


@contextmanager
def former(submit: Submit, one: dict[str, Any], policy: str, rules: Iterable[Any]) -> Iterator[None]:
    """``one`` in the namespace ``former`` before its ``policy`` of the ``rules`` is in force there."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "former"}}
    if submit.api.find("/api/v1/namespaces/former") is None:
        submit.api.create("/api/v1/namespaces", space)
    path = submit.api.resource(one["apiVersion"], one["kind"]).path(namespace="former")
    submit.api.create(path, one)
    apply_as(submit, policy, "former", rules)
    other = {**one, "metadata": {"name": "other", "namespace": "former"}}
    eventually("the policy holds in that namespace", partial(_is_refused, submit, other))
    yield


@real
@pytest.mark.parametrize("namespace", ["default", "research"])
def test_only_the_api_server_writes_its_address(submit: Submit, namespace: str) -> None:
    """`edit` in `default` includes every Service there. One of that name elsewhere is a Service like any other."""
    path, refused = f"/api/v1/namespaces/{namespace}/services", namespace == "default"
    assert submit.person is not None
    one = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes"}, "spec": service()["spec"]}
    own = {**one, "metadata": {"name": "own"}}
    submit.person.create(path, own)
    submit.person.merge(f"{path}/own", {"spec": {"selector": {"app": "two"}}})
    changes = {
        "selector": {"spec": {"selector": {"app": "one"}}},
        "the label by which kube-proxy leaves it alone": {"metadata": {"labels": {"a": "b"}}},
    }
    calls = [partial(submit.person.merge, f"{path}/kubernetes", change) for change in changes.values()]
    calls += [partial(submit.person.delete, f"{path}/kubernetes"), partial(submit.person.delete, path)]
    if not refused:
        submit.person.create(path, one)
    for call in calls:
        if refused:
            with pytest.raises(ApiError, match="api-server-address"):
                call()
        else:
            call()
    if refused:
        spec = submit.api.get(f"{path}/kubernetes")["spec"]
        assert "selector" not in spec
        submit.api.merge(f"{path}/kubernetes", {"metadata": {"annotations": {"by": "the API server's group"}}})


def _defaults(submit: Submit) -> list[dict[str, Any]]:
    running = submit.api.get("/api/v1/namespaces/default/pods/one")["spec"]["tolerations"]
    return [one for one in running if one["key"].startswith("node.kubernetes.io/")]


def running(one: dict[str, Any], namespace: str) -> dict[str, Any]:
    """As ``kubectl get`` shows it: pods with the node that the scheduler chose."""
    made = written(one, namespace)
    return {**made, "spec": {**made["spec"], "nodeName": "n1"}} if one["kind"] == "Pod" else made


@pytest.mark.parametrize("title", [title for title in REFUSED if title not in UNLISTED])
@pytest.mark.parametrize("namespace", ["default", "sandbox", "nightly"])
def test_what_would_be_refused_is_listed_before(title: str, namespace: str) -> None:
    lines = [*refusals([running(REFUSED[title], namespace)], settings())]
    kind = REFUSED[title]["kind"]
    assert [line.startswith(f"{namespace}: {kind} one ") for line in lines] == [True]


@pytest.mark.parametrize("title", WARNED)
def test_workloads_whose_pods_would_be_refused_are_listed(title: str) -> None:
    assert len([*refusals([running(WARNED[title], "sandbox")], settings())]) == 1


@pytest.mark.parametrize("title", ADMITTED)
@pytest.mark.parametrize("namespace", ["default", "sandbox"])
def test_what_is_admitted_is_not_listed(title: str, namespace: str) -> None:
    assert [*refusals([running(ADMITTED[title], namespace)], settings())] == []


DRIVER = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"}
CLAIMED = [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1, "drivers": "none", "labels": DRIVER}]


def claim(*classes: str, name: str = "one") -> dict[str, Any]:
    requests = [{"name": f"r{number}", "exactly": {"deviceClassName": one}} for number, one in enumerate(classes)]
    about = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name}}
    return {**about, "spec": {"spec": {"devices": {"requests": requests}} if requests else {}}}


def by_name(template: dict[str, Any]) -> dict[str, Any]:
    """The claim itself, which pods name."""
    return {**template, "kind": "ResourceClaim", "spec": template["spec"]["spec"]}


@real
def test_claims_count_for_gpus_where_pools_grow_for_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    rules = [*pod_rules(("default",), claims=True), *claim_rules(("default",))]
    with judging(tmp_path_factory.mktemp("claims"), rules) as submit:
        eventually("the policy on claims is in force", partial(_is_refused, submit, claim()))
        eventually("the policy on pods is in force", partial(_is_refused, submit, with_spec(tolerations=[ALL])))
        alternatives = [{"name": "a", "deviceClassName": "nic"}, {"name": "b", "deviceClassName": "gpu.nvidia.com"}]
        either = claim()
        either["spec"]["spec"]["devices"] = {"requests": [{"name": "r", "firstAvailable": alternatives}]}
        for refused in (
            *(claim("dranet.example.org"), either, claim("vfio.gpu.nvidia.com"), claim("our-gpus")),
            *(by_name(claim(name="gpu-fabric")), by_name(claim("nic", name="gpu-fabric")), by_name(claim())),
        ):
            assert submit(refused).status == 403
        either["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"] = alternatives[1:]
        assert submit(either).silent
        for name in ("gpu-fabric", "one", "other-pod-fabric-x7k2p"):
            named = {"name": "gpu", "resourceClaimName": name}
            assert submit(with_spec(tolerations=[GPU], resourceClaims=[named])).status == 403
            assert submit(with_spec(1, tolerations=[GPU], resourceClaims=[named])).silent
        for admitted in (claim("gpu.nvidia.com"), claim("mig.nvidia.com", "nic"), claim("nic", name="gpu-fabric")):
            assert submit(admitted).silent
        assert submit(with_spec(tolerations=[GPU], resourceClaims=[CLAIM])).silent
        network = {**CLAIM, "resourceClaimTemplateName": "gpu-fabric"}
        assert submit(with_spec(tolerations=[GPU], resourceClaims=[network])).status == 403


@pytest.mark.parametrize(
    ("named", "listed"),
    [
        ({"resourceClaimTemplateName": "one"}, False),
        ({"resourceClaimTemplateName": "gpu-fabric"}, True),
        ({"resourceClaimName": "gpu-fabric"}, True),
        ({"resourceClaimName": "one"}, True),
    ],
)
def test_which_claims_are_listed_where_a_pool_grows_for_them(named: dict[str, str], listed: bool) -> None:
    one = running(with_spec(tolerations=[GPU], resourceClaims=[{"name": "gpu", **named}]), "default")
    assert bool([*refusals([one], load_stack("gke", gpuPools=CLAIMED))]) is listed


def test_claims_count_where_a_pool_grows_for_them() -> None:
    stacks = (load_stack("gke", gpuPools=CLAIMED), settings())
    names = [{each["metadata"]["name"] for each in user_policies(one)} for one in stacks]
    assert ["user-claims.gpucluster.dev" in each for each in names] == [True, False]


@pytest.mark.parametrize(
    ("cloud", "shared", "volumes", "listed"),
    [
        ("gke", True, [FILESTORE, AZURE_FILES], [True, False]),
        ("aks", True, [NFS, AZURE_FILES, FILESTORE], [True, True, False]),
        ("eks", True, [NFS], [False]),
        ("gke", False, [NFS], [False]),
        ("aks", False, [NFS, AZURE_FILES], [False, False]),
    ],
)
def test_file_servers_are_mounted_by_address_where_no_shared_volume_is_open_to_the_network(
    cloud: str, shared: bool, volumes: list[Any], listed: list[bool]
) -> None:
    """On EKS a mount needs a right. The policy has the same condition as the list."""
    stack = load_stack(cloud, workloads={"sharedVolume": {}} if shared else {})
    pods = [running(with_spec(volumes=[each]), "default") for each in volumes]
    line = "default: Pod one mounts a file server by its address"
    assert [[*refusals([each], stack)] == [line] for each in pods] == listed
    (policy,) = (each for each in user_policies(stack) if each["metadata"]["name"] == "user-pods.gpucluster.dev")
    expressions = [each["expression"] for each in policy["spec"]["validations"] if "nfs" in each["expression"]]
    assert [each.startswith("'' == ''") for each in expressions] == [not any(listed)]


@pytest.mark.parametrize(("cloud", "listed"), [("gke", False), ("eks", True), ("aks", True)])
def test_a_variable_names_gpus_where_the_runtime_of_nodes_reads_it(cloud: str, listed: bool) -> None:
    """GKE's device plugin gives a container the devices themselves, others may not; own machines read mounts alone."""
    pod = running(with_env(ALL_GPUS), "default")
    line = "default: Pod one names its GPUs in NVIDIA_VISIBLE_DEVICES"
    assert [*refusals([pod], load_stack(cloud))] == ([line] if listed else [])
    assert [load_cloud(name).gpus_by_variable(()) for name in ("kubeadm", "existing")] == [False, True]
    assert [*refusals([pod], load_stack("gke", gpuPools=[{**CLAIMED[0], "labels": {}}]))] == [line]


def test_a_class_of_the_cloud_is_listed_by_its_value() -> None:
    one = with_spec(priorityClassName=CLUSTER_CLASS, priority=1_000_000_000)
    assert [*refusals([running(one, "default")], settings())] == ["default: Pod one has priorityClassName gmp-critical"]


def test_tools_and_high_teams_are_not_listed() -> None:
    everywhere = [running(one, namespace) for one in REFUSED.values() for namespace in ELSEWHERE]
    assert [*refusals([*everywhere, running(REFUSED["the class of other teams"], "research")], settings())] == []


def test_the_command_lists_what_kubectl_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(one_stack.file("gke"))
    for one, code, words in (
        (REFUSED["all taints"], 1, "default: Pod one tolerates all taints\n"),
        (ADMITTED["a pod"], 0, "nothing would be refused\n"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"items": [running(one, "default")]})))
        assert main([file]) == code
        assert capsys.readouterr().out == words
    monkeypatch.setattr("sys.stdin", io.StringIO("no JSON"))
    assert main([file]) == 2
    assert "kubectl get pods" in capsys.readouterr().err


@pytest.mark.parametrize("file", [*STACK_FILES, OWN_MACHINES], ids=stack_name)
def test_every_guard_holds_where_people_run_pods_and_nowhere_else(file: Any) -> None:
    """The namespaces with a Pod Security level are those of every Deny binding."""
    program = run_program(file)
    spaces = [one for kind in ("Namespace", "NamespacePatch") for one in program.of_type(f"kubernetes:core/v1:{kind}")]
    levels = {one.inputs["metadata"]["name"]: one.inputs["metadata"].get("labels", {}) for one in spaces}
    leveled = {name for name, labels in levels.items() if {"baseline", "mps"} & {*labels.values()}}
    assert set(settings_of(file).user_namespaces) == leveled
    names = {each["metadata"]["name"] for each in user_policies(settings_of(file))}
    kind = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
    denying = [
        one.inputs["spec"]
        for one in program.of_type(kind)
        if one.inputs["metadata"]["name"] in names and one.inputs["spec"]["validationActions"] == ["Deny"]
    ]
    by_variable = load_cloud(settings_of(file).cloud).gpus_by_variable(settings_of(file).gpu_pools)
    assert ("user-gpu-names.gpucluster.dev" in names) is by_variable
    some = {"user-claims.gpucluster.dev", "user-gpu-names.gpucluster.dev"}
    assert {spec["policyName"] for spec in denying} - some == {
        "no-blanket-toleration.gpucluster.dev",
        "gpu-nodes-for-gpus.gpucluster.dev",
        "user-priority.gpucluster.dev",
        "no-external-ips.gpucluster.dev",
        "user-pods.gpucluster.dev",
        "user-daemon-sets.gpucluster.dev",
        "user-finalizers.gpucluster.dev",
        "user-forced-deletion.gpucluster.dev",
        "api-server-address.gpucluster.dev",
    }
    for spec in denying:
        (named,) = spec["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert {*named["values"]} == leveled


def test_in_a_cluster_that_exists_its_owner_decides_about_default() -> None:
    assert settings_of(EXISTING).user_namespaces == ("research",)


def test_a_stack_whose_file_names_no_namespace_refuses_nothing_in_a_cluster_that_exists() -> None:
    denying = [each for each in user_rules((), ()) if each["spec"].get("validationActions") == ["Deny"]]
    for each in denying:
        (named,) = each["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert named["operator"] == "DoesNotExist", "every namespace has that label"
