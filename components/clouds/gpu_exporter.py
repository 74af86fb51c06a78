"""NVIDIA's DCGM exporter: GPU metrics for Prometheus.

Image, variables and rights: https://github.com/NVIDIA/dcgm-exporter/blob/main/deployment/values.yaml
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from components.clouds.base import GpuDaemon
from components.clouds.device_plugin import with_all_gpus
from components.resources import documents
from facts.concepts.parts import Image
from facts.concepts.pool import Pool

APP: Final = "dcgm-exporter"
PORT: Final = 9400

# https://github.com/NVIDIA/dcgm-exporter/releases
IMAGE: Final = "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"

_HERE: Final = Path(__file__).parent
_FILE: Final = "counters.csv"
_DRIVER: Final = "/usr/local/nvidia"
_WHOLE, _MIG = "whole", "mig"


def gpu_exporter(
    pools: Sequence[Pool], *, driver: str | None = None, strict: Collection[Image] = (), by_mounts: bool = False
) -> list[GpuDaemon]:
    """A DaemonSet for NVIDIA's whole GPUs, one for slices of them, and one for each ``strict`` image.

    ``driver`` is the driver's path on the host, for clouds whose container runtime does not mount it. A strict image
    shows GPUs to a container that did not request them only if it has CAP_SYS_ADMIN. ``by_mounts``: see
    ``device_plugin``.
    """
    variants: dict[str, list[Pool]] = defaultdict(list)
    for pool in (each for each in pools if each.gpus.of_nvidia):
        variants[
            _MIG if pool.gpus.mig is not None else pool.nodes.image if pool.nodes.image in strict else _WHOLE
        ].append(pool)
    return [
        GpuDaemon(
            app=APP,
            variant=variant,
            pod=_pod(
                f"{APP}-{variant}",
                driver,
                mig=variant == _MIG,
                admin=variant != _WHOLE,
                by_mounts=by_mounts and variant not in strict,
            ),
            pools=tuple(members),
            files={_FILE: _counters("gpu") + (_counters("gpu-slice") if variant == _MIG else "")},
        )
        for variant, members in sorted(variants.items())
    ]


def _counters(of: str) -> str:
    """The lines of a file without its comments."""
    lines = (_HERE / f"{of}-counters.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("#"))


def _pod(config_map: str, driver: str | None, *, mig: bool, admin: bool, by_mounts: bool) -> Mapping[str, Any]:
    (pod,) = documents(
        _HERE / "gpu-exporter.yaml",
        app=APP,
        port=PORT,
        listen=f":{PORT}",
        image=IMAGE,
        config=config_map,
        file=_FILE,
        rights=_rights(driver, admin=admin),
    )
    container = pod["containers"][0]
    if driver is None:
        container["env"] += [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
            *([{"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"}] if mig else []),
        ]
    else:
        container["env"].append({"name": "LD_LIBRARY_PATH", "value": f"{_DRIVER}/lib64"})
        container["volumeMounts"].append({"name": "driver", "mountPath": _DRIVER, "readOnly": True})
        pod["volumes"].append({"name": "driver", "hostPath": {"path": driver, "type": "Directory"}})
    return with_all_gpus(pod) if by_mounts else pod


def _rights(driver: str | None, *, admin: bool) -> dict[str, Any]:
    """Where the runtime gives a container no devices that it did not request, it must be privileged to see them."""
    if driver is not None:
        return {"privileged": True}
    if admin:  # So are a MIG device's capability files.
        return {"runAsUser": 0, "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}
    return {"runAsUser": 0, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
