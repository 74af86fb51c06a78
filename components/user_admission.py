"""What pods and Services of namespaces in which people run pods may not have, and how to list who has it.

``pod-rules.yaml`` keeps pods without GPUs off GPU nodes, in a stack's own cluster and in any other
(``admission_manifests.py``). ``user-rules.yaml`` refuses priorities that end other teams' jobs, pods and DaemonSets
that keep others from nodes or devices, and Services that take over addresses. Running pods are not affected; those
that replace them are.

``kubectl get … -A -o json | python -m components.user_admission Pulumi.<stack>.yaml`` lists what would be
refused, before the update that installs the policies (docs/operations.md).

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from components.clouds.base import load_cloud
from components.gpu_admission import templates
from components.resources import documents
from components.settings import Settings, SettingsError, from_stack_file
from facts import catalog
from facts.concepts.kubernetes import (
    COUNTED_APART,
    DEVICE_CLASSES,
    MIG_RESOURCE,
    MOST_GRACE_SECONDS,
    RESOURCES,
    quantity,
)
from facts.concepts.offer import PRIORITY_CLASSES
from facts.concepts.parts import FABRIC_CLAIM

BLANKET_POLICY: Final = "no-blanket-toleration.gpucluster.dev"
RESERVED_POLICY: Final = "gpu-nodes-for-gpus.gpucluster.dev"

_CLUSTER_PRIORITY: Final = 1_000_000_000
"""The highest value that a PriorityClass of users may have. Components of clouds use it (``gmp-critical`` of GKE), and
Kubernetes' own classes are above it:
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass"""
_SYSTEM_CLASSES: Final = ("system-cluster-critical", "system-node-critical")
_ALL_OR_GPUS: Final = ("", *RESOURCES.values())
"""Keys of tolerations by which a pod gets access to GPU nodes; without a key it tolerates all taints."""
_JOB_OF_A_SET: Final = "jobset.sigs.k8s.io/job-key"
"""A label of the pods of JobSets."""
_DOMAINS: Final = (
    "(^|[/.-])((host|hostname|rack|block|subblock|slice|pool|nodepool|agentpool|nodegroup)(-[0-9]+)?|layer-3)$"
)
"""Labels of nodes by which a JobSet may have some alone. Labels of all nodes in a cluster, a region or a zone, or of
most in a zone (the layers of AWS' network above the third), are none of these: https://kubernetes.io/docs/reference/labels-annotations-taints/"""
_APART: Final = [name for names in COUNTED_APART.values() for name in names]
"""Devices by names that no quota counts."""
_DISKS: Final = (
    *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume", "flocker"),
    *(
        "gcePersistentDisk",
        "gitRepo",
        "glusterfs",
        "iscsi",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
    ),
    *("storageos", "vsphereVolume"),
)
"""Volumes by which a pod names a disk or server itself: those that Pod Security admits as ``baseline`` and not as
``restricted``, but ``nfs``: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted"""
_VARIABLE: Final = "NVIDIA_VISIBLE_DEVICES"
_NO_GPUS: Final = ("", "none", "void")
"""Its values by which a container gets none:
https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.18.1/internal/config/image/cuda_image.go"""
_NO_GPUS_ENCODED: Final = [base64.b64encode(value.encode()).decode() for value in _NO_GPUS]
"""The same in the ``data`` of a Secret."""
_NAMES_NO_GPUS: Final = (
    f"c.?env.orValue([]).all(e, e.name != '{_VARIABLE}' || (!has(e.valueFrom) && e.?value.orValue('') in "
    f"{json.dumps(_NO_GPUS)})) && "
    f"c.?envFrom.orValue([]).all(f, f.?prefix.orValue('') == '' || !'{_VARIABLE}'.startsWith(f.prefix))"
)
"""Whether a container ``c`` names none itself, as CEL."""
_MAKERS: Final = sorted({name.partition("/")[0] + "/" for name in RESOURCES.values()})
"""What the names of GPUs begin with."""
_FORCED_GRACE_SECONDS: Final = 30
"""Of a pod with GPUs that users may delete by force, as SkyPilot does: what a pod has that writes nothing.
https://github.com/skypilot-org/skypilot/blob/v0.14.1/sky/provision/kubernetes/instance.py"""
_REMOVED_FINALIZERS: Final = {
    "batch.kubernetes.io/job-tracking",
    "kueue.x-k8s.io/managed",
    "foregroundDeletion",
    "orphan",
}
"""Those that a controller of Kubernetes or Kueue removes:
https://kubernetes.io/docs/concepts/architecture/garbage-collection/#cascading-deletion"""
_KUEUES_GATE: Final = "kueue.x-k8s.io/admission"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ACCESS_TO_NODES: Final = ("", "NoSchedule")
"""Effects of tolerations by which a pod gets access to nodes; ``""`` is every effect."""


def pod_rules(namespaces: Sequence[str] | None = None, *, claims: bool = True) -> Iterator[Mapping[str, Any]]:
    """The two policies that need no facts about the cluster's pools, each with its bindings: pods are refused in
    ``namespaces``, by default in all but ``kube-system``, and workloads of such pods are warned about in all. By
    default pods may name their node. ``claims``: whether a claim may be a request for GPUs. Pods of DaemonSets
    may do all of this."""
    names = "variables.pod.?resourceClaims.orValue([]).map(c, c.?resourceClaimTemplateName.orValue(''))"
    variables = _variables("template", "pod", "where", "tolerations")
    yield from documents(
        Path(__file__).with_name("pod-rules.yaml"),
        **_of_pods_and_workloads(),
        variables=variables,
        **{each["name"]: each for each in variables},
        not_of_a_daemon_set=templates()[2]["spec"]["matchConditions"][-1],
        claims=f"{names}.exists(n, !(n in ['', '{FABRIC_CLAIM}']))" if claims else "false",
        resources=json.dumps([*RESOURCES.values()]),
        namespaces={} if namespaces is None else _named(namespaces),
        anywhere="true" if namespaces is None else "false",
    )


def user_rules(
    namespaces: Sequence[str],
    high: Sequence[str],
    share: str | None = None,
    slices: Mapping[str, Sequence[str]] | None = None,
    *,
    by_variable: bool = False,
) -> Iterator[Mapping[str, Any]]:
    """The policies on priorities, on what keeps others from nodes and devices, and on addresses in ``namespaces``, with
    their bindings; ``high``: those of teams whose priority is high; ``share``: the CSI driver of a shared volume
    that is open to the network; ``slices``: team → the resources of MIG slices that its quota counts;
    ``by_variable``: whether a variable of a container says which of NVIDIA's GPUs it gets."""
    pods, *others = templates()[0]["spec"]["matchConstraints"]["resourceRules"]
    daemon_sets = {**others[-1], "apiGroups": ["apps"], "resources": ["daemonsets"]}
    yield from documents(
        Path(__file__).with_name("user-rules.yaml"),
        pods=[pods],
        workloads=[*others, daemon_sets],
        matched=[pods, *others, daemon_sets],
        variables=_variables("template", "pod", "where"),
        namespaces=_named(namespaces),
        system=json.dumps(_SYSTEM_CLASSES),
        most=str(_CLUSTER_PRIORITY),
        high=json.dumps(high),
        high_class=PRIORITY_CLASSES["high"],
        jobs=_JOB_OF_A_SET,
        domains=_DOMAINS,
        share=share or "",
        slices=json.dumps(slices or {}),
        mig=MIG_RESOURCE,
        disks=" && ".join(f"!has(v.{kind})" for kind in _DISKS),
        taints=json.dumps(_ALL_OR_GPUS),
        apart=json.dumps(_APART),
        listed=" and ".join(_APART),
        whole=" or ".join(COUNTED_APART),
        by_variable=json.dumps(by_variable),
        variable=_VARIABLE,
        names_no_gpus=_NAMES_NO_GPUS,
        makers=json.dumps(_MAKERS),
        most_grace=str(MOST_GRACE_SECONDS),
        forced_grace=str(_FORCED_GRACE_SECONDS),
        accounts=_accounts(namespaces),
    )


def claim_rules(namespaces: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The policy on claims in ``namespaces``, where a claim may be a request for GPUs, with its binding."""
    file = Path(__file__).with_name("user-claims.yaml")
    yield from documents(
        file,
        namespaces=_named(namespaces),
        fabric=FABRIC_CLAIM,
        classes=json.dumps([*DEVICE_CLASSES]),
        listed=" and ".join(DEVICE_CLASSES),
    )


def finalizer_rules(namespaces: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The policy on finalizers of pods in ``namespaces``, with its bindings."""
    template, pod = _variables("template", "pod")
    yield from documents(
        Path(__file__).with_name("user-finalizers.yaml"),
        **_of_pods_and_workloads(),
        template=template,
        pod=pod,
        gate=_KUEUES_GATE,
        namespaces=_named(namespaces),
        accounts=_accounts(namespaces),
    )


def gpu_name_rules(namespaces: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The policy on ConfigMaps, Secrets and added containers in ``namespaces`` by which a container names its GPUs,
    with its binding."""
    yield from documents(
        Path(__file__).with_name("user-gpu-names.yaml"),
        namespaces=_named(namespaces),
        variable=_VARIABLE,
        no_gpus=json.dumps(_NO_GPUS),
        encoded=json.dumps(_NO_GPUS_ENCODED),
        names_no_gpus=_NAMES_NO_GPUS,
    )


def user_policies(settings: Settings) -> Iterator[Mapping[str, Any]]:
    """All of them for a stack, each policy followed by its bindings."""
    claims = grows_for_claims(settings)
    yield from pod_rules(settings.user_namespaces, claims=claims)
    yield from user_rules(
        settings.user_namespaces,
        _high(settings),
        _open_share(settings),
        _slices(settings),
        by_variable=_by_variable(settings),
    )
    yield from finalizer_rules(settings.user_namespaces)
    if _by_variable(settings):
        yield from gpu_name_rules(settings.user_namespaces)
    if claims:
        yield from claim_rules(settings.user_namespaces)


def grows_for_claims(settings: Settings) -> bool:
    """Whether a pool grows from zero for claims of devices."""
    planned = catalog.of(settings.cloud).labels.gpu_claims.items()
    return bool(planned) and any(planned <= pool.nodes.labels.items() for pool in settings.pools)


def _open_share(settings: Settings) -> str | None:
    """The CSI driver of the stack's shared volume, if every client of the network may mount that."""
    return None if settings.workloads.shared_volume is None else load_cloud(settings.cloud).open_share


def refusals(objects: Iterable[Mapping[str, Any]], settings: Settings) -> Iterator[str]:
    """What the policies refuse of these objects of a cluster, one line for each reason.

    A workload is listed for its pods, and a DaemonSet instead of its pods. Whether their
    author or the scheduler chose the node of pods (``spec.nodeName``) is not known.
    """
    high, claims, share = _high(settings), grows_for_claims(settings), _open_share(settings)
    slices, by_variable = _slices(settings), _by_variable(settings)
    for each in objects:
        namespace = each["metadata"].get("namespace", "")
        if namespace not in settings.user_namespaces:
            continue
        if each["kind"] in ("ConfigMap", "Secret"):
            none = _NO_GPUS if each["kind"] == "ConfigMap" else _NO_GPUS_ENCODED
            if by_variable and (each.get("data") or {}).get(_VARIABLE, "") not in none:
                yield f"{namespace}: {each['kind']} {each['metadata']['name']} has {_VARIABLE}, which envFrom passes on"
        else:
            reasons = _reasons(each, namespace in high, claims, share, slices.get(namespace))
            for reason in (*reasons, *_of_gpus(_pod(each), by_variable)):
                yield f"{namespace}: {each['kind']} {each['metadata']['name']} {reason}"


def _by_variable(settings: Settings) -> bool:
    """Whether a variable of a container names its GPUs."""
    return load_cloud(settings.cloud).gpus_by_variable(settings.gpu_pools)


def _high(settings: Settings) -> list[str]:
    return [team.name for team in settings.teams if team.priority == "high"]


def _slices(settings: Settings) -> dict[str, list[str]]:
    return {team.name: [f"{MIG_RESOURCE}{profile}" for profile in team.mig_slices] for team in settings.teams}


def _reasons(
    each: Mapping[str, Any], may_be_high: bool, claims: bool, share: str | None, slices: Sequence[str] | None
) -> Iterator[str]:
    kind, spec, own = each["kind"], each.get("spec") or {}, each["metadata"]
    if kind == "Service":
        if spec.get("externalIPs"):
            yield "has externalIPs"
        return
    template, pod = _template(each), _pod(each)
    finalizers = (template.get("metadata") or {}).get("finalizers") or ()
    if kind != "DaemonSet" and {*finalizers} - _REMOVED_FINALIZERS:
        yield "has a finalizer, by which it stays after its deletion"
    name = pod.get("priorityClassName", "")
    if name in _SYSTEM_CLASSES or pod.get("priority", 0) >= _CLUSTER_PRIORITY:
        yield f"has priorityClassName {name}"
    elif name == PRIORITY_CLASSES["high"] and not may_be_high:
        yield f"has priorityClassName {name}, and no team with that priority has the namespace"
    terms = ((pod.get("affinity") or {}).get("podAntiAffinity") or {}).get(_REQUIRED) or ()
    labels = (template.get("metadata") or {}).get("labels") or {}
    if any(_reaches_others(term, own["namespace"], labels.get(_JOB_OF_A_SET)) for term in terms):
        yield "keeps pods of other namespaces off its nodes"
    volumes = pod.get("volumes") or ()
    for kind_of_disk in sorted({*_DISKS} & {key for each in volumes for key in each}):
        yield f"mounts a disk, server or repository by its own name ({kind_of_disk})"
    of_share = volumes if share is not None else ()
    if any("nfs" in each or (each.get("csi") or {}).get("driver") == share for each in of_share):
        yield "mounts a file server by its address"
    for name in sorted({key for key, _ in _limits(pod)}):
        if name in _APART or (slices is not None and name.startswith(MIG_RESOURCE) and name not in slices):
            yield f"requests {name}, which no quota counts"
    if kind == "DaemonSet":
        if any(one.get("key", "") in _ALL_OR_GPUS for one in _tolerations(pod)):
            yield "runs on every GPU node"
        return
    if any(owner["kind"] == "DaemonSet" for owner in own.get("ownerReferences") or ()):
        return
    if kind != "Pod" and pod.get("nodeName"):
        yield "names its node in nodeName"
    tolerations = _tolerations(pod)
    if any(not one.get("key") and one.get("operator") == "Exists" for one in tolerations):
        yield "tolerates all taints"
    for resource in RESOURCES.values():
        zero = any(key == resource for key, _ in _limits(pod))
        if (zero or any(one.get("key") == resource for one in tolerations)) and not _requests(pod, resource, claims):
            yield f"tolerates {resource} {'by a limit of 0' if zero else 'without a request for it'}"


def _of_gpus(pod: Mapping[str, Any], by_variable: bool) -> Iterator[str]:
    """What is refused of the GPUs of a pod that it names itself, or would keep."""
    named = [one for container in _containers(pod) for one in container.get("env") or () if one["name"] == _VARIABLE]
    prefixes = [one.get("prefix") for container in _containers(pod) for one in container.get("envFrom") or ()]
    by_prefix = any(prefix and _VARIABLE.startswith(prefix) for prefix in prefixes)
    if by_variable and (by_prefix or any("valueFrom" in one or one.get("value", "") not in _NO_GPUS for one in named)):
        yield f"names its GPUs in {_VARIABLE}"
    with_gpus = pod.get("resourceClaims") or any(key.startswith(maker) for key, _ in _limits(pod) for maker in _MAKERS)
    if with_gpus and pod.get("terminationGracePeriodSeconds", 0) > MOST_GRACE_SECONDS:
        yield f"may keep GPUs for more than {MOST_GRACE_SECONDS} seconds after its deletion"


def _template(each: Mapping[str, Any]) -> Mapping[str, Any]:
    """The pod, or the template of a workload's pods; empty without any."""
    spec = each.get("spec") or {}
    if each["kind"] == "Pod":
        return each
    return (spec["jobTemplate"]["spec"]["template"] if each["kind"] == "CronJob" else spec.get("template")) or {}


def _pod(each: Mapping[str, Any]) -> Mapping[str, Any]:
    return _template(each).get("spec") or {}


def _reaches_others(term: Mapping[str, Any], namespace: str, job: str | None) -> bool:
    """Whether a term of a pod's anti-affinity keeps pods of other namespaces away, but those of other JobSets than that
    of its own ``job``."""
    expressions = (term.get("labelSelector") or {}).get("matchExpressions") or ()
    asked = [(each["operator"], each.get("values")) for each in expressions if each["key"] == _JOB_OF_A_SET]
    of_sets = any(operator == "Exists" for operator, _ in asked) and job is not None and ("NotIn", [job]) in asked
    of_sets = of_sets and re.search(_DOMAINS, term["topologyKey"]) is not None
    others = {*(term.get("namespaces") or ())} - {namespace}
    return not of_sets and (bool(others) or term.get("namespaceSelector") is not None)


def _requests(pod: Mapping[str, Any], resource: str, claims: bool) -> bool:
    """Whether a container asks for such devices, under any name of their maker, or one of the ``claims`` that count."""
    prefix = resource.partition("/")[0] + "/"
    asked = any(key.startswith(prefix) and quantity(str(amount)) > 0 for key, amount in _limits(pod))
    names = [claim.get("resourceClaimTemplateName") for claim in pod.get("resourceClaims") or ()]
    # A claim by its name may be one that was made for the network of another pod.
    return asked or (claims and any(name not in (None, FABRIC_CLAIM) for name in names))


def _containers(pod: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))


def _limits(pod: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for container in _containers(pod):
        yield from ((container.get("resources") or {}).get("limits") or {}).items()


def _tolerations(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those by which the pod gets access to nodes."""
    return [one for one in pod.get("tolerations") or () if one.get("effect", "") in _ACCESS_TO_NODES]


def _of_pods_and_workloads() -> dict[str, list[Mapping[str, Any]]]:
    """What a policy matches that also judges changes of pods: rules of pods, of workloads, and both."""
    created, *workloads = templates()[0]["spec"]["matchConstraints"]["resourceRules"]
    pods = {**created, "operations": ["CREATE", "UPDATE"]}
    return {"pods": [pods], "workloads": workloads, "matched": [pods, *workloads]}


def _variables(*names: str) -> list[Mapping[str, Any]]:
    return [each for each in templates()[0]["spec"]["variables"] if each["name"] in names]


def _accounts(namespaces: Sequence[str]) -> str:
    """The groups of the service accounts with which pods there act, as CEL:
    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#service-account-tokens"""
    return json.dumps([f"system:serviceaccounts:{namespace}" for namespace in namespaces])


def _named(namespaces: Sequence[str]) -> dict[str, Any]:
    # https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
    key = "kubernetes.io/metadata.name"
    name = {"key": key, "operator": "In", "values": [*namespaces]}
    return {"matchExpressions": [name if namespaces else {"key": key, "operator": "DoesNotExist"}]}


def main(arguments: list[str]) -> int:
    """Print what would be refused of the objects on standard input; the exit code is 1 if anything is, 2 for a wrong
    call."""
    try:
        (name,) = arguments
        settings = from_stack_file(Path(name))
        listed = json.load(sys.stdin)["items"]
    except (SettingsError, ValueError, KeyError, TypeError, OSError) as error:
        sys.stderr.write(
            f"{error}\nWrite: kubectl get pods,services,daemonsets,deployments,statefulsets,jobs,cronjobs,configmaps "
            "-A -o json | "
            "python -m components.user_admission Pulumi.<stack>.yaml\n"
        )
        return 2
    lines = [*refusals(listed, settings)]
    sys.stdout.write("".join(f"{line}\n" for line in lines) or "nothing would be refused\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
