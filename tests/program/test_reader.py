"""The role ``reader`` reads every kind of object that any program declares, and nothing else: no Secret, and no
subresource, because to read some of them is to run commands.

``packages/rehearsal/tests/checks/test_reader.py`` asks a real API server.
"""

from __future__ import annotations

from typing import Any

import pytest

from components.access import CLUSTER_RESOURCE_VIEWER, READER
from tests.program import FILES
from tests.program.test_existing import plural
from tests.program.test_existing import recording as existing
from tests.program.test_own_machines import recording as own_machines
from tests.recorder import Registration
from tests.stacks import CONTROL_PLANES, run_program

LOAD_BALANCER = {"loadBalancerRange": "10.99.0.200-10.99.0.220"}
# A refresh leaves these out (gpucluster/commands/account.py): Helm has each release in a Secret, and lists all Secrets
# of the namespace to find it.
IN_SECRETS = {"kubernetes:core/v1:Secret", "kubernetes:helm.sh/v3:Release"}
# The Kubernetes provider lists these to tell whether a Deployment, DaemonSet or Service is ready:
# https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/await/deployment.go
# https://github.com/pulumi/pulumi-kubernetes/blob/v4.34.2/provider/pkg/await/service.go
AWAITED = {("", "pods"), ("", "endpoints"), ("", "persistentvolumeclaims"), ("apps", "replicasets")}


# With these a principal reads passwords and tokens, or runs commands in containers.
POWERFUL = {
    *("secrets", "serviceaccounts/token", "nodes/proxy", "services/proxy"),
    *(f"pods/{part}" for part in ("exec", "attach", "portforward", "proxy", "ephemeralcontainers")),
}
# Name and namespace of a role → which of these it has.
HAVE_POWER = {
    # The rights of AWS's chart: docs/accelerators.md.
    ("neuron-device-plugin", ""): {"nodes/proxy"},
    # For the user of the output `kubeconfig`, who opens the tool.
    ("gpucluster:users", "dashboard"): {"pods/portforward"},
}


def resources(role: dict[str, Any]) -> set[tuple[str, str]]:
    """API group and plural of all that the rules name."""
    return {(group, name) for rule in role["rules"] for group in rule["apiGroups"] for name in rule["resources"]}


def objects() -> list[Registration]:
    """All objects in a cluster that the program declares for any stack file here."""
    own = (own_machines(), own_machines(network=LOAD_BALANCER), own_machines(workloads={"dashboard": {}}))
    programs = [*map(run_program, (*FILES, CONTROL_PLANES)), *own, existing()]
    return [each for one in programs for each in one.resources if each.type.startswith("kubernetes:")]


def resource(type_token: str) -> tuple[str, str]:
    """``kubernetes:core/v1:NamespacePatch`` → ``("", "namespaces")``."""
    _, group_version, kind = type_token.split(":")
    return group_version.rpartition("/")[0].removeprefix("core"), plural(kind)


def test_the_reader_gets_verbs_and_kinds_by_name_and_no_secret_or_subresource() -> None:
    assert {verb for rule in READER["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert {key for rule in READER["rules"] for key in rule} == {"apiGroups", "resources", "verbs"}
    for group, name in resources(READER):
        assert name.isalnum(), "no '*' and no subresource"
        assert "*" not in group
        assert name != "secrets"


@pytest.mark.slow
def test_the_reader_reads_every_kind_that_a_program_declares_and_what_is_awaited() -> None:
    types = {each.type for each in objects()}
    assert types > IN_SECRETS
    needed = {resource(each) for each in types - IN_SECRETS} | AWAITED
    assert resources(READER) == needed
    assert ("", "nodes") in resources(CLUSTER_RESOURCE_VIEWER), "every role but admin has it"


@pytest.mark.slow
def test_no_other_role_has_everything_or_more_power_than_is_listed() -> None:
    power: dict[tuple[str, str], set[str]] = {}
    for role in (each.inputs for each in objects() if each.type.endswith((":Role", ":ClusterRole"))):
        name = (role["metadata"]["name"], role["metadata"].get("namespace", ""))
        words = {word for rule in role["rules"] for key in ("apiGroups", "resources", "verbs") for word in rule[key]}
        assert not [word for word in words if "*" in word], name
        assert not words & {"impersonate", "escalate", "bind"}, name
        if words & POWERFUL:
            power.setdefault(name, set()).update(words & POWERFUL)
    assert power == HAVE_POWER
