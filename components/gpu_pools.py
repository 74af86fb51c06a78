"""GPU pools: those of a stack's own cluster, and those that a stack adds to a cluster that somebody else made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
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
from components.resources import ClusterObjects, Inputs, KubernetesProvider, identifier, object_token
from components.settings import Problem, Settings, SettingsError, of_running_stack
from components.settings.fields.answers import KNOWN_LATER
from facts.catalog.model import Resources
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components import looks
    from components.cluster_reader import ClusterReader

# Of a running program (its engine): location and name of a cluster → the name of its ``GpuPools``.
_JOINED: Final = WeakKeyDictionary[Any, dict[tuple[str, str], str]]()
_TYPE: Final = "gpucluster:index:GpuPools"
_PROVIDER: Final = "pulumi:providers:kubernetes"
MAY_BE_OUTPUTS: Final = ("name", "resourceGroup", "nodeIdentity", "nodeClass")
"""Keys of ``existingCluster`` that decide nothing about which resources there are."""
_LOG_IN: Final = "Log in as somebody with rights in the cluster; ask its owner for them"
_AGAIN: Final = "Try again in some minutes; if the answer stays, show it to the cluster's owner"
_NOT_LOGGED_IN: Final = (401, 403)
_REACH: Final = "Run Pulumi where the control plane answers: its network, its authorized networks, a VPN"


def share_joined(joined: dict[tuple[str, str], str]) -> None:
    """Of a process that is called once for each ``GpuPools`` of a program: ``joined`` is the same for all of them."""
    _JOINED[pulumi.runtime.settings.get_monitor()] = joined


def declare_gpu_pools(
    cluster: PoolsCluster,
    autoscaler: ClusterAutoscaler,
    options: Callable[[], pulumi.ResourceOptions],
    rest: Callable[[], Mapping[str, pulumi.Input[str]]] = dict,
    *,
    prefix: str = "",
    joined: Joined | None = None,
) -> None:
    """Declare the GPU pools of a cluster and all that belongs to them: drivers, admission and the inventory.

    ``rest`` declares what else the stack has, after the pools, which a cloud may make one by one; it returns the
    addresses for the inventory. ``prefix`` begins the name of each component. In a cluster that somebody else made
    (``joined``) pools come last: they cost, so a failed update has none, and they are the first that is deleted.
    """
    pools = cluster.settings.gpu_pools

    def declare_pools(*after: pulumi.Resource) -> None:
        for pool in pools:
            args = NodePoolArgs(cluster=cluster, autoscaler=autoscaler, pool=pool, after=after)
            GpuNodePool(f"{prefix}{pool.name}", args, options())

    if joined is None:
        declare_pools()
    addresses = rest()
    drivers = DriverDaemonSet(f"{prefix}drivers", DriverDaemonSetArgs(cluster=cluster, pools=pools), options())
    admission = GpuAdmission(f"{prefix}gpu-admission", GpuAdmissionArgs(cluster=cluster, pools=pools), options())
    args = PublishedOfferArgs(cluster=cluster, pools=pools, addresses=addresses)
    if joined is not None:
        args = replace(args, cluster_name=joined.name, taken=joined.taken)
    offer = PublishedOffer(f"{prefix}offer", args, options())
    if joined is not None:
        declare_pools(autoscaler, drivers, admission, offer)


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Of a cluster that somebody else made: its name, and pool → what its DaemonSets request on each node."""

    name: pulumi.Input[str]
    taken: pulumi.Output[Mapping[str, Resources]]


@dataclass(frozen=True, kw_only=True)
class GpuPoolsArgs:
    """``settings`` with an ``existingCluster``, whose ``name``, ``resource_group``, ``node_identity`` and
    ``node_class`` may be outputs of the program.

    Default of all: what the settings say.
    """

    settings: Settings
    name: pulumi.Input[str] | None = None
    node_identity: pulumi.Input[str] | None = None
    node_class: pulumi.Input[str] | None = None
    resource_group: pulumi.Input[str] | None = None

    @classmethod
    def of(cls, keys: Mapping[str, Any]) -> GpuPoolsArgs:
        """The arguments of the ``keys`` of a stack file, without ``gpucluster:``, in any program.

        Of ``existingCluster`` name, resource group, node identity and node class may be outputs; all others decide
        which resources there are, and are plain.

        Raises:
            pulumi.RunError: all problems of the keys.
        """
        given = keys.get("existingCluster")
        cluster: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        later = {key for key in MAY_BE_OUTPUTS if isinstance(cluster.get(key), pulumi.Output)}
        known = {**cluster, **dict.fromkeys(later, KNOWN_LATER)}
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
        return cls(
            settings=settings,
            name=cluster["name"],
            node_identity=cluster.get("nodeIdentity"),
            node_class=cluster.get("nodeClass"),
            resource_group=cluster.get("resourceGroup"),
        )


