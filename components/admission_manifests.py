"""The gate's rules on pods for a cluster that this program does not manage: manifests for ``kubectl apply``.

``python -m components.admission_manifests [Pulumi.<stack>.yaml]`` prints ValidatingAdmissionPolicies that refuse pods

- that tolerate all taints (the gate's ``no-blanket-toleration``) or name their node, and
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
from typing import Any

import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import manifests
from components.settings.fields.problems import SettingsError
from components.settings.read import from_stack_file
from components.user_admission import pod_rules


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
