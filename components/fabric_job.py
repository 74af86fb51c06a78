"""The output ``fabricTest``: a job per pool with a fabric that measures NCCL's all-reduce between two of its nodes."""

from __future__ import annotations

from typing import Final

import yaml

from components.clouds.base import Cloud
from components.clouds.names import shortened
from components.published_offer import daemons_of, offer
from components.settings import Settings
from facts import catalog
from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.jobs.job import LONGEST_NAME, JobRequest, manifests
from facts.jobs.plan import place, training_job

# Bus bandwidth as nccl-tests defines it: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md. Those
# programs need MPI and ssh between pods; PyTorch calls the same NCCL and is started as users' jobs are.
_ALL_REDUCE: Final = """\
import os, time, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
ranks, data = dist.get_world_size(), torch.ones(2**28, device="cuda")
dist.all_reduce(data)
assert bool((data == ranks).all()), "the sum is wrong"
data.zero_()
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(20):
    dist.all_reduce(data)
torch.cuda.synchronize()
rate = 20 * data.nbytes / (time.perf_counter() - start) / 1e9
if dist.get_rank() == 0:
    print(f"all-reduce of 1 GiB over {ranks} GPUs: {rate * 2 * (ranks - 1) / ranks:.1f} GB/s bus bandwidth", flush=True)
dist.destroy_process_group()
"""


def fabric_tests(settings: Settings, cloud: Cloud) -> dict[str, dict[str, str]]:
    """The output by its name: pool → the YAML of the job that ``gpu submit --workers 2`` creates there.

    Of pools with two nodes or more; nothing without any. ``NCCL_NET`` names the one network that NCCL may use, so it
    fails where it would use TCP: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net
    """
    known, tests = catalog.of(settings.cloud), {}
    for pool in (each for each in settings.gpu_pools if each.nodes.fabric is not None and each.scaling.max_nodes > 1):
        request = JobRequest(
            name=shortened(f"fabric-test-{pool.name}", LONGEST_NAME),
            namespace=next(iter(pool.nodes.teams), DEFAULT_NAMESPACE),
            gpus=pool.gpus.per_node,
            workers=2,
            retries=0,
            command=("torchrun", "--no-python", "python", "-c", _ALL_REDUCE),
            env={"NCCL_DEBUG": "INFO", "NCCL_NET": known.nodes.fabric_network},
        )
        alone = offer(settings, [pool], daemons_of(cloud, settings, [pool]), {})
        job = training_job(request, place(alone, request), known.nodes.fabric_image, alone)
        tests[pool.name] = yaml.safe_dump_all(manifests(job), sort_keys=False)
    return {"fabricTest": tests} if tests else {}
