"""A file system that all pods of a namespace share."""

from __future__ import annotations

from pathlib import Path

import pulumi

from components.resources import documents
from components.workloads.args import WorkloadArgs
from facts.concepts.offer import SHARED_CLAIM


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
        objects.declare(f"{name}-claim", claim_manifest, self, *after)
        self.register_outputs({"claim": self.claim})
