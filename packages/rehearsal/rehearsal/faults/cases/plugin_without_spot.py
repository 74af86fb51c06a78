"""A device plugin that does not tolerate the taint that Azure puts on spot nodes: nodes come, without a GPU to use.

https://github.com/Azure/AKS/issues/4418
"""

from __future__ import annotations

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change, without_toleration

_SPOT = "kubernetes.azure.com/scalesetpriority"

CASE = Case(
    name="plugin-without-spot-toleration",
    title="a device plugin that does not tolerate the spot taint of AKS",
    stack="examples/aks-train-infer.yaml",
    rule="gpu-daemonset-tolerates",
    check="reached:",
    reason=f"does not tolerate the taint {_SPOT}",
    sabotage=change("kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, _SPOT)),
)
