"""What the gate does not detect. Each entry has a program in the tests that passes without a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KNOWN_GAPS: Final[Mapping[str, str]] = {
    "made-outside": "What no resource of the program declares: nodes by a cloud's console or command line, nodes that "
    "an operator in the cluster makes by rules of its own, pods by `kubectl apply` (for those there are "
    "[admission policies](gating-your-own-program.md#pods-that-no-program-declares)).",
    "script-in-a-machine": "What a machine or a pod does once it runs: boot data that calls a cloud's command line.",
    "gpu-services": "GPUs of services whose sizes are words of their own, no machine types.",
    "referenced-image": "What the program in a container image does, for example an operator that starts GPU pods.",
    "harmless-types": "GPU words in types that make no machines: rights, alarms, budgets, storage, names, secrets.",
    "chart-parameters": "Single values that Argo CD sets in a chart (`helm.parameters`), and in any chart the "
    "tolerations of what is called like a known DaemonSet (`node-exporter`, `…-agent`): a Deployment may be called so.",
    "late-templates": "A CloudFormation template that the preview does not know yet: it is judged at the update, "
    "before it is created, and the preview says nothing.",
}
"""Id → the sentence of the documentation."""
