"""IAM roles of the control plane, the nodes and pods. No access key exists.

Nodes have the two policies that a node needs; further permissions of pods belong to their service accounts, by EKS
Pod Identity: https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.data_lookup import look_up
from components.clouds.declare import eks as declare
from components.clouds.eks import policy
from components.clouds.names import shortened
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks

CLUSTER_POLICIES: Final = ("AmazonEKSClusterPolicy",)
"""https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html"""

NODE_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
"""Join the cluster, pull images. The network plugin has rights of its own.

Not ``AmazonSSMManagedInstanceCore``, for Session Manager: it reads every parameter of the account.
https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html,
https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonSSMManagedInstanceCore.html"""

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_ROLE_NAME_LIMIT: Final = 64
_CALLER: Final = "aws:index/getCallerIdentity:getCallerIdentity"


class CallerIdentity:
    """The account of the program: its ``id`` and the principal's ARN (``caller``), known at once, and its
    ``partition`` (``aws``, ``aws-us-gov``, ``aws-cn``)."""

    def __init__(self, parent: pulumi.Resource) -> None:
        identity = look_up(_CALLER, {}, parent)
        self.id = str(identity["accountId"])
        self.caller = str(identity["arn"])
        partition = pulumi.runtime.invoke_output(
            "aws:index/getPartition:getPartition", {}, pulumi.InvokeOutputOptions(parent=parent)
        )
        self.partition: pulumi.Output[str] = partition.apply(lambda answer: str(answer["partition"]))

    def managed_policy(self, path: str) -> pulumi.Output[str]:
        """The ARN of a policy that AWS maintains; ``path`` is its name, with its path if it has one."""
        return pulumi.Output.format("arn:{0}:iam::aws:policy/{1}", self.partition, path)

    def document(self, name: str, **values: pulumi.Input[str]) -> pulumi.Output[str]:
        """The policy document of ``<name>-policy.yaml``, about this account, with ``values`` in place of ``${…}``."""
        known = pulumi.Output.all(partition=self.partition, account=self.id, **values)
        return known.apply(lambda texts: policy.of(name, **texts))


class ServiceRole:
    """A role that ``service`` may assume, with policies of AWS (``managed``) and one of its own (``document``). By
    default it is for the pods of one service account, to which ``associate`` assigns it.

    ``arn`` and ``role_name`` are known once it exists; ``ready`` are its policies, for which users of the role wait. On
    destroy they outlive the user, which needs them to clean up.
    """

    def __init__(
        self,
        name: str,
        purpose: str,
        settings: Settings,
        account: CallerIdentity,
        parent: pulumi.Resource | None,
        *,
        service: str = policy.POD_IDENTITY,
        managed: Sequence[str] = (),
        document: pulumi.Input[str] | None = None,
    ) -> None:
        options = pulumi.ResourceOptions(parent=parent)
        inputs: eks.Role = {
            "name": role_name(settings.cluster_name, purpose),
            "description": f"{purpose} of cluster {settings.cluster_name}",
            "assumeRolePolicy": policy.trust(service),
            "tags": dict(settings.labels),
        }
        if settings.security.permissions_boundary is not None:
            inputs["permissionsBoundary"] = settings.security.permissions_boundary
        if settings.security.role_path is not None:
            inputs["path"] = settings.security.role_path
        role = declare("aws:iam/role:Role", name, inputs, options, outputs=["arn"])
        self.arn: pulumi.Output[str] = role.outputs["arn"]
        self.role_name: pulumi.Output[str] = role.outputs["name"]
        self.ready: list[pulumi.Resource] = [
            declare(
                "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
                f"{name}-{path.rpartition('/')[2]}",
                {"role": self.role_name, "policyArn": account.managed_policy(path)},
                options,
            )
            for path in managed
        ]
        if document is not None:
            inline: eks.RolePolicy = {"role": self.role_name, "name": purpose, "policy": document}
            self.ready.append(declare("aws:iam/rolePolicy:RolePolicy", f"{name}-policy", inline, options))


def role_name(cluster_name: str, purpose: str) -> str:
    """``<cluster>-<purpose>`` within the 64 characters of a role's name."""
    return shortened(cluster_name, _ROLE_NAME_LIMIT, suffix=f"-{purpose}")


def node_role(
    name: str, settings: Settings, account: CallerIdentity, parent: pulumi.Resource, *, purpose: str = "nodes"
) -> ServiceRole:
    """The nodes' role."""
    service = "ec2.amazonaws.com"
    return ServiceRole(f"{name}-node-role", purpose, settings, account, parent, service=service, managed=NODE_POLICIES)


def associate(
    name: str,
    role: ServiceRole,
    cluster_name: pulumi.Input[str],
    service_account: tuple[str, str],
    settings: Settings,
    opts: pulumi.ResourceOptions,
) -> CustomResource:
    """Assign ``role`` to the pods of ``service_account`` (namespace, name)."""
    namespace, account = service_account
    return declare(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        name,
        {
            "clusterName": cluster_name,
            "namespace": namespace,
            "serviceAccount": account,
            "roleArn": role.arn,
            "tags": dict(settings.labels),
        },
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=role.ready)),
    )
