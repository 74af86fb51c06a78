"""Patches of objects of others, by the simulated Kubernetes provider against a real API server."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.kubernetes_cluster import Resource
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.kubernetes import SimulatedKubernetes

pytestmark = pytest.mark.rehearsal


def test_a_patch_shares_what_another_has_set(provider: SimulatedKubernetes, control_plane: ControlPlane) -> None:
    api = control_plane.api
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "shared-node", "labels": {"a": "1"}}}
    api.create("/api/v1/nodes", node)
    patch = Resource(provider, "kubernetes:core/v1:NodePatch")
    patch.create({"kind": "Node", "metadata": {"name": "shared-node", "labels": {"a": "1", "b": "2"}}})
    assert api.get("/api/v1/nodes/shared-node")["metadata"]["labels"] == {"a": "1", "b": "2"}
    patch.delete()
    live = api.get("/api/v1/nodes/shared-node")["metadata"]
    assert live["labels"] == {"a": "1"}
    patch.delete()
    api.delete("/api/v1/nodes/shared-node")
    patch.delete()


def test_a_patch_of_taints_loses_them_to_the_next(provider: SimulatedKubernetes, control_plane: ControlPlane) -> None:
    """The API has a node's taints as one list with one owner, so the program patches no taints."""
    api, path, ours = control_plane.api, "/api/v1/nodes/tainted", {"key": "ours", "effect": "NoSchedule"}
    api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "tainted"}})
    patch = Resource(provider, "kubernetes:core/v1:NodePatch")
    force = {"pulumi.com/patchForce": "true"}
    patch.create({"kind": "Node", "metadata": {"name": "tainted", "annotations": force}, "spec": {"taints": [ours]}})
    api.merge(path, {"spec": {"unschedulable": True, "taints": [ours, {"key": "other", "effect": "NoSchedule"}]}})
    patch.delete()
    assert "ours" in {taint["key"] for taint in api.get(path)["spec"]["taints"]}
    api.delete(path)


def test_a_patch_makes_a_namespace_deletes_none(provider: SimulatedKubernetes, control_plane: ControlPlane) -> None:
    patch = Resource(provider, "kubernetes:core/v1:NamespacePatch")
    patch.create({"kind": "Namespace", "metadata": {"name": "perhaps-there"}})
    uid = control_plane.api.get("/api/v1/namespaces/perhaps-there")["metadata"]["uid"]
    patch.delete()
    other = Resource(provider, "kubernetes:core/v1:NamespacePatch")
    other.create({"kind": "Namespace", "metadata": {"name": "perhaps-there"}})
    assert control_plane.api.get("/api/v1/namespaces/perhaps-there")["metadata"]["uid"] == uid
