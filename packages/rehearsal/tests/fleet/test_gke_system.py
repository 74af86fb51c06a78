"""GKE's own pods and rules in a real API server: they grow with the cluster, and strangers get no role."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.fleet.facts import ADMIN
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, eventually, pod, tools
from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet import KarpenterFleet
from rehearsal.providers import admission_file
from rehearsal.providers.gke.system import system_objects

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


@pytest.mark.rehearsal
def test_gke_s_own_pods_grow_with_the_cluster_and_strangers_get_no_role(tmp_path: Path) -> None:
    with ControlPlane(tmp_path, tools=tools(), admission=admission_file(["gcp"])) as plane:
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
        _critical_pods(plane.api)
        fleet.close()


def _critical_pods(api: Api) -> None:
    """They run where a quota allows them: in GKE's own namespaces, and where a user adds one."""
    critical = pod("critical", priorityClassName="system-node-critical")
    for namespace in ("kube-system", "gke-managed-system"):
        api.create(f"/api/v1/namespaces/{namespace}/pods", critical)
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}})
    path = "/api/v1/namespaces/gpu-operator"
    eventually("the namespace has its account", lambda: api.find(f"{path}/serviceaccounts/default"))
    with pytest.raises(ApiError) as refused:
        api.create(f"{path}/pods", critical)
    words = "insufficient quota to match these scopes"
    scope = "[{PriorityClass In [system-node-critical system-cluster-critical]}]"
    assert f"{words}: {scope}" in str(refused.value)
    api.create(f"{path}/pods", pod("plain"))
    quota = api.get("/api/v1/namespaces/kube-system/resourcequotas/gcp-critical-pods")
    api.create(f"{path}/resourcequotas", {**quota, "metadata": {"name": "gcp-critical-pods"}})

    def admitted() -> bool:
        try:
            return bool(api.create(f"{path}/pods", critical))
        except ApiError:
            return False

    eventually("the quota counts", admitted)


@pytest.mark.parametrize(
    ("plugins", "cloud"), [(["gcp"], "gke"), (["kubernetes", "gcp"], "gke"), (["aws"], None), ([], None)]
)
def test_only_gke_refuses_critical_pods(plugins: list[str], cloud: str | None) -> None:
    file = admission_file(plugins)
    assert (file and file.parent.name) == cloud