class GpuPools(pulumi.ComponentResource):
    """GPU pools on a cluster that somebody else made; ``outputs`` has the program's outputs by name.

    The cluster is no resource of the stack: it is looked at first, and every resource here takes an input of the
    result, so that a refusal adds nothing. What is looked up is in the component's inputs, for the gate: ``cluster`` in
    the words of the cloud's provider, and in ``unknown`` what nobody could look up, with the reason; that is
    unknown itself where the update looks at more than the preview.

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
        joining = self.cloud.joining[args.settings.autoscaler]  # settings refuse those that cannot be joined
        self._name, self._joining, self._deployed = name, joining, Deployed()
        existing = args.settings.existing_cluster
        assert existing is not None, "the stack names the cluster"
        cluster_name = existing.name if args.name is None else args.name
        identity = existing.node_identity if args.node_identity is None else args.node_identity
        node_class = existing.node_class if args.node_class is None else args.node_class
        group = existing.resource_group if args.resource_group is None else args.resource_group
        given = pulumi.Output.all(cluster_name, identity, node_class, group)
        # The name of a cluster that this program makes is known before the cluster is there.
        self._may_be_missing = isinstance(args.name, pulumi.Output) and pulumi.runtime.is_dry_run()
        survey: pulumi.Output[_Survey] = given.apply(lambda known: self._survey(*known)).apply(_known)
        view: pulumi.Output[ClusterLookup] = survey.apply(self._judge)
        properties = {
            "cloudName": self.cloud.name,
            # What a preview puts off is known at the update, which would not be what it has planned otherwise.
            "cluster": view.apply(
                lambda known: _known(
                    None
                    if known.put_off and joining.look_inside is not None
                    else {**known.properties, "project": args.settings.project}
                )
            ),
            "unknown": view.apply(lambda known: _known(None if known.put_off else dict(known.unknown))),
        }
        super().__init__(_TYPE, name, properties, opts)
        given.apply(self._warn_if_unknown, run_with_unknowns=True)
        found = survey.apply(lambda known: known.view)
        self.handle = joining.cluster(self.settings, found, view, self._deployed)
        kubeconfig = pulumi.Output.secret(view.apply(lambda known: known.kubeconfig))
        # Its owner may renew its CA, and nothing here is made again for that.
        place = view.apply(self._place)
        provider = KubernetesProvider(f"{name}-objects", kubeconfig, place, pulumi.ResourceOptions(parent=self))
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
            joined=Joined(name=cluster_name, taken=survey.apply(lambda known: _known(known.taken))),
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

    async def _survey(
        self, cluster_name: str, identity: str | None, node_class: str | None, group: str | None
    ) -> _Survey | None:
        """What is there; ``None`` if the update looks at it."""
        from components import looks  # few stacks look at a cluster

        written = self.settings.existing_cluster
        assert written is not None, "the stack names the cluster"
        known = {
            "name": cluster_name,
            "node_identity": identity,
            "node_class": node_class,
            "resource_group": group,
        }
        existing = written.model_copy(update=known)
        file = self.settings.file.model_copy(update={"existing_cluster": existing})
        settings = replace(self.settings, file=file)
        joining, own = self._joining, self._own_pools()
        view = await joining.look(settings, own, self)
        if view.missing and self._may_be_missing:
            self._warn_if_unknown([pulumi.output.UNKNOWN])
            return None
        problems = (*view.problems, *self._taken(view), *self._joined_twice(view))
        found = _Survey(settings=settings, view=view, problems=problems, notes=(*view.notes, *self._gone(view)))
        if not view.kubeconfig:
            return found
        plan = self._plan(settings, view, self.objects.declared)

        def reach() -> _Survey:
            kubeconfig, reader = _reached(view)
            seen = looks.survey(reader, plan)
            taken = _with_less(looks.taken_by_daemons(plan, seen), view.less_memory)
            reached = replace(view, kubeconfig=kubeconfig)
            surveyed = replace(found, view=reached, reader=reader, seen=seen, taken=taken)
            if joining.look_inside is None or (seen.missing and not plan.preview):
                return surveyed
            # What stands against the pools is the survey's from here on.
            asked = replace(reached, problems=(), notes=())
            inside = joining.look_inside(settings, own, asked, seen.lists, reader.find)
            return replace(
                surveyed,
                view=inside,
                problems=(*problems, *inside.problems),
                notes=(*found.notes, *inside.notes),
                reader=reader if inside.kubeconfig else None,
            )

        found = await self._asked(found, reach)
        if joining.look_again is not None and found.reader is not None and not found.problems:
            found = replace(found, view=await joining.look_again(found.view, self))
        return found

    async def _judge(self, survey: _Survey) -> ClusterLookup:
        """What the cloud says of the cluster, if nothing stands against the pools."""
        from components import looks

        if survey.reader is not None and survey.seen is not None:
            reader, seen = survey.reader, survey.seen
            manifests = {name: await _plain(each) for name, each in self.objects.declared.items()}
            plan, surveyed = self._plan(survey.settings, survey.view, manifests), survey

            def judge() -> _Survey:
                looked, view = looks.look(reader, plan, seen), surveyed.view
                return replace(
                    surveyed,
                    view=replace(view, put_off=looked.put_off),
                    problems=(*surveyed.problems, *looked.problems),
                    notes=(*surveyed.notes, *looked.notes),
                )

            survey = await self._asked(survey, judge)
        if survey.problems:
            raise pulumi.RunError(str(SettingsError(list(survey.problems), stack=survey.settings.stack)))
        for note in survey.notes:
            pulumi.warn(f"{self._name}: {note}", self)
        return survey.view

    async def _asked(self, survey: _Survey, ask: Callable[[], _Survey]) -> _Survey:
        """The result of ``ask``, or the survey with the reason why the API server does not answer."""
        from components.cluster_reader import RefusedRequestError, SilentServerError

        name, view = survey.view.name, survey.view
        try:
            return await asyncio.get_running_loop().run_in_executor(None, ask)
        except RefusedRequestError as error:
            text = f"the API server of '{name}' refuses to be looked at ({error.status}): {error}"
            remedy = _LOG_IN if error.status in _NOT_LOGGED_IN else _AGAIN
        except SilentServerError as error:
            text, remedy = f"the API server of '{name}' cannot be asked: {error}", _REACH
            if pulumi.runtime.is_dry_run():
                note = f"{text}. The update asks it before it adds pools"
                return replace(survey, view=replace(view, put_off=True), notes=(*survey.notes, note), reader=None)
        problem = Problem("existingCluster.name", text, remedy)
        return replace(survey, problems=(*survey.problems, problem), reader=None)

    def _own_pools(self) -> set[str]:
        """Names of the pools of this stack: of the settings, and deployed ones that this update may remove, also those
        of another autoscaler."""
        deployed = {
            each.pool_name(self._deployed.outputs(each.pool_token, name))
            for each in self.cloud.joining.values()
            for name in self._deployed.names(each.pool_token)
            if self._is_named(name) and name.endswith("-pool")  # the program may have others of the type
        }
        return {*(pool.name for pool in self.settings.gpu_pools), *deployed}

    def _is_named(self, name: str) -> bool:
        """Whether a resource of the state is of this component, and of no other that begins with the same name."""
        start, providers = f"{self._name}-", self._deployed.names(_PROVIDER, _TYPE)
        others = tuple(each.removesuffix("objects") for each in providers - {f"{start}objects"})
        return name.startswith(start) and not name.startswith(tuple(each for each in others if each.startswith(start)))

    def _place(self, view: ClusterLookup) -> str:
        return f"{self.settings.project}/{view.location}/{view.name}"

    def _is_elsewhere(self, view: ClusterLookup) -> bool:
        """Whether the stack's objects are in another cluster until this update."""
        provider = self._deployed.outputs(_PROVIDER, f"{self._name}-objects")
        return provider.get("clusterIdentifier") not in (None, identifier(self._place(view)))

    def _is_own(self, view: ClusterLookup, pool: Pool) -> bool:
        """Whether the state has a pool of the cluster, which need not say where it is."""
        if self._is_elsewhere(view):
            return False
        name = f"{self._name}-{pool.name}-pool"
        states = ((each, self._deployed.outputs(each.pool_token, name)) for each in self.cloud.joining.values())
        return any(each.has_pool(view, pool, state) for each, state in states if state)

    def _taken(self, view: ClusterLookup) -> Iterator[Problem]:
        """Pools of others with our names."""
        for pool in self.settings.gpu_pools:
            if pool.name not in view.pools or self._is_own(view, pool):
                continue
            if pool.name in view.leftovers:
                text = (
                    f"'{view.name}' has a pool '{pool.name}' with the labels of this program, which is not in the "
                    "state of this stack: it was made by an update that was interrupted, or by another stack"
                )
                remedy = f"If no stack has it and no job runs there, delete it: {view.leftovers[pool.name]}"
            else:
                text = f"'{view.name}' has a pool '{pool.name}' already, which this stack did not make"
                remedy = "Choose another name"
            yield Problem(f"{pool.declared_at}.name", text, remedy)

    def _gone(self, view: ClusterLookup) -> Iterator[str]:
        """Pools of the state that the cluster does not have, as if somebody had made it again."""
        for pool in self.settings.gpu_pools:
            if view.location and pool.name not in view.pools and self._is_own(view, pool):
                yield f"the pool {pool.name} of this stack is gone from '{view.name}': run pulumi refresh"

    def _joined_twice(self, view: ClusterLookup) -> Iterator[Problem]:
        """The names of objects in a cluster are those of one ``GpuPools``."""
        others = _JOINED.setdefault(pulumi.runtime.settings.get_monitor(), {})
        first = others.setdefault((view.location, view.name), self._name)
        if view.location and first != self._name:
            text = f"'{view.name}' has the pools of GpuPools '{first}' of this program already"
            yield Problem("existingCluster.name", text, f"Add the pools of '{self._name}' there")

    def _former(self, manifests: Mapping[str, Inputs]) -> Iterator[Inputs]:
        """The stack's objects in the cluster that are not among the ``manifests``, so that the update deletes them."""
        from components import looks

        declared = {looks.identity(each) for each in manifests.values()}
        for name, each in self._deployed.inside(_TYPE):
            if self._is_named(name) and "kind" in each and looks.identity(each) not in declared:
                yield each

    def _plan(self, settings: Settings, view: ClusterLookup, manifests: Mapping[str, Inputs]) -> looks.Planned:
        """What is about to be added; the program has declared all of it by now."""
        from components import looks

        uids = {
            name: str(metadata["uid"])
            for name, each in manifests.items()
            if (metadata := self._deployed.outputs(object_token(each), name).get("metadata") or {}).get("uid")
        }
        return looks.Planned(
            settings=settings,
            objects=manifests,
            uids=uids,
            former=[] if self._is_elsewhere(view) else [*self._former(manifests)],
            owner=(pulumi.get_project(), settings.stack),
            preview=pulumi.runtime.is_dry_run(),
            own_daemon=self._joining.own_daemon,
            node_labels=self._joining.node_labels,
            label_domains=self._joining.label_domains,
            other_plugin=self._joining.other_plugin,
            lists=self._joining.lists,
            listed_notes=self._joining.listed_notes,
            needs_plugin=self._joining.needs_plugin,
            needs_driver=self._joining.needs_driver,
        )


