"""The installed binaries themselves: each runs and knows its version."""

from __future__ import annotations

import subprocess

import pytest

import rehearsal.tools
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.tools.modules import HELM, KUBERNETES

pytestmark = pytest.mark.rehearsal


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (["kube-apiserver", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kube-controller-manager", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kube-scheduler", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kubectl", "version", "--client"], f"Client Version: {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["etcd", "--version"], f"etcd Version: {KUBERNETES.version('go.etcd.io/etcd/server/v3').lstrip('v')}"),
        (["kwok", "--version"], "kwok version"),
        (["pulumi", "version"], "v3."),
        (["karpenter", "--help"], "-instance-types-file-path"),
        (["helm", "version"], f'Version:"{HELM.version("helm.sh/helm/v3")}"'),
        (["karpenter-aws", "--help"], "-interruption-queue"),
        (["actionlint", "--version"], "1."),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_runs(command: list[str], answer: str) -> None:
    folder = rehearsal.tools.folder()
    shown = subprocess.run([str(folder / command[0]), *command[1:]], text=True, capture_output=True, timeout=PATIENCE)
    assert answer in shown.stdout + shown.stderr
