"""What `sky launch --gpus T4:1 --infra k8s` does until a pod runs, by SkyPilot's own functions; run by its Python.

Prints JSON: ``gpus``, those that it sees on nodes; ``feasible``, what it would launch; ``cluster``, its name on the
cluster; ``error``, why no pod of it runs. The whole of `sky launch` also logs in to the pod, where no program runs in a
rehearsal.
"""
# pyright: reportMissingImports=false, reportMissingParameterType=false

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import sky
from sky.backends import backend_utils
from sky.catalog import kubernetes_catalog
from sky.provision import provisioner
from sky.utils import resources_utils


def main(name: str, logs: str) -> dict[str, Any]:
    cloud = sky.clouds.Kubernetes()
    answer: dict[str, Any] = {"error": None}
    answer["gpus"], _, _ = kubernetes_catalog.list_accelerators_realtime(True, None, None, None)
    requested = sky.Resources(cloud=cloud, accelerators="T4:1", cpus="2", memory="8")
    feasible = cloud.get_feasible_launchable_resources(requested, num_nodes=1).resources_list
    answer["feasible"] = [each.instance_type for each in feasible]
    answer["gpus"] = sorted(answer["gpus"])
    if not feasible:
        return answer
    (region,) = cloud.regions_with_offering(feasible[0].instance_type, feasible[0].accelerators, False, None, None)
    # What it would copy into the pod.
    (wheel := Path(logs) / "skypilot.whl").touch()
    template = "kubernetes-ray.yml.j2"
    written = backend_utils.write_cluster_config(feasible[0], 1, template, name, wheel, "none", region)
    cluster = resources_utils.ClusterName(name, written["cluster_name_on_cloud"])
    answer["cluster"] = cluster.name_on_cloud
    try:
        provisioner.bulk_provision(cloud, region, None, cluster, 1, written["ray"], False, logs)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    return answer


if __name__ == "__main__":
    printed = main(*sys.argv[1:])
    sys.stdout.write(f"\n{json.dumps(printed)}\n")
