"""Cloud identities of service accounts, without keys."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.clouds.base import Reach
from components.cluster import Cluster
from facts.concepts.kubernetes import manifest


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
