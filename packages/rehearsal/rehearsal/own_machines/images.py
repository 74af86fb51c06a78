"""Images that pods of a stack name and that are not to be had without a registry: all are one that waits."""

from __future__ import annotations

import json
import re
from typing import Final

from components.clouds.kubeadm.add_ons import manifests

_IMAGE: Final = re.compile(r"\bimage: ([\w./-]+:[\w.-]+)")


def named() -> list[str]:
    """Of the parts that the program adds to every cluster of own machines, but for the pods' network."""
    pods = json.dumps(manifests("local-path"))
    return sorted({*re.findall(r'"image": "([^"]+)"', pods), *_IMAGE.findall(pods)})
