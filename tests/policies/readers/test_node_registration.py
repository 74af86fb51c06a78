"""Boot data in every form that clouds take: what the kubelet registers with, or that it cannot be told."""

from __future__ import annotations

import base64
import gzip
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers.node_registration import NOTHING, UNREADABLE, parsed_taints, registration
from policies.readers.taints import taints_of

BOOTSTRAP = (
    "#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh ml --kubelet-extra-args "
    "'--node-labels=team=ml,gpu=a10g --register-with-taints=nvidia.com/gpu=present:NoSchedule,spot:NoExecute'\n"
)
NODEADM = """\
--BOUNDARY
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: ml
  kubelet:
    flags:
      - --node-labels=team=ml,gpu=a10g
    config:
      registerWithTaints:
      - key: nvidia.com/gpu
        value: present
        effect: NoSchedule
      - {key: spot, effect: NoExecute}
--BOUNDARY
Content-Type: text/x-shellscript

echo done
--BOUNDARY--
"""
BOTTLEROCKET = """\
[settings.kubernetes]
cluster-name = "ml"
[settings.kubernetes.node-labels]
team = "ml"
"gpu" = "a10g"
[settings.kubernetes.node-taints]
"nvidia.com/gpu" = ["present:NoSchedule"]
spot = ":NoExecute"
[settings.host-containers.admin]
enabled = "true"
"""
KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  taints:
  - {key: nvidia.com/gpu, value: present, effect: NoSchedule}
  - {key: spot, effect: NoExecute}
"""
K3S = """\
#!/bin/sh
curl -sfL https://get.k3s.io | sh -s - agent --server https://10.0.0.1:6443 \\
  --node-label team=ml --node-label gpu=a10g \\
  --node-taint nvidia.com/gpu=present:NoSchedule --node-taint 'spot=:NoExecute'
