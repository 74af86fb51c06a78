"""Why a DaemonSet has no pod on a node: untolerated taints, selectors, affinity.

This only explains the DaemonSet controller's decision
(https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]


def refusal(pod_spec: Spec, node: Spec) -> str | None:
    """The reasons as a sentence fragment; ``None`` if nothing keeps the pod off the node."""
    reasons = [
        *(
            f"does not tolerate the taint {taint['key']}={taint.get('value', '')}:{taint['effect']}"
            for taint in untolerated(pod_spec, node)
        ),
        *_unselected(pod_spec, node["metadata"].get("labels", {})),
    ]
    return " and ".join(reasons) or None


def untolerated(pod_spec: Spec, node: Spec) -> list[Spec]:
    """Taints that keep a DaemonSet's pod off; Kubernetes adds tolerations for ``node.kubernetes.io/…`` itself."""
    tolerations = pod_spec.get("tolerations", [])
    return [
        taint
        for taint in node["spec"].get("taints", [])
        if taint["effect"] != "PreferNoSchedule"
        and not taint["key"].startswith("node.kubernetes.io/")
        and not any(tolerates(toleration, taint) for toleration in tolerations)
    ]


def tolerates(toleration: Spec, taint: Spec) -> bool:
    """Whether a pod with this toleration may be on a node with this taint, both in the API's form."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _unselected(pod_spec: Spec, labels: Mapping[str, str]) -> list[str]:
    reasons = [
        f"selects {key}={value}, the node has {labels.get(key, 'no such label')}"
        for key, value in pod_spec.get("nodeSelector", {}).items()
        if labels.get(key) != value
    ]
    affinity = pod_spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    terms = [
        [_text_of(each) for each in term.get("matchExpressions", []) if not matches(each, labels)] for term in required
    ]
    if terms and all(terms):
        reasons.append("requires " + " or ".join(" and ".join(term) for term in terms))
    return reasons


def matches(expression: Spec, labels: Mapping[str, str]) -> bool:
    """Whether labels match an expression of a node's or a label selector."""
    value = labels.get(expression["key"])
    values = expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
    raise ValueError(f"node affinity has an unknown operator: {expression['operator']}")


def selects(selector: Spec, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects labels; an empty one selects all."""
    expressions = selector.get("matchExpressions") or ()
    return (selector.get("matchLabels") or {}).items() <= labels.items() and all(
        matches(each, labels) for each in expressions
    )


def _text_of(expression: Spec) -> str:
    values = expression.get("values", [])
    return f"{expression['key']} {expression['operator']}" + (f" [{', '.join(values)}]" if values else "")
