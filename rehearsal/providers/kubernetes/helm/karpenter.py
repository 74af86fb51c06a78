"""Karpenter's chart: its controller with the settings that it starts with, its rights, and its kinds.

https://github.com/aws/karpenter-provider-aws/tree/v1.8.8/charts/karpenter (the templates of 1.8 and 1.9 are the same).
Left out: the ServiceMonitor, and the Roles that give people rights.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.base import Properties
from rehearsal.providers.kubernetes.helm.chart import FREE, Chart, Target, free

SOURCE: Final = "oci://public.ecr.aws/karpenter/karpenter"
VERSIONS: Final = (*(f"1.8.{patch}" for patch in range(9)), *(f"1.9.{patch}" for patch in range(3)))
"""https://github.com/aws/karpenter-provider-aws/tags"""

_NAME: Final = "karpenter"
_USER: Final = 65532
_MOST_CHARACTERS: Final = 63
_CORE_DEFINITIONS: Final = ("karpenter.sh_nodepools.yaml", "karpenter.sh_nodeclaims.yaml")
_NODE_CLASS: Final = Path(__file__).with_name("ec2nodeclass.yaml")

VALUES: Final[Mapping[str, Any]] = {
    "nameOverride": "",
    "fullnameOverride": "",
    "additionalLabels": free({}),
    "additionalAnnotations": free({}),
    "imagePullPolicy": "IfNotPresent",
    "imagePullSecrets": free([]),
    "service": {"annotations": free({})},
    "serviceAccount": {"create": True, "name": "", "annotations": free({})},
    "additionalClusterRoleRules": free([]),
    "serviceMonitor": FREE,
    "replicas": 2,
    "revisionHistoryLimit": 10,
    "strategy": free({"rollingUpdate": {"maxUnavailable": 1}}),
    "podLabels": free({}),
    "podAnnotations": free({}),
    "podDisruptionBudget": {"name": _NAME, "maxUnavailable": 1},
    "podSecurityContext": free({"fsGroup": _USER, "seccompProfile": {"type": "RuntimeDefault"}}),
    "priorityClassName": "system-cluster-critical",
    "terminationGracePeriodSeconds": None,
    "hostNetwork": False,
    "schedulerName": "default-scheduler",
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": free({}),
    "initContainers": free([]),
    "nodeSelector": free({"kubernetes.io/os": "linux"}),
    "affinity": free(
        {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}
                    ]
                }
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
            },
        }
    ),
    "topologySpreadConstraints": free(
        [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}]
    ),
    "tolerations": free([{"key": "CriticalAddonsOnly", "operator": "Exists"}]),
    "extraVolumes": free([]),
    "controller": {
        "containerName": "controller",
        "image": {"repository": "public.ecr.aws/karpenter/controller", "tag": "", "digest": ""},
        "env": free([]),
        "envFrom": free([]),
        "securityContext": FREE,
        "resources": free({}),
        "extraVolumeMounts": free([]),
        "sidecarContainer": FREE,
        "sidecarVolumeMounts": FREE,
        "metrics": {"port": 8080},
        "healthProbe": {"port": 8081},
    },
    "logLevel": "info",
    "logOutputPaths": free(["stdout"]),
    "logErrorOutputPaths": free(["stderr"]),
    "settings": {
        "batchMaxDuration": "10s",
        "batchIdleDuration": "1s",
        "preferencePolicy": "Respect",
        "minValuesPolicy": "Strict",
        "clusterCABundle": "",
        "clusterName": "",
        "clusterEndpoint": "",
        "isolatedVPC": False,
        "eksControlPlane": False,
        "vmMemoryOverheadPercent": 0.075,
        "interruptionQueue": "",
        "reservedENIs": "0",
        "ignoreDRARequests": True,
        "disableClusterStateObservability": False,
        "disableDryRun": False,
        "featureGates": {
            "nodeRepair": False,
            "nodeOverlay": False,
            "reservedCapacity": True,
            "spotToSpotConsolidation": False,
            "staticCapacity": False,
        },
    },
}

