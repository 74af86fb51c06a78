"""Images on nodes with Arm CPUs: a container whose image is for x86 alone does not start there.

containerd looks for a manifest of the node's platform (https://github.com/containerd/containerd/pull/2410).
``arm64_images.yaml`` lists images that have one; of any other it is not known, so it counts as one for x86.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object, pod_path, warn
from rehearsal.cluster.images import Image
from rehearsal.simulation import PROGRAM_FAILED

_ARCH: Final = "kubernetes.io/arch"


class ImagePlatforms:
    """Takes back the start of pods whose image does not run on their node."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._noted: set[str] = set()
        self._arm: dict[str, bool] = {}

    def note(self, pod: Object) -> None:
        """Judge a pod that runs; one that is to end a second time, because kwok ends it although it runs no longer."""
        uid, lacking = pod["metadata"]["uid"], _for_x86_alone(pod["spec"])
        if not lacking or (pod.get("status") or {}).get("phase") not in ("Running", "Succeeded"):
            return
        if not self._is_arm(pod["spec"]["nodeName"]):
            return
        because = f'failed to pull image "{lacking}": no match for platform linux/arm64 in manifest: not found'
        if uid not in self._noted:
            self._noted.add(uid)
            warn(self._api, pod, PROGRAM_FAILED, because)
        waiting: list[dict[str, Any]] = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"waiting": {"reason": "ErrImagePull", "message": because}},
            }
            for each in pod["spec"]["containers"]
        ]
        ready = [{"type": name, "status": "False"} for name in ("ContainersReady", "Ready")]
        # A real pod waits for its image for ever. One that is to end fails, so that no check counts it as one that ran.
        phase = "Pending" if pod["spec"].get("restartPolicy", "Always") == "Always" else "Failed"
        status = {"phase": phase, "conditions": ready, "containerStatuses": waiting}
        self._api.merge(f"{pod_path(pod)}/status", {"status": status})

    def _is_arm(self, node: str) -> bool:
        """Asked once for each node, whose CPUs stay."""
        if node not in self._arm:
            machine = self._api.find(resource_path("v1", "nodes", node))
            if machine is None:
                return False
            self._arm[node] = (machine["metadata"].get("labels") or {}).get(_ARCH) == "arm64"
        return self._arm[node]


def _for_x86_alone(spec: Any) -> str | None:
    containers = [*spec["containers"], *(spec.get("initContainers") or ())]
    return next((each["image"] for each in containers if not has_arm64(each["image"])), None)


def has_arm64(image: str) -> bool:
    """Whether an image is known to have a manifest for Arm CPUs."""
    repository = Image.parse(image).repository.removeprefix("docker.io/")
    repository = repository if "/" in repository else f"library/{repository}"
    return any(repository == known or repository.startswith(f"{known}/") for known in _known())


@cache
def _known() -> tuple[str, ...]:
    return tuple(yaml.safe_load(Path(__file__).with_name("arm64_images.yaml").read_text("utf-8")))