@dataclass(frozen=True, kw_only=True)
class _Survey:
    """A cluster, as far as it could be looked at before its manifests are known; ``reader`` is ``None`` if its API
    server does not answer, and ``taken`` if nobody could list its DaemonSets."""

    settings: Settings
    view: ClusterLookup
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    reader: ClusterReader | None = None
    seen: looks.Surveyed | None = None
    taken: Mapping[str, Resources] | None = None


def _reached(view: ClusterLookup) -> tuple[str, ClusterReader]:
    """The kubeconfig by the first address that answers, and its reader.

    Raises:
        RefusedRequestError: every address refuses the user.
        SilentServerError: none answers as it should, with what each says.
    """
    from components.cluster_reader import ClusterReader, RefusedRequestError, SilentServerError

    failures: list[Exception] = []
    for kubeconfig in (view.kubeconfig, *view.other_kubeconfigs):
        reader = ClusterReader(kubeconfig)
        try:
            reader.version()
        except (RefusedRequestError, SilentServerError) as error:
            failures.append(error)
        else:
            return kubeconfig, reader
    if all(isinstance(each, RefusedRequestError) for each in failures):
        raise failures[0]
    raise SilentServerError("; ".join(str(each) for each in failures))


def _with_less(taken: Mapping[str, Resources] | None, less: Mapping[str, int]) -> Mapping[str, Resources] | None:
    return taken and {
        pool: replace(each, memory_mib=each.memory_mib + less.get(pool, 0)) for pool, each in taken.items()
    }


def _known(value: object) -> Any:
    return pulumi.Output.from_input(pulumi.output.UNKNOWN) if value is None else value


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