# Setting → the controller's environment variable, in the chart's order; one that is empty is left out.
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "preferencePolicy": "PREFERENCE_POLICY",
    "minValuesPolicy": "MIN_VALUES_POLICY",
    "clusterCABundle": "CLUSTER_CA_BUNDLE",
    "clusterName": "CLUSTER_NAME",
    "clusterEndpoint": "CLUSTER_ENDPOINT",
    "isolatedVPC": "ISOLATED_VPC",
    "eksControlPlane": "EKS_CONTROL_PLANE",
    "vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
    "interruptionQueue": "INTERRUPTION_QUEUE",
    "reservedENIs": "RESERVED_ENIS",
    "ignoreDRARequests": "IGNORE_DRA_REQUESTS",
    "disableClusterStateObservability": "DISABLE_CLUSTER_STATE_OBSERVABILITY",
    "disableDryRun": "DISABLE_DRY_RUN",
}


def render(target: Target, values: Mapping[str, Any]) -> list[Properties]:
    """The objects of one release, in the order in which Helm installs them."""
    name = values["fullnameOverride"] or _full_name(target, values)
    account = values["serviceAccount"]["name"] or (name if values["serviceAccount"]["create"] else "default")
    found: list[Properties] = [
        _object("policy/v1", "PodDisruptionBudget", values["podDisruptionBudget"]["name"], target, values)
        | {
            "spec": {
                "maxUnavailable": values["podDisruptionBudget"]["maxUnavailable"],
                "selector": {"matchLabels": _selector(target, values)},
            }
        }
    ]
    if values["serviceAccount"]["create"]:
        service_account = _object("v1", "ServiceAccount", account, target, values)
        service_account["metadata"]["annotations"].update(values["serviceAccount"]["annotations"])
        found.append(service_account | {"automountServiceAccountToken": False})
    found += _rights(name, account, target, values)
    found.append(_service(name, target, values))
    found.append(_deployment(name, account, target, values))
    return found


def definitions() -> list[Properties]:
    """The kinds: NodePool and NodeClaim as Karpenter's core defines them, EC2NodeClass after its documentation."""
    from rehearsal.tools import folder

    tools = folder()
    files = [*(tools / name for name in _CORE_DEFINITIONS), _NODE_CLASS]
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in files]


def _rights(name: str, account: str, target: Target, values: Mapping[str, Any]) -> list[Properties]:
    read, write = ["get", "list", "watch"], ["update", "patch"]
    core = [
        _rule("karpenter.sh", ["nodepools", "nodeclaims", "nodeoverlays"], read),
        _rule("", ["pods", "nodes", "persistentvolumes", "persistentvolumeclaims", "namespaces", "events"], read),
        _rule("storage.k8s.io", ["storageclasses", "csinodes", "volumeattachments"], read),
        _rule("apps", ["daemonsets", "deployments", "replicasets", "statefulsets"], ["list", "watch"]),
        _rule("policy", ["poddisruptionbudgets"], read),
        _rule("karpenter.sh", ["nodeclaims", "nodeclaims/status"], ["create", "delete", *write]),
        _rule("karpenter.sh", ["nodepools", "nodepools/status"], write),
        _rule("", ["nodes"], ["patch", "delete", "update"]),
        _rule("", ["pods/eviction", "events"], ["create", "patch"]),
        _rule("", ["pods"], ["delete"]),
        *values["additionalClusterRoleRules"],
    ]
    own = [_rule("karpenter.k8s.aws", ["ec2nodeclasses"], read), _rule("karpenter.k8s.aws", ["ec2nodeclasses"], write)]
    leases = [_rule("coordination.k8s.io", ["leases"], ["get", "watch", "create", *write])]
    subject = {"kind": "ServiceAccount", "name": account, "namespace": target.namespace}
    found = []
    for kind, role, rules in (
        ("ClusterRole", f"{name}-core", core),
        ("ClusterRole", name, own),
        ("Role", name, leases),
    ):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}
        api = "rbac.authorization.k8s.io/v1"
        found.append(_object(api, kind, role, target, values) | {"rules": rules})
        binding = _object(api, f"{kind}Binding", role, target, values)
        found.append(binding | {"roleRef": reference, "subjects": [subject]})
    return found


def _service(name: str, target: Target, values: Mapping[str, Any]) -> Properties:
    port = {"name": "http-metrics", "port": values["controller"]["metrics"]["port"], "targetPort": "http-metrics"}
    service = _object("v1", "Service", name, target, values)
    service["metadata"]["annotations"].update(values["service"]["annotations"])
    spec = {"type": "ClusterIP", "ports": [port | {"protocol": "TCP"}], "selector": _selector(target, values)}
    return service | {"spec": spec}


