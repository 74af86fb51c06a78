"""AWS's own chips, Inferentia and Trainium: the device plugin that offers them to pods as ``aws.amazon.com/neuron``.

The node image AL2023 for Neuron has the driver and no plugin. AWS's driver for claims (DRA) does not support pools that
Karpenter scales: https://docs.aws.amazon.com/eks/latest/userguide/device-management-neuron.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from components.clouds.base import GpuDaemon
from components.clouds.device_plugin import plugin_of_maker
from facts.concepts.kubernetes import RESOURCES
from facts.concepts.pool import Pool

APP: Final = "neuron-device-plugin"

# https://github.com/aws-neuron/neuron-helm-charts/blob/main/charts/neuron-helm-chart/values.yaml (chart 1.10.0)
IMAGE: Final = "public.ecr.aws/neuron/neuron-device-plugin:2.32.0.0"

_RIGHTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "update", "patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch", "update"]},
    {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get", "list"]},
)
"""As the chart has them (``device-plugin-rbac.yaml``)."""


def device_plugin(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """The DaemonSet on the nodes of those of these pools that have chips; none without any."""
    file = Path(__file__).with_name("neuron-plugin.yaml")
    return plugin_of_maker(pools, RESOURCES["aws"], file, app=APP, image=IMAGE, rules=_RIGHTS)
