"""What the gate does not detect. Each entry has a program in the tests that passes without a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KNOWN_GAPS: Final[Mapping[str, str]] = {
    "made-outside": "Anything that the program does not declare: nodes from a cloud's console or command line, "
    "nodes that an operator in the cluster creates by its own rules, pods from `kubectl apply` (use"
    " the [admission policies](gating-your-own-program.md#pods-from-kubectl)).",
    "script-in-a-machine": "What a running machine or pod does: boot data that calls a cloud's command line.",
    "gpu-services": "GPUs of services that have their own size names instead of machine types.",
    "referenced-image": "What the program in a container image does, for example an operator that starts GPU pods.",
    "placement-by-others": "Tolerations that a mutating policy adds to pods, or a RuntimeClass or namespace of another "
    "program.",
    "rights-in-the-cluster": "Who may do what in the cluster: role bindings other than "
    "cluster-admin, admin and edit for everybody; access entries.",
    "harmless-types": "GPU words in types that create no machines: permissions, alarms, budgets, storage, names, "
    "secrets.",
    "chart-parameters": "Individual chart values that Argo CD sets (`helm.parameters`), and in any chart the "
    "tolerations of a component with the name of a known DaemonSet (`node-exporter`, `…-agent`).",
    "late-templates": "A CloudFormation template that is unknown at preview: the gate checks it at the update, before"
    " it is created.",
}
"""Id → the sentence of the documentation."""