def _deployment(name: str, account: str, target: Target, values: Mapping[str, Any]) -> Properties:
    labels = _selector(target, values)
    pod = {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        "imagePullSecrets": values["imagePullSecrets"],
        "securityContext": values["podSecurityContext"],
        "priorityClassName": values["priorityClassName"],
        "terminationGracePeriodSeconds": values["terminationGracePeriodSeconds"],
        "dnsPolicy": values["dnsPolicy"],
        "dnsConfig": values["dnsConfig"],
        "hostNetwork": values["hostNetwork"],
        "schedulerName": values["schedulerName"],
        "initContainers": values["initContainers"],
        "containers": [_container(name, target, values)],
        "nodeSelector": values["nodeSelector"],
        "affinity": _with_selectors(values["affinity"], labels),
        "topologySpreadConstraints": [
            {"labelSelector": {"matchLabels": labels}, **each} for each in values["topologySpreadConstraints"]
        ],
        "tolerations": values["tolerations"],
        "volumes": values["extraVolumes"],
    }
    metadata = {"labels": {**labels, **values["podLabels"]}, "annotations": values["podAnnotations"]}
    return _object("apps/v1", "Deployment", name, target, values) | {
        "spec": {
            "replicas": values["replicas"],
            "revisionHistoryLimit": values["revisionHistoryLimit"],
            "strategy": values["strategy"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": metadata, "spec": {key: value for key, value in pod.items() if value}},
        }
    }


def _container(name: str, target: Target, values: Mapping[str, Any]) -> Properties:
    controller, settings = values["controller"], values["settings"]
    image = f"{controller['image']['repository']}:{controller['image']['tag'] or target.version}"
    ports = {"http-metrics": controller["metrics"]["port"], "http": controller["healthProbe"]["port"]}
    environment = {
        "KUBERNETES_MIN_VERSION": "1.19.0-0",
        "KARPENTER_SERVICE": name,
        "METRICS_PORT": ports["http-metrics"],
        "HEALTH_PROBE_PORT": ports["http"],
        "FEATURE_GATES": ",".join(
            f"{gate[0].upper()}{gate[1:]}={_text(on)}" for gate, on in settings["featureGates"].items()
        ),
        **{variable: settings[key] for key, variable in _ENVIRONMENT.items() if settings[key]},
    }
    own_namespace = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    found = {
        "name": controller["containerName"],
        "image": f"{image}@{controller['image']['digest']}" if controller["image"]["digest"] else image,
        "imagePullPolicy": values["imagePullPolicy"],
        "env": [
            *({"name": key, "value": _text(value)} for key, value in environment.items()),
            {"name": "SYSTEM_NAMESPACE", "valueFrom": own_namespace},
            *controller["env"],
        ],
        "envFrom": controller["envFrom"],
        "ports": [{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in ports.items()],
        "resources": controller["resources"],
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": controller["extraVolumeMounts"],
    }
    return {key: value for key, value in found.items() if value}


def _object(api_version: str, kind: str, name: str, target: Target, values: Mapping[str, Any]) -> Properties:
    metadata: Properties = {
        "name": name,
        "labels": {
            "helm.sh/chart": f"{_NAME}-{target.version}",
            "app.kubernetes.io/version": target.version,
            **_selector(target, values),
            **values["additionalLabels"],
        },
        "annotations": dict(values["additionalAnnotations"]),
    }
    if not kind.startswith("Cluster"):
        metadata["namespace"] = target.namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _full_name(target: Target, values: Mapping[str, Any]) -> str:
    own = values["nameOverride"] or _NAME
    full = target.name if own in target.name else f"{target.name}-{own}"
    return str(full)[:_MOST_CHARACTERS].rstrip("-")


def _selector(target: Target, values: Mapping[str, Any]) -> dict[str, str]:
    return {"app.kubernetes.io/name": values["nameOverride"] or _NAME, "app.kubernetes.io/instance": target.name}


def _with_selectors(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The chart's own labels where a required pod (anti-)affinity names none."""
    found = dict(affinity)
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (found.get(kind) or {}).get(key)
        if terms:
            filled = [{"labelSelector": {"matchLabels": dict(labels)}, **term} for term in terms]
            found[kind] = {**found[kind], key: filled}
    return found


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


CHART: Final = Chart(SOURCE, VERSIONS, VALUES, ("settings.clusterName",), render, definitions)
