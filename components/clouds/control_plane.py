"""What every cloud's cluster tells of its control plane, whatever it was declared with."""

from __future__ import annotations

import pulumi

from components.resources import CustomResource


class ControlPlaneOutputs:
    """Half of a ``CloudCluster``; whoever inherits it sets the three attributes."""

    _resource: CustomResource
    _kubeconfig: pulumi.Output[str]
    _authority: pulumi.Output[str]

    @property
    def resource(self) -> pulumi.Resource:
        """The cluster's own resource."""
        return self._resource

    @property
    def name(self) -> pulumi.Output[str]:
        """The name, known once the cluster exists."""
        return self._resource.output("name")

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """Secret: it says where the control plane is, although it holds no credential."""
        return self._kubeconfig

    @property
    def authority(self) -> pulumi.Output[str]:
        """The CA that the control plane was made with."""
        return self._authority
