"""The gate's rules on pods for a cluster of which no program of ours knows: manifests for ``kubectl apply``.

``python -m components.admission_manifests [Pulumi.<stack>.yaml]`` prints ValidatingAdmissionPolicies that refuse pods

- which tolerate every taint (the gate's ``no-blanket-toleration``), and
- which tolerate the GPU taint without asking for a GPU (``gpu-nodes-for-gpus``),

and warn whoever submits a workload with such pods. With a stack file that describes the cluster's pools, the policies
on placement and sizes of our own clusters come along. DaemonSets' pods and ``kube-system`` are exempt; pods that run
already are left alone.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components import gpu_admission_cel as cel
from components.clouds.base import load_cloud
from components.gpu_admission import API, PODS, WORKLOADS, manifests
from components.settings.problems import SettingsError
from components.settings.read import from_stack_file
from facts.concepts.kubernetes import GPU_RESOURCE

BLANKET_POLICY: Final = "no-blanket-toleration.gpucluster.dev"
RESERVED_POLICY: Final = "gpu-nodes-for-gpus.gpucluster.dev"

# A toleration of eviction alone (NoExecute), or of a preference, opens no node.
_OPENS_NODES: Final = "o.?effect.orValue('') in ['', 'NoSchedule']"
_TOLERATES_ALL: Final = (
    "variables.tolerations.exists(o, o.?key.orValue('') == '' && o.?operator.orValue('Equal') == 'Exists' && "
    f"{_OPENS_NODES})"
)
_TOLERATES_GPUS: Final = f"variables.tolerations.exists(o, o.?key.orValue('') == '{GPU_RESOURCE}' && {_OPENS_NODES})"
# Whole GPUs, parts of one by whatever name, and claims of dynamic allocation, which may be for a GPU.
_ASKS: Final = " || ".join(
    (
        *(
            f"variables.pod.?{part}.orValue([]).exists(c, "
            "dyn(c).?resources.limits.orValue({}).exists(k, k.startsWith('nvidia.com/')))"
            for part in ("containers", "initContainers")
        ),
        "size(variables.pod.?resourceClaims.orValue([])) > 0",
    )
)
_NEEDED: Final = ("template", "pod", "where", "tolerations")
_VARIABLES: Final = [variable for variable in cel.PLACEMENT_VARIABLES if variable["name"] in _NEEDED]


def pod_rules() -> Iterator[Mapping[str, Any]]:
    """The two policies that need to know nothing of the cluster's pools, each with its bindings."""
    yield from _policy(
        BLANKET_POLICY,
        f"!{_TOLERATES_ALL}",
        "tolerates every taint, those of GPU nodes included",
        "name the taints that it must tolerate, one toleration with a key for each",
    )
    yield from _policy(
        RESERVED_POLICY,
        f"!{_TOLERATES_GPUS} || {_ASKS}",
        f"tolerates {GPU_RESOURCE} without asking for a GPU",
        f"remove the toleration, or ask for {GPU_RESOURCE} in the limits of a container",
    )


def _policy(name: str, expression: str, what: str, remedy: str) -> Iterator[Mapping[str, Any]]:
    yield {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [PODS, *WORKLOADS], "namespaceSelector": cel.NOT_SYSTEM_NAMESPACE},
            "matchConditions": [cel.NOT_OF_A_DAEMON_SET],
            "variables": _VARIABLES,
            "validations": [
                {
                    "expression": expression,
                    "message": what,
                    "messageExpression": f"'{what}; in ' + variables.where + '.tolerations {remedy}'",
                    "reason": "Forbidden",
                }
            ],
        },
    }
    for action, rules in (("Deny", [PODS]), ("Warn", list(WORKLOADS))):
        yield {
            "apiVersion": API,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": f"{action.lower()}.{name}"},
            "spec": {"policyName": name, "validationActions": [action], "matchResources": {"resourceRules": rules}},
        }


def of_stack(path: Path) -> Iterator[Mapping[str, Any]]:
    """The policies on placement and sizes for the pools that a stack file describes.

    Raises:
        SettingsError: the file is no valid stack.
    """
    settings = from_stack_file(path)
    cloud = load_cloud(settings.cloud)
    for made in manifests(
        settings.gpu_pools,
        adds_gpu_toleration=cloud.adds_gpu_toleration,
        ends_running_pods=cloud.ends_running_pods,
    ):
        yield made.policy
        yield made.binding


def main(arguments: list[str]) -> int:
    """Print the manifests; 1 for a stack file that is not valid."""
    try:
        documents = [*pod_rules(), *(made for name in arguments[:1] for made in of_stack(Path(name)))]
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    # What occurs several times is written out each time: people expect no anchors in a manifest.
    plain = [json.loads(json.dumps(document)) for document in documents]
    sys.stdout.write(yaml.safe_dump_all(plain, sort_keys=False, width=4096))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
