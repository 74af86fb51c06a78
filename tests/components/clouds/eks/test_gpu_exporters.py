"""What measures GPUs gets to see them on every image."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from components.clouds.base import GpuDaemon, load_cloud
from components.settings import from_stack_file
from facts.concepts.pool import Image, Pool
from tests.stacks import ROOT

(POOL, *_) = from_stack_file(ROOT / "examples" / "eks-t4.yaml").gpu_pools


def exporters(*images: Image) -> dict[Image, GpuDaemon]:
    pools: list[Pool] = [replace(POOL, name=image, image=image) for image in images]
    daemons = load_cloud("eks").gpu_exporters(pools)
    return {pool.image: daemon for daemon in daemons for pool in daemon.pools}


def rights(daemon: GpuDaemon) -> dict[str, Any]:
    (container,) = daemon.pod["containers"]
    return container["securityContext"]


def test_the_exporter_has_what_bottlerocket_shows_its_gpus_for() -> None:
    """https://github.com/bottlerocket-os/bottlerocket/issues/3992"""
    both = exporters("al2023", "bottlerocket")
    assert both["al2023"].name != both["bottlerocket"].name
    assert rights(both["bottlerocket"])["capabilities"] == {"drop": ["ALL"], "add": ["SYS_ADMIN"]}
    # The API server takes no pod that has the capability and may not gain any.
    assert "allowPrivilegeEscalation" not in rights(both["bottlerocket"])
    assert rights(both["al2023"]) == {
        "runAsUser": 0,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_stack_of_one_image_has_one_exporter() -> None:
    for image in ("al2023", "bottlerocket"):
        assert exporters(image).keys() == {image}