"""
TAINTS = (GPU_TAINT, Taint("spot", "", "NoExecute"))


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("script", [BOOTSTRAP, NODEADM, BOTTLEROCKET, KUBEADM, K3S])
def test_every_language_of_boot_data(script: str) -> None:
    for data in (script, base64_of(script.encode()), base64_of(gzip.compress(script.encode()))):
        node = registration(data)
        assert node.taints == TAINTS
        assert node.joins is True
    if script is not KUBEADM:
        assert registration(script).labels == {"team": "ml", "gpu": "a10g"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("//4A", "not text"),
        ("H4tub3QgZ3ppcCBhZnRlciBhbGw=", "not text"),
        ("kubelet --register-with-taints=$TAINTS", "a shell variable"),
        ("apiVersion: node.eks.aws/v1alpha1\nspec: {", "not text"),
    ],
)
def test_unreadable_boot_data_is_unknown_with_a_reason(data: Any, why: str) -> None:
    node = registration(data)
    assert replace(node, unknown_reason=None) == UNREADABLE
    assert node.unknown_reason is not None
    assert why in node.unknown_reason.why


TAINTED = "/etc/eks/bootstrap.sh ml --kubelet-extra-args '--register-with-taints=nvidia.com/gpu=present:NoSchedule'"
PLAIN = "/etc/eks/bootstrap.sh ml"
FLAG = "--register-with-taints=nvidia.com/gpu=present:NoSchedule"
NODE_CONFIG = f"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{kubelet: {{flags: ['{FLAG}']}}}}"


def mime(content_type: str, payload: str) -> str:
    return f"Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: {content_type}\n\n{payload}\n--B--\n"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"{PLAIN}\nexit 0\n{TAINTED}", "several commands"),
        (f"if false; then\n  {TAINTED}\nelse\n  {PLAIN}\nfi", "several commands"),
        (f"[ -e /never ] && {TAINTED} || {PLAIN}", "several commands"),
        (f"case $X in\na) {TAINTED};;\n*) {PLAIN};;\nesac", "several commands"),
        (f"kubeadm join 10.0.0.1:6443\nnever() {{\n  kubelet {FLAG}\n}}", "several commands"),
        (f'echo "taints: {FLAG}" >> /var/log/boot.log\n{PLAIN}', "only writes"),
        (f"printf '%s' '{FLAG}' | tee /opt/notes\n{PLAIN}", "only writes"),
        (f"cat > /opt/readme <<EOF\n{TAINTED}\nEOF\n{PLAIN}", "only writes"),
        (f"cat <<'EOF' > /opt/readme\n{NODE_CONFIG}\n{FLAG}\nEOF\n{PLAIN}", "only writes"),
        (f'TAINTS="{FLAG}"\n{PLAIN}', "only writes"),
    ],
)
def test_taints_that_no_joining_command_certainly_has_are_unknown(script: str, why: str) -> None:
    node = registration(f"#!/bin/bash\n{script}\n")
    assert node.taints is UNKNOWN
    assert node.unknown_reason is not None
    assert why in node.unknown_reason.why


@pytest.mark.parametrize(
    "script",
    [
        f"if [ -f /etc/eks/bootstrap.sh ]; then\n  {TAINTED}\nfi",
        f"[ -e /ready ] && {TAINTED} || {TAINTED}",
        f'echo "joining with {FLAG}" >> /var/log/boot.log\n{TAINTED}',
        f"cat > /opt/readme <<EOF\n{PLAIN}\nEOF\n{TAINTED}",
        f"cat <<EOF > /etc/systemd/system/kubelet.service.d/20-taints.conf\nEnvironment='ARGS={FLAG}'\nEOF\n{PLAIN}",
        f"cat > /etc/eks/nodeadm.yaml <<'EOF'\n{NODE_CONFIG}\nEOF\nnodeadm init -c file:///etc/eks/nodeadm.yaml",
        f'echo "KUBELET_EXTRA_ARGS={FLAG}" > /etc/default/kubelet\nkubeadm join 10.0.0.1:6443',
        f'TAINTS="{FLAG}"\n{PLAIN} --kubelet-extra-args "$TAINTS"',
        f'export KUBELET_EXTRA_ARGS="{FLAG}"\n{PLAIN}',
        f"sed -i '/^KUBELET_EXTRA_ARGS=/a KUBELET_EXTRA_ARGS+=\" {FLAG}\"' /etc/eks/bootstrap.sh\n{PLAIN}",
        "/etc/eks/bootstrap.sh ml \\\n  --use-max-pods false \\\n  --kubelet-extra-args \\\n  '" + FLAG + "'",
        f"bash <<EOF\n{TAINTED}\nEOF",
        mime("text/x-shellscript", f"#!/bin/bash\n{TAINTED}"),
        mime("text/plain", f"#!/bin/bash\n{TAINTED}"),
        mime("text/cloud-config", f'#cloud-config\nruncmd: ["{TAINTED}"]'),
        mime("application/node.eks.aws", NODE_CONFIG),
        mime("text/x-shellscript\nContent-Transfer-Encoding: base64", base64_of(f"#!/bin/bash\n{TAINTED}".encode())),
    ],
)
def test_taints_of_the_command_or_the_configuration_that_joins(script: str) -> None:
    assert registration(script).taints == (GPU_TAINT,)


def test_a_part_that_nothing_runs_has_no_taints() -> None:
    assert registration(mime("text/plain", NODE_CONFIG)).taints == ()


def test_values_unknown_until_update_need_no_reason() -> None:
    assert registration(UNKNOWN) == UNREADABLE
    assert UNREADABLE.unknown_reason is None


@pytest.mark.parametrize("data", [None, ""])
def test_no_boot_data(data: Any) -> None:
    assert registration(data) == NOTHING


def test_a_script_without_kubernetes_joins_nothing() -> None:
    node = registration("#!/bin/bash\napt-get install -y nginx\n")
    assert (node.taints, node.joins) == ((), False)


def test_spellings_of_taints() -> None:
    expected = (Taint("a", "b", "NoSchedule"), Taint("c", "", "NoExecute"))
    assert tuple(parsed_taints("a=b:NoSchedule, c:NoExecute,broken,d=e:Sometimes")) == expected
    written = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "no-schedule"}]
    assert taints_of(written) == (Taint("a", "", "NoSchedule"),)
    assert taints_of([{"key": UNKNOWN, "effect": "NoSchedule"}]) is UNKNOWN
    assert taints_of(UNKNOWN) is UNKNOWN
