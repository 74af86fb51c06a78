"""Which changed fields replace an object: the API server refuses to change them in place.

The same fields as the real provider's, so that a rehearsed replacement is one in the cloud too
(https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/provider/diff.go).
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.kubernetes.manifest import Kind
from rehearsal.providers.paths import Path, covers, parse_path

_IDENTITY: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")
_POD: Final = tuple(
    f"spec.{field}"
    for field in (
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostname",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "volumes",
    )
)
_VOLUME_SOURCES: Final = tuple(
    f"spec.{field}"
    for field in (
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "glusterfs",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    )
)
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "apps/v1/DaemonSet": ("spec.selector",),
    "apps/v1/Deployment": ("spec.selector",),
    "apps/v1/StatefulSet": (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "batch/v1/Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": ("roleRef",),
    "rbac.authorization.k8s.io/v1/RoleBinding": ("roleRef",),
    "storage.k8s.io/v1/StorageClass": ("parameters", "provisioner"),
    "v1/PersistentVolume": _VOLUME_SOURCES,
    "v1/PersistentVolumeClaim": ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    "v1/Pod": _POD,
    "v1/ResourceQuota": ("spec.scopes",),
    "v1/Service": ("spec.clusterIP",),
}
_SECRET: Final = ("type", "stringData", "data")
_CONFIG_MAP: Final = ("binaryData", "data")


def replacing(
    kind: Kind,
    changes: tuple[Path, ...],
    *,
    immutable: bool = False,
    mutable_secrets: bool = False,
    mutable_config_maps: bool = False,
) -> tuple[Path, ...]:
    """Those of ``changes`` that replace an object of ``kind``.

    Secrets and ConfigMaps are replaced when their data changes, so that pods which use them see it, unless the
    provider's ``enableSecretMutable`` or ``enableConfigMapMutable`` says otherwise and the object is not ``immutable``.
    """
    fields: tuple[str, ...] = _IDENTITY
    if not kind.patch:
        fields += _FIELDS.get(str(kind), ())
        if str(kind) == "v1/Secret":
            fields += _SECRET if immutable or not mutable_secrets else ("type",)
        if str(kind) == "v1/ConfigMap" and (immutable or not mutable_config_maps):
            fields += _CONFIG_MAP
    patterns = [parse_path(field) for field in fields]
    # A change above such a field (its parent added or removed) changes the field, too.
    return tuple(path for path in changes if any(covers(each, path) or covers(path, each) for each in patterns))
