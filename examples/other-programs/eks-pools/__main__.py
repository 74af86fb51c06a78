"""The program of an EKS cluster with Karpenter, and on it GPU pools of this project: its name is an output."""

import runpy
import sys

sys.path.append("../../..")  # this repository
from components.gpu_pools import GpuPools, GpuPoolsArgs

theirs = runpy.run_path("../eks-company/__main__.py")
existing = {"name": theirs["cluster"].name, "nodeClass": theirs["node_class"].metadata["name"]}
pools = [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}]
place = {"cloud": "eks", "region": "us-west-2", "zones": ["us-west-2a", "us-west-2b"]}
GpuPools("gpu", GpuPoolsArgs.of({**place, "existingCluster": existing, "gpuPools": pools}))
