"""The outputs of a control plane that are the same on all clouds."""

from __future__ import annotations

import pulumi

from components.clouds.base import Subject
from components.resources import CustomResource
from facts.concepts.pool import Pool


class ControlPlaneOutputs:
    """Base class of each ``CloudCluster``; subclasses set the three attributes."""

    _resource: CustomResource
    _kubeconfig: pulumi.Output[str]
    _authority: pulumi.Output[str]

    @property
    def resource(self) -> pulumi.Resource:
        """The cluster's own resource."""
        return self._resource

    @property
    def outlives_stack(self) -> bool:
        """No: it is deleted with the stack."""
        return False

    @property
    def name(self) -> pulumi.Output[str]:
        """The name, known once the cluster exists."""
        return self._resource.output("name")

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """Secret, because it contains the endpoint; it holds no credential."""
        return self._kubeconfig

    @property
    def admin_kubeconfig(self) -> pulumi.Output[str]:
        """The same: it has no credential, the program logs in to the cloud as its user."""
        return self._kubeconfig

    @property
    def user(self) -> Subject | None:
        """Nobody: the cloud's identities decide."""
        return None

    @property
    def authority(self) -> pulumi.Output[str]:
        """The CA of the control plane."""
        return self._authority

    def volume_class(self, pool: Pool) -> str | None:
        """The StorageClass for volumes of the pool's pods; ``None`` is the default one, which all its nodes attach."""
        return None
