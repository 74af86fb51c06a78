"""What jobs have in the cloud: images, checkpoints, a shared volume, and identities to reach them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pulumi

from components.clouds.base import Bucket, Reach
from components.cluster import Cluster
from components.resources import documents
from components.settings.sections.workloads import Workloads
from facts.concepts.kubernetes import manifest
from facts.concepts.offer import SHARED_CLAIM


@dataclass(frozen=True, kw_only=True)
class WorkloadArgs:
    """A part of the ``workloads`` of ``cluster``, which the stack file has.

    ``namespaces`` are those that the program declares for users' pods, by name. Tools wait for ``after``: the admin
    pool, with the default StorageClass.
    """

    cluster: Cluster
    namespaces: Mapping[str, pulumi.Resource] = field(default_factory=dict)
    after: tuple[pulumi.Resource, ...] = ()

    @property
    def workloads(self) -> Workloads:
        """The section of the stack file."""
        return self.cluster.settings.workloads


class CheckpointBucket(pulumi.ComponentResource):
    """A private, encrypted bucket. No pod has access until a ``PodIdentity`` grants it."""

    TOKEN: Final = "gpucluster:index:CheckpointBucket"
    bucket: Bucket

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(self.TOKEN, name, None, opts)
        assert args.workloads.checkpoints is not None
        self.bucket = args.cluster.handle.workloads.bucket(name, args.workloads.checkpoints, self)
        self.register_outputs({"url": self.bucket.url})


class ContainerRegistry(pulumi.ComponentResource):
    """A registry; an image in it is ``<address>/<image>:<tag>``."""

    TOKEN: Final = "gpucluster:index:ContainerRegistry"
    address: pulumi.Output[str]

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(self.TOKEN, name, None, opts)
        assert args.workloads.registry is not None
        self.address = args.cluster.handle.workloads.registry(name, args.workloads.registry, self)
        self.register_outputs({"address": self.address})


class RightsOfData(pulumi.ComponentResource):
    """The rights to keys of a ``component``'s data that outlives it: the component as it was, without the rest."""

    def __init__(
        self,
        name: str,
        component: type[CheckpointBucket | ContainerRegistry],
        cluster: Cluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(component.TOKEN, name, None, opts)
        cluster.handle.workloads.rights_of_data[name](self)
        self.register_outputs({})


class PullRights(pulumi.ComponentResource):
    """Permission to pull images from registries of other projects or accounts."""

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PullRights", name, None, opts)
        grant_pull = args.cluster.handle.workloads.grant_pull
        assert grant_pull is not None, "settings refuse pullFrom on such a cloud"
        for registry in args.workloads.pull_from:
            digits = hashlib.sha256(registry.encode()).hexdigest()[:6]
            full_name = f"{name}-{registry.rpartition('/')[2]}-{digits}"
            grant_pull(full_name, registry, self)
        self.register_outputs({"registries": list(args.workloads.pull_from)})


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """The pods of service account ``account`` (namespace, name) in ``cluster`` may access ``reach``.

    ``namespace`` is the namespace's resource, if the program declares it; the account waits for it.
    """

    cluster: Cluster
    account: tuple[str, str]
    reach: Reach
    namespace: pulumi.Resource | None = None


class PodIdentity(pulumi.ComponentResource):
    """A service account and its cloud permissions."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PodIdentity", name, None, opts)
        namespace, account = args.account
        annotations = args.cluster.handle.workloads.pod_identity(name, args.account, args.reach, self)
        service_account = manifest("v1", "ServiceAccount", account, namespace, annotations=annotations)
        after = [] if args.namespace is None else [args.namespace]
        args.cluster.objects.declare(f"{name}-account", service_account, self, *after)
        self.register_outputs({"serviceAccount": f"{namespace}/{account}"})


class SharedVolume(pulumi.ComponentResource):
    """A volume that many pods can mount at once, through the claim ``shared`` in one namespace."""

    claim: str

    def __init__(self, name: str, args: WorkloadArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:SharedVolume", name, None, opts)
        setting, objects = args.workloads.shared_volume, args.cluster.objects
        assert setting is not None
        namespace = setting.namespace
        self.claim = f"{namespace}/{SHARED_CLAIM}"
        share = args.cluster.handle.workloads.share(name, setting, self)
        volume_manifest, claim_manifest = documents(
            Path(__file__).with_name("shared-volume.yaml"),
            namespace=namespace,
            claim=SHARED_CLAIM,
            # Kubernetes requires a size even for a volume that grows, and does not enforce it.
            size=f"{share.size_gib or 1}Gi",
            driver=share.driver,
            handle=share.handle,
        )
        if share.options:
            volume_manifest["spec"]["mountOptions"] = list(share.options)
        if share.attributes:
            volume_manifest["spec"]["csi"]["volumeAttributes"] = dict(share.attributes)
        volume = objects.declare(f"{name}-volume", volume_manifest, self, *share.ready)
        after = [each for each in (volume, args.namespaces.get(namespace)) if each is not None]
        # 0.1.0 requested the volume's size, and no claim may become smaller.
        objects.declare(f"{name}-claim", claim_manifest, self, *after, as_made=("spec.resources",))
        self.register_outputs({"claim": self.claim})
