"""Own machines: what their stack file becomes."""

from __future__ import annotations

from components.settings.pools import fixed
from components.settings.pools.own import OwnMachines, in_common
from components.settings.sections.own_machines import OwnStackFile
from components.settings.sections.stack_file import StackFile
from facts.concepts.pool import ADMIN_POOL_NAME, admin_pool_labels


def resolved(file: OwnStackFile) -> tuple[StackFile, OwnMachines]:
    """What the file has in common with a cloud's, and its machines."""
    counts = [len(pool.machines) for pool in file.gpu_pools]
    gpu_pools = fixed.gpu_pools(file.gpu_pools, counts, [pool.drivers for pool in file.gpu_pools])
    cpu_pools = tuple(fixed.cpu_pool(index, pool, len(pool.machines)) for index, pool in enumerate(file.cpu_pools))
    of_gpus = dict(zip((pool.name for pool in gpu_pools), file.gpu_pools, strict=True))
    of_cpus = dict(zip((pool.name for pool in cpu_pools), file.cpu_pools, strict=True))
    own = OwnMachines(
        admin_pool=fixed.fixed_pool(ADMIN_POOL_NAME, "admin", len(file.admin_pool.machines), admin_pool_labels()),
        gpu_pools=gpu_pools,
        cpu_pools=cpu_pools,
        file=file,
        machines={
            ADMIN_POOL_NAME: file.admin_pool.machines,
            **{name: entry.machines for name, entry in (*of_gpus.items(), *of_cpus.items())},
        },
        driver={name: entry.driver_version for name, entry in of_gpus.items() if entry.drivers == "managed"},
        kernel_modules={name: entry.kernel_modules for name, entry in of_gpus.items() if entry.kernel_modules},
    )
    ranges = {"podCidr": file.network.pod_cidr, "serviceCidr": file.network.service_cidr}
    return in_common(file, version=file.kubernetes.version, network=ranges), own
