"""What people may do in the cluster, on every stack file of the project: nobody becomes the administrator by a pod.

https://kubernetes.io/docs/concepts/security/rbac-good-practices/#workload-creation
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.settings.namespaces import TOOLS
from tests.recorder import Recording, Registration
from tests.stacks import EXISTING, OWN_MACHINES, STACK_FILES, run_program, run_with, stack_name

RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
PEOPLE = ("User", "Group")
CREATES_PODS = ("edit", "admin")
LEVEL = "pod-security.kubernetes.io/enforce"

each_stack = pytest.mark.parametrize("file", [*STACK_FILES, OWN_MACHINES, EXISTING], ids=stack_name)


def recording(file: Path) -> Recording:
    """The program of a stack file; that of an existing cluster needs its kubeconfig."""
    if file != EXISTING:
        return run_program(file)
    secret = "gpucluster:kubeconfig"
    return run_with({**yaml.safe_load(file.read_text())["config"], secret: "secret"}, "existing", secrets=[secret])


def editors(program: Recording) -> dict[str, list[Registration]]:
    """Namespace (``""``: all) → bindings that let people create pods there."""
    bindings: dict[str, list[Registration]] = {}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in program.of_type(f"{RBAC}:{kind}"):
            people = [each for each in binding.inputs["subjects"] if each["kind"] in PEOPLE]
            if people and binding.inputs["roleRef"]["name"] in CREATES_PODS:
                bindings.setdefault(binding.inputs["metadata"].get("namespace", ""), []).append(binding)
    return bindings


@each_stack
def test_nobody_but_administrators_creates_pods_where_system_pods_run(file: Path) -> None:
    spaces = editors(recording(file))
    assert not [space for space in spaces if not space or space.startswith("kube-") or space in TOOLS]


@each_stack
def test_where_people_create_pods_privileged_ones_are_refused(file: Path) -> None:
    program = recording(file)
    levels = {
        each.inputs["metadata"]["name"]: each.inputs["metadata"].get("labels", {}).get(LEVEL)
        for kind in ("Namespace", "NamespacePatch")
        for each in program.of_type(f"kubernetes:core/v1:{kind}")
    }
    if file == EXISTING:  # Its owner decides.
        assert set(levels.values()) <= {None}
        return
    assert levels["default"] == "baseline"
    assert {levels[space] for space in editors(program)} <= {"baseline"}


@each_stack
def test_tools_are_in_namespaces_that_no_stack_file_may_give_to_people(file: Path) -> None:
    releases = recording(file).of_type("kubernetes:helm.sh/v3:Release")
    assert {each.inputs["namespace"] for each in releases} <= {*TOOLS, "kube-system"}
