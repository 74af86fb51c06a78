"""GPU pools: those of a stack's own cluster, and those that a stack adds to a cluster that somebody else made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pulumi

from components import outputs
from components.clouds.base import Cloud, ClusterLookup, JoinedCluster, load_cloud
from components.clouds.deployed import Deployed
from components.cluster import PoolsCluster
from components.driver_daemon_set import DriverDaemonSet, DriverDaemonSetArgs
from components.gpu_admission import GpuAdmission, GpuAdmissionArgs
from components.node_pool import ClusterAutoscaler, ClusterAutoscalerArgs, GpuNodePool, NodePoolArgs
from components.published_offer import PublishedOffer, PublishedOfferArgs
from components.resources import ClusterObjects, Inputs, KubernetesProvider, object_token
from components.settings import Problem, Settings, SettingsError, of_running_stack
from components.settings.sections.cluster import ExistingCluster

if TYPE_CHECKING:
    from components import looks
    from components.cluster_reader import ClusterReader

# Of a running program (its engine): location and name of a cluster → the name of its ``GpuPools``.
_JOINED: Final = WeakKeyDictionary[Any, dict[tuple[str, str], str]]()
_INSIDE: Final = "what runs there"
"""Of what nobody could look up: what the API server knows."""
_PLACEHOLDER: Final = "known-at-the-update"
_LOG_IN: Final = "Log in as somebody with rights in the cluster; ask its owner for them"
_AGAIN: Final = "Try again in some minutes; if the answer stays, show it to the cluster's owner"
_NOT_LOGGED_IN: Final = (401, 403)
_REACH: Final = "Run Pulumi where the control plane answers: its network, its authorized networks, a VPN"


def declare_gpu_pools(
    cluster: PoolsCluster,
    autoscaler: ClusterAutoscaler,
    options: Callable[[], pulumi.ResourceOptions],
    rest: Callable[[], Mapping[str, pulumi.Input[str]]] = dict,
    *,
    prefix: str = "",
    cluster_name: pulumi.Input[str] | None = None,
) -> None:
    """Declare the GPU pools of a cluster and all that belongs to them: drivers, admission and the inventory.

    ``rest`` declares what else the stack has, after the pools, which a cloud may make one by one; it returns the
    addresses for the inventory. ``prefix`` begins the name of each component. ``cluster_name`` is for the inventory.
    """
    pools = cluster.settings.gpu_pools
    for pool in pools:
        args = NodePoolArgs(cluster=cluster, autoscaler=autoscaler, pool=pool)
        GpuNodePool(f"{prefix}{pool.name}", args, options())
    addresses = rest()
    DriverDaemonSet(f"{prefix}drivers", DriverDaemonSetArgs(cluster=cluster, pools=pools), options())
    GpuAdmission(f"{prefix}gpu-admission", GpuAdmissionArgs(cluster=cluster, pools=pools), options())
    offer = PublishedOfferArgs(cluster=cluster, pools=pools, addresses=addresses, cluster_name=cluster_name)
    PublishedOffer(f"{prefix}offer", offer, options())


@dataclass(frozen=True, kw_only=True)
class GpuPoolsArgs:
    """``settings`` with an ``existingCluster``, whose ``name``, ``node_identity`` and ``node_class`` may be outputs of
    the program.

    Default of all: what the settings say.
    """

    settings: Settings
    name: pulumi.Input[str] | None = None
    node_identity: pulumi.Input[str] | None = None
    node_class: pulumi.Input[str] | None = None

    @classmethod
    def of(cls, keys: Mapping[str, Any]) -> GpuPoolsArgs:
        """The arguments of the ``keys`` of a stack file, without ``gpucluster:``, in any program.

        The values in ``existingCluster`` may be outputs; all others decide which resources there are, and are plain.

        Raises:
            pulumi.RunError: all problems of the keys.
        """
        given = keys.get("existingCluster")
        cluster: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        known = {key: _PLACEHOLDER if isinstance(each, pulumi.Output) else each for key, each in cluster.items()}
        plain = {**keys, "existingCluster": known if isinstance(given, Mapping) else given}
        try:
            if problems := list(not_plain("", plain)):
                raise SettingsError(problems, stack=pulumi.get_stack())
            if not given:
                problem = Problem("existingCluster", "missing: the cluster of the pools", "Write {name: …}")
                raise SettingsError([problem], stack=pulumi.get_stack())
            settings = of_running_stack(plain)
        except SettingsError as error:
            raise pulumi.RunError(str(error)) from None
        identity, node_class = cluster.get("nodeIdentity"), cluster.get("nodeClass")
        return cls(settings=settings, name=cluster["name"], node_identity=identity, node_class=node_class)


class GpuPools(pulumi.ComponentResource):
    """GPU pools on a cluster that somebody else made; ``outputs`` has the program's outputs by name.

    The cluster is no resource of the stack: it is looked at first, and every resource here takes an input of the
    result, so that a refusal adds nothing. What is looked up is in the component's inputs, for the gate: ``cluster`` in
    the words of the cloud's provider, and in ``unknown`` what nobody could look up, with the reason.

    Raises:
        pulumi.RunError: the cluster refuses the pools (at the preview, if it can be looked at), with all problems.
    """

    settings: Settings
    cloud: Cloud
    handle: JoinedCluster
    objects: ClusterObjects
    outputs: Mapping[str, Any]

    def __init__(self, name: str, args: GpuPoolsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        self.settings, self.cloud = args.settings, load_cloud(args.settings.cloud)
        joining = self.cloud.joining
        assert joining is not None, "settings refuse a cloud whose clusters cannot be joined"
        self._name, self._joining, self._deployed = name, joining, Deployed()
        existing = args.settings.existing_cluster
        assert existing is not None, "the stack names the cluster"
        cluster_name = existing.name if args.name is None else args.name
        identity = existing.node_identity if args.node_identity is None else args.node_identity
        node_class = existing.node_class if args.node_class is None else args.node_class
        given = pulumi.Output.all(cluster_name, identity, node_class)
        # The name of a cluster that this program makes is known before the cluster is there.
        self._may_be_missing = isinstance(args.name, pulumi.Output) and pulumi.runtime.is_dry_run()
        found: pulumi.Output[ClusterLookup] = given.apply(self._find).apply(_known)
        view: pulumi.Output[ClusterLookup] = found.apply(self._judge)
        properties = {
            "cloudName": self.cloud.name,
            "cluster": view.apply(lambda known: {**known.properties, "project": args.settings.project}),
            "unknown": view.apply(lambda known: dict(known.unknown)),
        }
        super().__init__("gpucluster:index:GpuPools", name, properties, opts)
        given.apply(self._warn_if_unknown, run_with_unknowns=True)
        self.handle = joining.cluster(self.settings, found, view, self._deployed)
        kubeconfig = pulumi.Output.secret(view.apply(lambda known: known.kubeconfig))
        authority = view.apply(lambda known: known.authority)
        provider = KubernetesProvider(f"{name}-objects", kubeconfig, authority, pulumi.ResourceOptions(parent=self))
        self.objects = ClusterObjects(provider=provider, cluster=None)
        autoscaler = ClusterAutoscaler(
            f"{name}-autoscaler",
            ClusterAutoscalerArgs(cluster=self, admin_pool=None, pools=self.settings.gpu_pools),
            pulumi.ResourceOptions(parent=self),
        )
        declare_gpu_pools(
            self,
            autoscaler,
            lambda: pulumi.ResourceOptions(parent=self),
            prefix=f"{name}-",
            cluster_name=cluster_name,
        )
        self.outputs = {
            "clusterName": view.apply(lambda known: known.name),
            "kubeconfig": kubeconfig,
            "autoscaling": autoscaler.pools,
            "network": view.apply(lambda known: {**known.network, "nodeIdentity": known.node_identity}),
            **outputs.of_settings(self.settings),
        }
        self.register_outputs(dict(self.outputs))

    def _warn_if_unknown(self, given: list[Any]) -> None:
        if pulumi.contains_unknowns(given):
            pulumi.warn(
                f"{self._name}: the cluster is not known yet, so the update looks at it before it adds pools", self
            )

    async def _find(self, given: Sequence[Any]) -> ClusterLookup | None:
        """What the cloud and the cluster say; ``None`` if the update looks at it."""
        from components.cluster_reader import ClusterReader  # few stacks look at a cluster

        name, identity, node_class = given
        existing = ExistingCluster.model_construct(name=name, node_identity=identity, node_class=node_class)
        settings = replace(self.settings, file=self.settings.file.model_copy(update={"existing_cluster": existing}))
        own = self._own_pools()
        view = await self._joining.look(settings, own, self)
        if view.missing and self._may_be_missing:
            self._warn_if_unknown([pulumi.output.UNKNOWN])
            return None
        if view.kubeconfig and self._joining.look_inside is not None:
            reader = ClusterReader(view.kubeconfig)
            return await self._answered(view, self._joining.look_inside(settings, own, view, reader, self))
        return view

    async def _judge(self, view: ClusterLookup) -> ClusterLookup:
        """The same if nothing stands against the pools."""
        from components.cluster_reader import ClusterReader

        if view.kubeconfig and _INSIDE not in view.unknown:
            view = await self._answered(view, self._looked(view, ClusterReader(view.kubeconfig)))
        if problems := [*view.problems, *self._taken(view), *self._joined_twice(view)]:
            raise pulumi.RunError(str(SettingsError(problems, stack=self.settings.stack)))
        for note in view.notes:
            pulumi.warn(f"{self._name}: {note}", self)
        return view

    async def _looked(self, view: ClusterLookup, reader: ClusterReader) -> ClusterLookup:
        from components import looks

        plan = await self._plan()
        looked = await asyncio.get_running_loop().run_in_executor(None, looks.look, reader, plan)
        return replace(view, problems=(*view.problems, *looked.problems), notes=(*view.notes, *looked.notes))

    async def _answered(self, view: ClusterLookup, answer: Awaitable[ClusterLookup]) -> ClusterLookup:
        """The answer of the cluster's API server; without one what is known so far, and the reason."""
        from components.cluster_reader import RefusedRequestError, SilentServerError

        try:
            return await answer
        except RefusedRequestError as error:
            text = f"the API server of '{view.name}' refuses to be looked at ({error.status}): {error}"
            remedy = _LOG_IN if error.status in _NOT_LOGGED_IN else _AGAIN
        except SilentServerError as error:
            text, remedy = f"the API server of '{view.name}' cannot be asked: {error}", _REACH
            if pulumi.runtime.is_dry_run():
                notes = (*view.notes, f"{text}. The update asks it before it adds pools")
                return replace(view, notes=notes, unknown={**view.unknown, _INSIDE: text})
        problem = Problem("existingCluster.name", text, remedy)
        return replace(view, problems=(*view.problems, problem), unknown={**view.unknown, _INSIDE: text})

    def _own_pools(self) -> set[str]:
        """Names of the pools of this stack: of the settings, and deployed ones that this update may remove."""
        token = self._joining.pool_token
        deployed = [self._deployed.outputs(token, name) for name in self._deployed.names(token)]
        return {*(pool.name for pool in self.settings.gpu_pools), *(_named(pool) for pool in deployed)}

    def _taken(self, view: ClusterLookup) -> Iterator[Problem]:
        """Pools of others with our names."""
        for pool in self.settings.gpu_pools:
            own = self._deployed.outputs(self._joining.pool_token, f"{self._name}-{pool.name}-pool")
            if pool.name in view.pools and not (own.get("name") == pool.name and self._joining.has_pool(view, own)):
                text = f"'{view.name}' has a pool '{pool.name}' already, which this stack did not make"
                yield Problem(f"{pool.declared_at}.name", text, "Choose another name")

    def _joined_twice(self, view: ClusterLookup) -> Iterator[Problem]:
        """The names of objects in a cluster are those of one ``GpuPools``."""
        others = _JOINED.setdefault(pulumi.runtime.settings.get_monitor(), {})
        first = others.setdefault((view.location, view.name), self._name)
        if view.location and first != self._name:
            text = f"'{view.name}' has the pools of GpuPools '{first}' of this program already"
            yield Problem("existingCluster.name", text, f"Add the pools of '{self._name}' there")

    async def _plan(self) -> looks.Planned:
        """What is about to be added; the program has declared all of it by now."""
        from components import looks

        manifests = {name: await _plain(each) for name, each in self.objects.declared.items()}
        uids = {
            name: str(metadata["uid"])
            for name, each in manifests.items()
            if (metadata := self._deployed.outputs(object_token(each), name).get("metadata") or {}).get("uid")
        }
        return looks.Planned(
            settings=self.settings,
            objects=manifests,
            uids=uids,
            owner=(pulumi.get_project(), self.settings.stack),
            own_daemons=self._joining.own_daemons,
            node_labels=self._joining.node_labels,
            other_plugin=self._joining.other_plugin,
            needs_plugin=self._joining.needs_plugin,
        )


def _named(pool: Mapping[str, Any]) -> str:
    """The name of a deployed pool, which may be an object of the cluster."""
    return str(pool.get("name") or (pool.get("metadata") or {}).get("name"))


def _known(view: ClusterLookup | None) -> Any:
    return pulumi.Output.from_input(pulumi.output.UNKNOWN) if view is None else view


async def _plain(manifest: Inputs) -> Inputs:
    known: Inputs | None = await pulumi.Output.from_input(dict(manifest)).future()
    return manifest if known is None else known


def not_plain(path: str, value: object) -> Iterator[Problem]:
    """A problem for each output or secret among the keys of a stack file."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from not_plain(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from not_plain(f"{path}[{index}]", inner)
    elif isinstance(value, pulumi.Output | pulumi.output.Unknown):
        yield Problem(path, "is an output or a secret, and decides which resources there are", "Write a plain value")
