"""What an image reads from its user data, and what it cannot read."""

from __future__ import annotations

import textwrap

import pytest

from rehearsal.providers.eks.machines.instance import node_image
from rehearsal.providers.eks.machines.user_data import UserDataError, bootstrap

NODE_CONFIG = textwrap.dedent(
    """\
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      cluster:
        name: demo
        apiServerEndpoint: https://127.0.0.1:6443
        certificateAuthority: Q0E=
        cidr: 172.20.0.0/16
      kubelet:
        config:
          maxPods: 29
          registerWithTaints:
          - {key: karpenter.sh/unregistered, effect: NoExecute}
        flags:
        - --node-labels="a=b,karpenter.sh/nodepool=gpu"
    """
)
BOTTLEROCKET = textwrap.dedent(
    """\
    [settings.kubernetes]
    api-server = 'https://127.0.0.1:6443'
    cluster-certificate = 'Q0E='
    cluster-name = 'demo'
    max-pods = 29
    [settings.kubernetes.node-labels]
    'a' = 'b'
    'karpenter.sh/nodepool' = 'gpu'
    [settings.kubernetes.node-taints]
    'karpenter.sh/unregistered' = [':NoExecute']
    """
)


def archive(*parts: tuple[str, str]) -> str:
    head = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
    body = "".join(f"--//\nContent-Type: {kind}\n\n{content}\n" for kind, content in parts)
    return f"{head}{body}--//--\n"


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("al2023", NODE_CONFIG),
        ("al2023", archive(("application/node.eks.aws", NODE_CONFIG))),
        ("al2023", archive(("text/x-shellscript", "#!/bin/sh"), ("application/node.eks.aws", NODE_CONFIG))),
        ("bottlerocket", BOTTLEROCKET),
    ],
)
def test_both_families_say_the_same_in_their_own_words(family: str, text: str) -> None:
    actual = bootstrap(family, text)  # type: ignore[arg-type]
    assert (actual.cluster, actual.endpoint, actual.ca) == ("demo", "https://127.0.0.1:6443", "Q0E=")
    assert actual.labels == {"a": "b", "karpenter.sh/nodepool": "gpu"}
    assert [(each["key"], each["effect"]) for each in actual.taints] == [("karpenter.sh/unregistered", "NoExecute")]
    assert actual.settings["maxPods"] == 29
    assert not actual.raid0


def test_later_parts_win_over_earlier_ones() -> None:
    own = "kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 8, kubeReserved: {cpu: 100m}}}}"
    actual = bootstrap("al2023", archive(("application/node.eks.aws", own), ("application/node.eks.aws", NODE_CONFIG)))
    assert actual.settings == {"maxPods": 29, "kubeReserved": {"cpu": "100m"}}


def test_flags_win_over_the_configuration() -> None:
    text = NODE_CONFIG.replace("flags:", "flags:\n    - --max-pods=8 --register-with-taints=k=v:NoSchedule")
    actual = bootstrap("al2023", text)
    assert actual.settings["maxPods"] == 8
    assert actual.taints == ({"key": "k", "value": "v", "effect": "NoSchedule"},)


@pytest.mark.parametrize(
    ("family", "text", "message"),
    [
        ("al2023", "", "no user data"),
        ("al2023", "#!/bin/bash\n/etc/eks/bootstrap.sh demo", "no part of type application/node.eks.aws"),
        ("al2023", archive(("text/x-shellscript", "#!/bin/sh")), "no part of type application/node.eks.aws"),
        ("al2023", BOTTLEROCKET, "no part of type"),
        ("al2023", NODE_CONFIG.replace("name: demo", "name: ''"), "the cluster's cluster"),
        ("al2023", NODE_CONFIG.replace("Q0E=", "''"), "the cluster's ca"),
        ("bottlerocket", NODE_CONFIG, "cannot be read by bottlerocket"),
        ("bottlerocket", BOTTLEROCKET.replace("api-server", "api"), "the cluster's endpoint"),
    ],
)
def test_what_makes_no_node(family: str, text: str, message: str) -> None:
    with pytest.raises(UserDataError, match=message):
        bootstrap(family, text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "ami_type"),
    [
        ("amazon-eks-node-al2023-x86_64-standard-1.35-v20261101", "AL2023_x86_64_STANDARD"),
        ("amazon-eks-node-al2023-x86_64-nvidia-1.35-v20261101", "AL2023_x86_64_NVIDIA"),
        ("amazon-eks-node-al2023-arm64-standard-1.35-v20261101", "AL2023_arm64_STANDARD"),
        ("bottlerocket-aws-k8s-1.35-x86_64-v1.52.0-0a1b2c3d", "BOTTLEROCKET_x86_64"),
        ("bottlerocket-aws-k8s-1.35-nvidia-aarch64-v1.52.0-0a1b2c3d", "BOTTLEROCKET_arm64_NVIDIA"),
        ("al2023-ami-2023.9.20261101.0-kernel-6.1-x86_64", None),
        ("my-own-image", None),
        ("amazon-eks-node-1.31-v20261101", None),
    ],
)
def test_images_that_boot_into_a_kubelet(name: str, ami_type: str | None) -> None:
    actual = node_image(name)
    assert (None if actual is None else actual.ami_type) == ami_type
