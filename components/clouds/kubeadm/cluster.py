"""A cluster of own machines: one or three with the control plane, the others with or without GPUs."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any, Final

import pulumi

from components.clouds import running_jobs
from components.clouds.base import AdminObjects, CloudCluster, Subject
from components.clouds.deployed import Deployed
from components.clouds.kubeadm import add_ons, machines
from components.clouds.kubeadm.machines import MachinesContext
from components.clouds.machines_plugin import MachinesProvider, deployed_outputs
from components.settings import Settings
from components.settings.pools.own import OwnMachines
from facts.catalog import OWN_SECRETS
from facts.catalog.kubeadm.packages import DRIVER_BRANCHES, MINORS
from facts.concepts.pool import POOL_LABEL, Pool

_NAMESPACE: Final = "gpucluster"


class KubeadmCluster(CloudCluster):
    """A ``CloudCluster`` and the ``NodePools`` of its pools: nothing scales, so there is no autoscaler.

    ``kubeconfig`` is that of a ``user`` with rights in people's namespaces, unless the stack file asks for more.
    """

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        assert isinstance(settings.own, OwnMachines), "a stack on own machines has machines"
        self._own = settings.own
        # The group of the users' certificate; nobody if they have the administrator's.
        self.user = None if settings.own.file.security.admin_kubeconfig else Subject(kind="Group", name=machines.USERS)
        for text in out_of_support(settings.own, settings.day):
            pulumi.warn(text, parent)
        provider = MachinesProvider(f"{name}-machines", _login(settings.own), pulumi.ResourceOptions(parent=parent))
        options = pulumi.ResourceOptions(parent=parent, provider=provider)
        deployed = Deployed()
        self._context = MachinesContext(settings=settings, own=settings.own, options=options, deployed=deployed)
        checked = machines.preflight(self._context, f"{name}-preflight")
        self.resource = machines.control_plane(self._context, f"{name}-control-plane", checked)
        self._additional = [*machines.additional_control_planes(self._context, f"{name}-control-plane", self.resource)]
        admin = self.resource.outputs["adminKubeconfig"]
        if self._additional:
            # Objects are declared after all control planes are there, and deleted before one goes.
            admin = pulumi.Output.all(admin, *(each.urn for each in self._additional)).apply(lambda each: each[0])
        self._admin = pulumi.Output.secret(admin)
        self.running_nodes = running_jobs.running_nodes(self._admin, deployed, self._former_names)
        user = pulumi.Output.secret(self.resource.outputs["userKubeconfig"])
        self.kubeconfig = self._admin if self.user is None else user
        certificate = self.resource.outputs["caCertificate"]
        self.authority = certificate.apply(lambda pem: base64.b64encode(pem.encode()).decode())

    @property
    def name(self) -> pulumi.Output[str]:
        """The name in the stack file, known once the cluster exists."""
        return self.resource.outputs["endpoint"].apply(lambda _: self._context.settings.cluster_name)

    @property
    def admin_kubeconfig(self) -> pulumi.Output[str]:
        """The administrator's, with which the program declares objects."""
        return self._admin

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """The control plane's address and the ranges of pods and services."""
        ranges = self._own.file.network
        own = {"podCidr": ranges.pod_cidr, "serviceCidr": ranges.service_cidr}
        return {"endpoint": self.resource.outputs["endpoint"], **own}

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """The pool's machines as nodes; the admin pool is the control plane."""
        if pool.role == "admin":
            return self.resource
        cluster = (self.resource, *self._additional)
        return list(machines.workers(self._context, pool, cluster, opts))[-1]

    def _former_names(self, pool: Pool) -> Collection[str]:
        names = {each.name for each in self._own.machines[pool.name]}
        former = deployed_outputs(machines.WORKER, self._context.deployed).values()
        return [each["labels"][POOL_LABEL] for each in former if each["machine"]["name"] in names]

    def basics(self, objects: AdminObjects) -> None:
        """The pods' network, and volumes on the machines' own disks."""
        network = self._own.file.network
        if network.plugin == "flannel":
            add_ons.flannel(objects, network.pod_cidr)
        add_ons.local_path(objects)
        if network.load_balancer_range is not None:
            add_ons.load_balancer(objects, network.load_balancer_range)


def out_of_support(own: OwnMachines, day: date) -> Iterator[str]:
    """What the machines run that gets no security updates on that ``day``, a sentence each."""
    minor = ".".join(own.file.kubernetes.version.split(".")[:2])
    ends = {f"Kubernetes {minor} (kubernetes.version)": MINORS[minor]}
    ends |= {
        f"NVIDIA's driver {each} (driverVersion)": DRIVER_BRANCHES[each] for each in sorted({*own.driver.values()})
    }
    for what, ended in ends.items():
        if day > ended:
            yield f"{what} is out of support since {ended} and gets no security updates: write the next version"


def _login(own: OwnMachines) -> dict[str, Any]:
    """The inputs of the plugin's provider; lists and mappings as JSON, as every provider's are."""
    ssh, key = own.file.ssh, pulumi.Config(_NAMESPACE).get_secret(OWN_SECRETS["kubeadm"])
    inputs: dict[str, Any] = {"user": ssh.user, "port": ssh.port}
    if key is not None:
        inputs["privateKey"] = key
    if ssh.jump_host is not None:
        jump = ssh.jump_host
        inputs["jumpHost"] = {
            "address": jump.address,
            "hostKey": jump.host_key,
            "user": jump.user or ssh.user,
            "port": jump.port,
        }
    if len(own.control_planes) > 1:
        inputs["controlPlanes"] = [machines.machine_input(each) for each in own.control_planes]
    if ssh.skip_unreachable:
        inputs["skipUnreachable"] = list(ssh.skip_unreachable)
    return inputs
