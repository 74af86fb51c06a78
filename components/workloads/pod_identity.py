"""Who the pods of a service account are in the cloud, without a key."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """The pods of service account ``account`` (namespace, name) in ``cluster`` may reach ``reach``.

    ``namespace`` is the object that the account waits for, where the program makes it.
    """

    cluster: Cluster
    account: tuple[str, str]
    reach: Reach
    namespace: pulumi.Resource | None = None


class PodIdentity(pulumi.ComponentResource):
    """A service account, and its rights in the cloud."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:PodIdentity", name, None, opts)
        namespace, account = args.account
        annotations = args.cluster.handle.workloads.pod_identity(name, args.account, args.reach, self)
        args.cluster.objects.declare(
            f"{name}-account",
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": account, "namespace": namespace, "annotations": annotations},
            },
            self,
            *([] if args.namespace is None else [args.namespace]),
        )
        self.register_outputs({"serviceAccount": f"{namespace}/{account}"})
