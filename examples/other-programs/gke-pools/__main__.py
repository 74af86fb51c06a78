"""A plain GKE cluster, and on it GPU pools of this project: the cluster's own name is an output."""

import sys

import pulumi_gcp as gcp

sys.path.append("../../..")  # this repository
from components.gpu_pools import GpuPools, GpuPoolsArgs

ZONE = "europe-west4-a"
cluster = gcp.container.Cluster("ml", location=ZONE, initial_node_count=1, deletion_protection=False)
pools = [{"name": "l4", "gpu": "nvidia-l4", "capacity": "spot", "maxNodes": 2}]
place = {"cloud": "gke", "region": "europe-west4", "zones": [ZONE]}
GpuPools("gpu", GpuPoolsArgs.of({**place, "existingCluster": {"name": cluster.name}, "gpuPools": pools}))
