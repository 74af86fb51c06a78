"""What each part of ``workloads`` gets: its section is in the settings of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.cluster import Cluster
from components.settings.workloads import Workloads


@dataclass(frozen=True, kw_only=True)
class WorkloadArgs:
    """A part of the ``workloads`` of ``cluster``, which the stack file has.

    ``namespaces`` are those that the program declares for users' pods, by name. Tools wait for ``after``: the admin
    pool, with the default StorageClass.
    """

    cluster: Cluster
    namespaces: Mapping[str, pulumi.Resource] = field(default_factory=dict)
    after: tuple[pulumi.Resource, ...] = ()

    @property
    def workloads(self) -> Workloads:
        """The section of the stack file."""
        return self.cluster.settings.workloads
