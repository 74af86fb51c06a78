"""A cluster goes with everything in it, and the next one at its place is empty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.fleet.facts import ADMIN
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, daemon_set, eventually, gpu_group, tools
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet import FleetError, KarpenterFleet
from rehearsal.simulation import makers_rights

pytestmark = pytest.mark.rehearsal


def may_write(api: Api) -> bool:
    asked = {"verb": "create", "resource": "configmaps", "namespace": "kube-system"}
    group = "authorization.k8s.io/v1"
    review = {"apiVersion": group, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked}}
    return bool(api.create(f"/apis/{group}/selfsubjectaccessreviews", review)["status"]["allowed"])


def test_a_deleted_cluster_leaves_the_next_one_empty(tmp_path: Path) -> None:
    nobodys = makers_rights(everything=False)
    arguments: dict[str, Any] = {"version": "1.34.4", "region": "us-central1", "zones": ZONES}
    with ControlPlane(tmp_path, tools=tools()) as plane:
        fleet = KarpenterFleet(plane, tmp_path, tools())
        endpoint = fleet.create_cluster(CLUSTER, system_objects=[daemon_set("agent")], **arguments)
        maker = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))
        eventually("its maker may do everything", lambda: may_write(maker))
        fleet.apply_group(ADMIN)
        fleet.apply_group(gpu_group("t4"))
        fleet.settle()
        fleet.delete_cluster(CLUSTER)
        assert not plane.api.ready()
        assert plane.processes.pids == {}
        assert fleet.create_cluster("next", system_objects=[nobodys], **arguments) == endpoint
        maker = Api(Kubeconfig.parse(plane.kubeconfig_for("cluster-user").read_text()))
        eventually("its maker, whom the cloud gave no right, may do nothing", lambda: not may_write(maker))
        assert plane.api.list("/api/v1/nodes") == []
        assert plane.api.list("/apis/apps/v1/daemonsets") == []
        fleet.delete_cluster("next")
        bad = {"apiVersion": "apps/v1", "kind": "Unheard", "metadata": {"name": "x"}}
        with pytest.raises(FleetError, match=r"system object Unheard x: .*no matches for kind 'Unheard'"):
            fleet.create_cluster("third", system_objects=[bad], **arguments)
        fleet.close()
