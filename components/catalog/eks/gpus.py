"""GPUs on EKS: the value of the label that an autoscaler tells GPU nodes by, and the quota that limits them.

- The label ``k8s.amazonaws.com/accelerator`` marks a GPU node for the cluster autoscaler, which waits for its GPUs
  instead of adding more nodes: https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws.
  Its value is free; these are NVIDIA's names as other clouds write them.
- Quotas count vCPUs of a group of families, not GPUs:
  https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
- Withdrawn: no machine with the GPU is in Amazon's own listing any more (``DescribeInstanceTypes`` of all regions as
  kept in https://github.com/getmoto/moto/blob/5.2.5/moto/ec2/resources/instance_types.json.gz). GPUs that only ARM
  machines have (T4G) and parts of a GPU (g6f, gr6f) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from components.catalog.model import Accelerator, WithdrawnGpu

LABEL: Final = "k8s.amazonaws.com/accelerator"

_G: Final = "Running On-Demand G and VT instances"
_P: Final = "Running On-Demand P instances"

ACCELERATORS: Final[Mapping[str, Accelerator]] = {
    accelerator.gpu: accelerator
    for accelerator in (
        Accelerator(gpu="nvidia-t4", name="nvidia-tesla-t4", quota=_G),
        Accelerator(gpu="nvidia-a10g", name="nvidia-a10g", quota=_G),
        Accelerator(gpu="nvidia-l4", name="nvidia-l4", quota=_G),
        Accelerator(gpu="nvidia-l40s", name="nvidia-l40s", quota=_G),
        Accelerator(gpu="nvidia-rtx-pro-4500", name="nvidia-rtx-pro-4500", quota=_G),
        Accelerator(gpu="nvidia-rtx-pro-6000", name="nvidia-rtx-pro-6000", quota=_G),
        Accelerator(gpu="nvidia-v100-32gb", name="nvidia-tesla-v100", quota=_P),
        Accelerator(gpu="nvidia-a100-40gb", name="nvidia-tesla-a100", quota=_P),
        Accelerator(gpu="nvidia-a100-80gb", name="nvidia-a100-80gb", quota=_P),
        Accelerator(gpu="nvidia-h100-80gb", name="nvidia-h100-80gb", quota=_P),
        Accelerator(gpu="nvidia-h200-141gb", name="nvidia-h200-141gb", quota=_P),
        Accelerator(gpu="nvidia-b200", name="nvidia-b200", quota=_P),
        Accelerator(gpu="nvidia-b300", name="nvidia-b300", quota=_P),
    )
}

_LISTING: Final = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"

WITHDRAWN: Final[Mapping[str, WithdrawnGpu]] = {
    "nvidia-k80": WithdrawnGpu(
        name="nvidia-k80",
        reason=f"Amazon no longer lists the P2 machines that had the K80 ({_LISTING})",
        successor="nvidia-t4",
    ),
    "nvidia-m60": WithdrawnGpu(
        name="nvidia-m60",
        reason=f"Amazon no longer lists the G3 machines that had the M60 ({_LISTING})",
        successor="nvidia-t4",
    ),
    "nvidia-v100": WithdrawnGpu(
        name="nvidia-v100",
        reason=f"Amazon no longer lists the P3 machines that had the V100 with 16 GB ({_LISTING})",
        successor="nvidia-v100-32gb",
    ),
}
