"""The kubeconfig of users and of the Kubernetes provider: a token of the AWS CLI, no key in the file."""

from __future__ import annotations

from dataclasses import dataclass

from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.kubeconfig import plugin_user


@dataclass(frozen=True, kw_only=True)
class ProviderLogin:
    """The provider's identity, if the stack file sets one: an AWS ``profile``, the ARN of a ``role``."""

    profile: str | None = None
    role: str | None = None


def kubeconfig(cluster_name: str, region: str, endpoint: str, ca_pem_base64: str, login: ProviderLogin) -> str:
    """A kubeconfig, as JSON (which is YAML); ``endpoint`` is a URL.

    Only who made a cluster has rights in it at first, so tokens are those of the provider's own ``login``:
    https://github.com/pulumi/pulumi-eks/issues/669.
    https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
    """
    context = f"eks_{region}_{cluster_name}"
    cluster = {"server": endpoint, "certificate-authority-data": ca_pem_base64}
    arguments = [
        *("eks", "get-token"),
        *("--cluster-name", cluster_name),
        *("--region", region),
        *("--output", "json"),
        *(("--role-arn", login.role) if login.role else ()),
    ]
    hint = "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/"
    profile = {"env": [{"name": "AWS_PROFILE", "value": login.profile}]} if login.profile else {}
    return document(context, cluster, plugin_user("aws", arguments, hint, **profile))
