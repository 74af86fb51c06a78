"""GKE's own pods and rules in a real API server: they grow with the cluster, and strangers get no role."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.fleet.facts import ADMIN
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, eventually, tools
from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet import KarpenterFleet
from rehearsal.providers.gke.system import system_objects

pytestmark = pytest.mark.rehearsal

_RBAC = "rbac.authorization.k8s.io"
_BINDINGS = f"/apis/{_RBAC}/v1/namespaces/default/rolebindings"
SWITCHES = {"enableInsecureBindingSystemAuthenticated": False, "enableInsecureBindingSystemUnauthenticated": False}


def replicas(api: Api) -> dict[str, int]:
    path = "/apis/apps/v1/namespaces/kube-system/deployments"
    return {name: api.get(f"{path}/{name}")["spec"]["replicas"] for name in ("kube-dns", "konnectivity-agent")}


def refusal(api: Api, group: str) -> str:
    """Why a role may not be bound to the group."""
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
    }
    try:
        api.submit(_BINDINGS, binding, dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def test_gke_s_own_pods_grow_with_the_cluster_and_strangers_get_no_role(tmp_path: Path) -> None:
    with ControlPlane(tmp_path, tools=tools()) as plane:
        fleet = KarpenterFleet(plane, tmp_path, tools())
        objects = system_objects({"rbacBindingConfig": SWITCHES})
        fleet.create_cluster(CLUSTER, version="1.34.4", region="us-central1", zones=ZONES, system_objects=objects)
        fleet.apply_group(ADMIN)
        eventually("one each", lambda: replicas(plane.api) == {"kube-dns": 1, "konnectivity-agent": 1})
        for name in ("one", "two"):
            plane.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        eventually("more", lambda: replicas(plane.api) == {"kube-dns": 2, "konnectivity-agent": 3})
        plane.api.delete("/api/v1/nodes/one")
        eventually("fewer again", lambda: replicas(plane.api) == {"kube-dns": 2, "konnectivity-agent": 2})
        maker = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))
        refused = eventually("the rule is in force", lambda: refusal(maker, "system:authenticated"))
        assert "system:authenticated: the cluster forbids it (rbacBindingConfig)" in refused
        assert "system:anonymous" in refusal(maker, "system:anonymous")
        assert "forbids it" not in refusal(maker, "system:serviceaccounts")
        fleet.close()
