"""The gate's rules on pods for a cluster that this program does not manage: manifests for ``kubectl apply``.

``python -m components.admission_manifests [Pulumi.<stack>.yaml]`` prints ValidatingAdmissionPolicies that refuse pods

- that tolerate all taints (the gate's ``no-blanket-toleration``), and
- that tolerate the GPU taint without a GPU request (``gpu-nodes-for-gpus``),

and warn at the submission of a workload with such pods. With a stack file that describes the cluster's pools, the
output includes the policies on placement and sizes. DaemonSets' pods and ``kube-system`` are exempt; running pods are
not affected.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import manifests, templates
from components.settings.problems import SettingsError
from components.settings.read import from_stack_file
from facts.concepts.kubernetes import GPU_RESOURCE

BLANKET_POLICY: Final = "no-blanket-toleration.gpucluster.dev"
RESERVED_POLICY: Final = "gpu-nodes-for-gpus.gpucluster.dev"

# A toleration of eviction alone (NoExecute), or of a preference, gives access to no node.
_GIVES_ACCESS: Final = "o.?effect.orValue('') in ['', 'NoSchedule']"
_TOLERATES_ALL: Final = (
    "variables.tolerations.exists(o, o.?key.orValue('') == '' && o.?operator.orValue('Equal') == 'Exists' && "
    f"{_GIVES_ACCESS})"
)
_TOLERATES_GPUS: Final = f"variables.tolerations.exists(o, o.?key.orValue('') == '{GPU_RESOURCE}' && {_GIVES_ACCESS})"
# GPUs, shares of a GPU under any name, and claims of dynamic resource allocation, which may be for a GPU.
_REQUESTS_GPUS: Final = " || ".join(
    (
        *(
            f"variables.pod.?{part}.orValue([]).exists(c, "
            "dyn(c).?resources.limits.orValue({}).exists(k, k.startsWith('nvidia.com/')))"
            for part in ("containers", "initContainers")
        ),
        "size(variables.pod.?resourceClaims.orValue([])) > 0",
    )
)
_PLACEMENT, _, _ISOLATION, _ = templates()
_MATCHED: Final = _PLACEMENT["spec"]["matchConstraints"]
_PODS, *_WORKLOADS = _MATCHED["resourceRules"]
_NOT_OF_A_DAEMON_SET: Final = _ISOLATION["spec"]["matchConditions"][-1]
_NEEDED: Final = ("template", "pod", "where", "tolerations")
_VARIABLES: Final = [variable for variable in _PLACEMENT["spec"]["variables"] if variable["name"] in _NEEDED]


def pod_rules() -> Iterator[Mapping[str, Any]]:
    """The two policies that need no facts about the cluster's pools, each with its bindings."""
    yield from _policy(
        BLANKET_POLICY,
        f"!{_TOLERATES_ALL}",
        "tolerates all taints, including those of GPU nodes",
        "name the taints that it needs to tolerate, one toleration with a key for each",
    )
    yield from _policy(
        RESERVED_POLICY,
        f"!{_TOLERATES_GPUS} || {_REQUESTS_GPUS}",
        f"tolerates {GPU_RESOURCE} without a GPU request",
        f"remove the toleration, or request {GPU_RESOURCE} in the limits of a container",
    )


def _policy(name: str, expression: str, what: str, remedy: str) -> Iterator[Mapping[str, Any]]:
    yield {
        "apiVersion": _PLACEMENT["apiVersion"],
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _MATCHED,
            "matchConditions": [_NOT_OF_A_DAEMON_SET],
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
    for action, rules in (("Deny", [_PODS]), ("Warn", _WORKLOADS)):
        yield {
            "apiVersion": _PLACEMENT["apiVersion"],
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": f"{action.lower()}.{name}"},
            "spec": {"policyName": name, "validationActions": [action], "matchResources": {"resourceRules": rules}},
        }


def of_stack(path: Path) -> Iterator[Mapping[str, Any]]:
    """The policies on placement and sizes for the pools that a stack file describes.

    Raises:
        SettingsError: the file is not a valid stack.
    """
    settings = from_stack_file(path)
    cloud = load_cloud(settings.cloud)
    for manifest in manifests(
        settings.gpu_pools,
        adds_gpu_toleration=cloud.adds_gpu_toleration,
        ends_running_pods=cloud.ends_running_pods,
    ):
        yield manifest.policy
        yield manifest.binding


def main(arguments: list[str]) -> int:
    """Print the manifests; the exit code is 1 for an invalid stack file."""
    try:
        documents = [*pod_rules(), *(manifest for name in arguments[:1] for manifest in of_stack(Path(name)))]
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    # JSON drops shared objects, which YAML would write as anchors; readers expect no anchors in a manifest.
    plain = [json.loads(json.dumps(document)) for document in documents]
    sys.stdout.write(yaml.safe_dump_all(plain, sort_keys=False, width=4096))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
