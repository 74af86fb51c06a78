"""The output ``fabricTest``: a job per pool with a fabric that measures NCCL's all-reduce between two of its nodes."""

from __future__ import annotations

from dataclasses import replace
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

_WORKERS: Final = 2

# Bus bandwidth as nccl-tests defines it: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md. Those
# programs need MPI and ssh between pods for several nodes; PyTorch calls the same NCCL and is started as users' jobs are.
_ALL_REDUCE: Final = """\
import os, time, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
ranks = dist.get_world_size()
for mib in (1, 64, 1024):
    data = torch.ones(mib * 2**18, device="cuda")
    dist.all_reduce(data)
    assert bool((data == ranks).all()), "the sum is wrong"
    data.zero_()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    gbps = 20 * data.nbytes / (time.perf_counter() - start) / 1e9 * 2 * (ranks - 1) / ranks
    if dist.get_rank() == 0:
        print(f"all-reduce of {mib} MiB over {ranks} GPUs: {gbps:.1f} GB/s bus bandwidth", flush=True)
dist.destroy_process_group()
"""


def fabric_tests(settings: Settings, cloud: Cloud) -> dict[str, dict[str, str]]:
    """The output by its name: pool → the YAML of the job that ``gpu submit --workers 2`` creates there.

    Of pools with two nodes or more; nothing without any. ``NCCL_NET`` names the one network that NCCL may use, so the job
    fails where it would use TCP: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net
    """
    known, pools = catalog.of(settings.cloud), settings.gpu_pools
    inventory = offer(settings, pools, daemons_of(cloud, settings, pools), {})
    tests = {}
    for pool in inventory.pools:
        if pool.fabric is None or pool.max_nodes < _WORKERS:
            continue
        request = JobRequest(
            name=shortened(f"fabric-test-{pool.name}", LONGEST_NAME),
            namespace=DEFAULT_NAMESPACE,
            gpus=pool.gpus_per_node,
            workers=_WORKERS,
            retries=0,
            command=("torchrun", "--no-python", "python", "-c", _ALL_REDUCE),
            env={"NCCL_NET": known.fabric_network, "NCCL_DEBUG": "INFO"},
        )
        alone = replace(inventory, pools=(pool,))
        job = training_job(request, place(alone, request), known.fabric_image, alone)
        tests[pool.name] = yaml.safe_dump_all(manifests(job), sort_keys=False)
    return {"fabricTest": tests} if tests else {}
