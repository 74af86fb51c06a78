"""Runs a Pulumi program against mocks and records every registration with the options that plain mocks leave out."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar, cast
from unittest import mock

import pulumi
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime import mocks, resource, rpc, settings
from pulumi.runtime.proto import resource_pb2, source_pb2
from pulumi.runtime.stack import run_in_stack

from tests import aks_answers, eks_answers, gke_answers

# As Pulumi's own host of programs does: one that is refused leaves outputs that nobody awaits.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)

Properties = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Registration:
    """One resource as the engine was asked to register it. References (``parent``, ``depends_on``, …) are URNs."""

    urn: str
    type: str
    name: str
    custom: bool
    inputs: Properties
    secret_inputs: frozenset[str]
    parent: str
    provider: str
    depends_on: tuple[str, ...]
    property_dependencies: Mapping[str, tuple[str, ...]]
    protect: bool
    ignore_changes: tuple[str, ...]
    replace_on_changes: tuple[str, ...]
    delete_before_replace: bool
    deleted_with: str
    retain_on_delete: bool
    delete_timeout: str
    aliases: tuple[str, ...]
    imported: str
    version: str

    @property
    def dependencies(self) -> list[str]:
        """All that the state file will say that it depends on, as often as it will say so."""
        return [
            *self.depends_on,
            *(urn for urns in self.property_dependencies.values() for urn in urns),
            *([self.deleted_with] if self.deleted_with else []),
            *([self.provider.rpartition("::")[0]] if self.provider else []),
        ]


@dataclass
class Recording:
    """What one program did. ``outputs`` are those of components and, under the stack's URN, of the program.

    ``reads`` are resources that the program only looks at: name → id. ``answers`` are the outputs of resources by URN,
    as the engine has sent them.
    """

    resources: list[Registration] = field(default_factory=list)
    outputs: dict[str, Properties] = field(default_factory=dict)
    secret_outputs: dict[str, frozenset[str]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    reads: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def states(self) -> dict[str, Properties]:
        """``answers`` as Python's values, for few tests: this takes as long as a twentieth of the program."""
        return {urn: reveal(answer)[0] for urn, answer in self.answers.items()}

    def of_type(self, type_token: str) -> list[Registration]:
        return [resource for resource in self.resources if resource.type == type_token]

    def only(self, type_token: str) -> Registration:
        (resource,) = self.of_type(type_token)
        return resource

    def named(self, name: str) -> Registration:
        (resource,) = [resource for resource in self.resources if resource.name == name]
        return resource

    def called(self, type_token: str, name: str) -> Registration:
        """The only resource of a type that the cloud or the cluster calls so."""
        (resource,) = [each for each in self.of_type(type_token) if name in _names(each.inputs)]
        return resource

    def before(self, resource: Registration) -> set[str]:
        """URNs of all that is there before it and goes after it, whatever it is that says so."""
        by_urn = {each.urn: each for each in self.resources}
        urns: set[str] = set()
        waiting = [resource]
        while waiting:
            new = set(waiting.pop().dependencies) - urns
            urns |= new
            waiting += [by_urn[urn] for urn in new & by_urn.keys()]
        return urns

    @property
    def components(self) -> list[Registration]:
        return [resource for resource in self.resources if not resource.custom]

    @property
    def stack_outputs(self) -> Properties:
        (urn,) = [urn for urn in self.outputs if "::pulumi:pulumi:Stack::" in urn]
        return self.outputs[urn]

    @property
    def secret_stack_outputs(self) -> frozenset[str]:
        (urn,) = [urn for urn in self.outputs if "::pulumi:pulumi:Stack::" in urn]
        return self.secret_outputs[urn]


class Cloud(mocks.Mocks):
    """Answers as the cloud would, with just enough outputs for other resources to refer to."""

    def __init__(self, recording: Recording, deployed: Recording | None = None) -> None:
        self._recording, self._deployed = recording, deployed

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, Properties]:
        outputs = dict(args.inputs)
        if args.typ.startswith("gcp:compute/"):
            outputs["selfLink"] = f"https://compute.example/{args.inputs['name']}"
        if args.typ == "gcp:serviceaccount/account:Account":
            outputs["email"] = f"{args.inputs['accountId']}@{args.inputs['project']}.iam.gserviceaccount.com"
            outputs["member"] = f"serviceAccount:{outputs['email']}"
        if args.typ == "gcp:container/cluster:Cluster":
            outputs["endpoint"] = "203.0.113.7"
            outputs["controlPlaneEndpointsConfig"] = {
                "dnsEndpointConfig": {"endpoint": "gke-0123.us-central1.gke.goog"}
            }
            outputs["masterAuth"] = {**args.inputs["masterAuth"], "clusterCaCertificate": "Q0E="}
        if args.typ == "gcp:storage/bucket:Bucket":
            outputs["url"] = f"gs://{args.inputs['name']}"
        if args.typ == "gcp:filestore/instance:Instance":
            outputs["networks"] = [{**args.inputs["networks"][0], "ipAddresses": ["10.255.0.2"]}]
        if args.typ == "gcp:artifactregistry/repository:Repository":
            place = [args.inputs[key] for key in ("location", "project", "repositoryId")]
            outputs["registryUri"] = "{}-docker.pkg.dev/{}/{}".format(*place)
        if args.typ == "gpucluster-machines:index:ControlPlane":
            address = args.inputs["machine"]["address"]
            outputs |= {
                "endpoint": f"https://{address}:6443",
                "caCertificate": "CA",
                "caHash": f"sha256:{'0' * 64}",
                "adminKubeconfig": "admin",
                "userKubeconfig": "user",
                "kubernetesVersion": "v1.34.4",
            }
        if args.typ == "gpucluster-machines:index:ExistingCluster":
            outputs |= {"server": "https://10.1.0.9:6443", "authority": "Q0E=", "kubeconfig": "theirs"}
        outputs |= eks_answers.outputs(args.typ, args.name, args.inputs)
        outputs |= aks_answers.outputs(args.typ, args.name, args.inputs)
        if args.resource_id:
            self._recording.reads[args.name] = args.resource_id
            return args.resource_id, outputs
        return f"{args.name}-id", outputs

    def call(self, args: mocks.MockCallArgs) -> tuple[Properties, list[tuple[str, str]]]:
        if args.token.startswith("pulumi:"):
            return state_answer(args.token, self._deployed.states if self._deployed else {}), []
        self._recording.calls.append(args.token)
        if args.token == "gcp:organizations/getProject:getProject":
            return {"projectId": args.args["projectId"], "number": "123456789"}, []
        if args.token == "gcp:compute/getSubnetwork:getSubnetwork":
            return gke_answers.subnetwork(args.args), []
        answers: dict[str, Any] = {**gke_answers.CALLS, **eks_answers.CALLS, **aks_answers.CALLS}
        if args.token not in answers:
            raise AssertionError(f"unexpected call of {args.token}")
        answer = answers[args.token]
        try:
            return cast("Properties", answer(args.args) if callable(answer) else answer), []
        except LookupError as error:
            return {}, [("", str(error))]


def state_answer(token: str, states: Mapping[str, Properties]) -> Properties:
    """What the engine answers about a stack with these resources, by URN."""
    assert token == "pulumi:pulumi:readStackResourceOutputs", token
    types = {urn: urn.split("::")[2].rpartition("$")[2] for urn in states}
    return {"outputs": {urn: {"type": types[urn], "outputs": state} for urn, state in states.items()}}


class Monitor(mocks.MockMonitor):
    """A mock engine whose URNs are a real one's."""

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """With the types of all components around a resource, but not the stack's."""
        chain = parent.split("::")[2] if parent else ""
        around = "" if chain in ("", "pulumi:pulumi:Stack") else f"{chain}$"
        return f"urn:pulumi:{settings.get_stack()}::{settings.get_project()}::{around}{type_}::{name}"


class RecordingMonitor(Monitor):
    """It keeps what it is asked."""

    def __init__(self, recording: Recording, new: Collection[str], deployed: Recording | None = None) -> None:
        self._cloud = Cloud(recording, deployed)
        super().__init__(self._cloud)
        self._recording = recording
        self._new = new

    def RegisterResource(self, request: Any) -> Any:
        """As the SDK's, but inputs are decoded once, and of the outputs only those are encoded that are no inputs."""
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return resource_pb2.RegisterResourceResponse(urn=urn)
        assert urn not in self._recording.answers, f"the engine refuses a resource that is declared twice: {urn}"
        assert not request.transforms, "no program has transforms"
        inputs = rpc.deserialize_properties(request.object)
        asked = mocks.MockResourceArgs(
            typ=request.type,
            name=request.name,
            inputs=inputs,
            provider=request.provider,
            resource_id=request.importId,
            custom=request.custom,
        )
        id, outputs = self._cloud.new_resource(asked)
        answer = struct_pb2.Struct()
        answer.CopyFrom(request.object)
        others = {key: value for key, value in outputs.items() if value is not inputs.get(key)}
        for key, value in at_once(rpc.serialize_properties(others, {})).fields.items():
            answer.fields[key].CopyFrom(value)
        self._recording.resources.append(registration_of(urn, request, inputs))
        self._recording.answers[urn] = answer
        return resource_pb2.RegisterResourceResponse(urn=urn, id="" if request.type in self._new else id, object=answer)

    def RegisterResourceOutputs(self, request: Any) -> Any:
        assert request.urn not in self._recording.outputs, f"{request.urn} registers its outputs twice"
        values, secrets = reveal(request.outputs)
        self._recording.outputs[request.urn] = values
        self._recording.secret_outputs[request.urn] = secrets
        return empty_pb2.Empty()


def run(
    program: Callable[[], None],
    *,
    project: str = "gpucluster",
    stack: str = "test",
    config: Mapping[str, str] | None = None,
    secrets: Collection[str] = (),
    new: Collection[str] | None = None,
    deployed: Recording | None = None,
) -> Recording:
    """Run ``program`` as a stack and return what it registered; its exception, if it raises one.

    With ``new`` it is a preview, in which no resource of those types is there yet: their ids are unknown, and what a
    preview cannot know is a ``pulumi.output.Unknown`` in the recording. With ``deployed`` it updates that stack.

    It runs in a thread of its own, because it needs an event loop that is nobody else's.
    """
    recording = Recording()
    run_on(
        RecordingMonitor(recording, new or (), deployed),
        program,
        project=project,
        stack=stack,
        config=config or {},
        secrets=secrets,
        preview=new is not None,
    )
    return recording


def run_on(
    monitor: mocks.MockMonitor,
    program: Callable[[], None],
    *,
    project: str,
    stack: str,
    config: Mapping[str, str],
    secrets: Collection[str] = (),
    preview: bool = False,
) -> None:
    """Run ``program`` as a stack of ``monitor``'s. Raises what it raises."""
    # Which line declared a resource takes the SDK more than half of a run to find out, what it writes for its own
    # developers a sixth of the rest, and URNs for programs without an engine a tenth; no test asks. Whether values have
    # unknown ones in them, and which outputs are awaited in the end, it finds out in a roundabout way.
    with (
        mock.patch.object(rpc, "contains_unknowns", _contains_unknowns),
        ThreadPoolExecutor(1) as apart,
        mock.patch.object(resource, "_get_stack_trace", source_pb2.StackTrace),
        mock.patch.object(resource, "create_urn", _urn),
        mock.patch.object(pulumi.log, "debug", _nothing),
        mock.patch.object(mocks, "_sync_await", at_once),
    ):
        apart.submit(_run, monitor, program, project, stack, config, secrets, preview).result()


def _nothing(*_: Any, **__: Any) -> None: ...


def _contains_unknowns(value: Any) -> bool:
    """As the SDK's, which asks each text whether it is one."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return False
    if isinstance(value, dict):
        return any(map(_contains_unknowns, value.values()))
    if isinstance(value, list):
        return any(map(_contains_unknowns, value))
    return isinstance(value, pulumi.output.Unknown)


def _tracking(waiting: set[Any]) -> Callable[[Any], None]:
    """As the SDK's, which locks what one thread uses and looks for it each time: ``waiting`` are outputs to await."""

    def track(output: Any) -> None:
        waiting.add(output._data)
        output._data.add_done_callback(end)

    def end(future: asyncio.Future[Any]) -> None:
        if not future.cancelled() and future.exception() is None:
            waiting.discard(future)

    return track


_create_urn: Final = resource.create_urn


def _urn(name: Any, type: Any, parent: Any = None, *rest: Any) -> Any:
    """The URN that an alias means, as the SDK's; none of a resource that is being registered: the engine says it."""
    registered = not rest and (parent is None or isinstance(parent, str))
    return _NoUrn() if registered else _create_urn(name, type, parent, *rest)


class _NoUrn:
    async def future(self) -> None:
        """What is not asked for where there is an engine."""


class _AtOnce(asyncio.SelectorEventLoop):
    """Has the mock engine's answer at once: the SDK asks for it in another thread, as an engine's takes its time."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """``func`` is called here and now."""
        assert executor is None, "the SDK names no executor"
        answer: asyncio.Future[Any] = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as error:
            answer.set_exception(error)
        return answer


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing, as the one that encodes plain values, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    coroutine.close()
    raise AssertionError(f"{coroutine.__qualname__} waits for something")


def warnings(run: Callable[[], Recording]) -> str:
    """What a program warns of, a line each."""
    with mock.patch.object(pulumi, "warn") as warn:
        run()
    return "\n".join(str(call.args[0]) for call in warn.call_args_list)


def refusal(run: Callable[[], Recording]) -> str:
    """Why a program ends before it has registered any resource, even a component."""
    recordings: list[Recording] = []
    real = RecordingMonitor

    def monitor(made: Recording, *rest: Any) -> RecordingMonitor:
        recordings.append(made)
        return real(made, *rest)

    with mock.patch(f"{__name__}.RecordingMonitor", monitor), pytest.raises(pulumi.RunError) as refused:
        run()
    assert [each.name for each in recordings[0].resources] == []
    return str(refused.value)


def remembered(run: Callable[P, Recording]) -> Callable[P, Recording]:
    """``run``, but only once for equal arguments: for tests that only look."""
    known: dict[str, Recording] = {}

    @functools.wraps(run)
    def look_up(*args: P.args, **kwargs: P.kwargs) -> Recording:
        key = repr((args, sorted(kwargs.items())))
        if key not in known:
            known[key] = run(*args, **kwargs)
        return known[key]

    return look_up


def _run(
    monitor: mocks.MockMonitor,
    program: Callable[[], None],
    project: str,
    stack: str,
    config: Mapping[str, str],
    secrets: Collection[str],
    preview: bool,
) -> None:
    loop = _AtOnce()
    asyncio.set_event_loop(loop)
    # Else the process has one set, and the next program waits for what a failed one left pending.
    outputs: set[Any] = set()
    try:
        # set_mocks would make a root stack of its own; run_in_stack makes the one whose outputs we record.
        settings.configure(_settings(monitor, project, stack, preview=preview, outputs=outputs))
        settings.set_root_resource(None)  # pyright: ignore[reportArgumentType]
        pulumi.runtime.set_all_config(dict(config), list(secrets))
        with mock.patch.object(pulumi.Output, "_track", _tracking(outputs)):
            loop.run_until_complete(run_in_stack(program))
    finally:
        pulumi.runtime.set_all_config({})
        # A failed program sends nothing more.
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        asyncio.set_event_loop(None)


def _settings(
    monitor: mocks.MockMonitor, project: str, stack: str, *, preview: bool, outputs: set[Any]
) -> settings.Settings:
    return mocks.MockSettings(
        monitor=monitor,
        monitor_features=set(monitor.GetDeploymentInfo(empty_pb2.Empty()).supportedFeatures),
        engine=mocks.MockEngine(None),
        project=project,
        stack=stack,
        dry_run=preview,
        organization="organization",
        callbacks=None,
        outputs=outputs,
    )


def registration_of(urn: str, request: Any, decoded: Properties | None = None) -> Registration:
    """What the engine is asked to register as ``urn``, from the SDK's ``request`` and, if known, its inputs."""
    inputs, secrets = reveal(request.object) if decoded is None else _reveal(decoded)
    return Registration(
        urn=urn,
        type=request.type,
        name=request.name,
        custom=request.custom,
        inputs=inputs,
        secret_inputs=secrets,
        parent=request.parent,
        provider=request.provider,
        depends_on=tuple(request.dependencies),
        property_dependencies={
            name: tuple(dependency.urns) for name, dependency in request.propertyDependencies.items()
        },
        protect=request.protect,
        ignore_changes=tuple(request.ignoreChanges),
        replace_on_changes=tuple(request.replaceOnChanges),
        delete_before_replace=request.deleteBeforeReplace,
        deleted_with=request.deletedWith,
        retain_on_delete=request.retainOnDelete,
        delete_timeout=request.customTimeouts.delete,
        aliases=tuple(str(alias) for alias in request.aliases),
        imported=request.importId,
        version=request.version,
    )


def _names(inputs: Properties) -> tuple[Any, ...]:
    return inputs.get("name"), inputs.get("addonName"), inputs.get("metadata", {}).get("name")


def reveal(struct: Any) -> tuple[Properties, frozenset[str]]:
    """The properties in the clear, and which of them are secret."""
    return _reveal(rpc.deserialize_properties(struct))


def _reveal(properties: Properties) -> tuple[Properties, frozenset[str]]:
    secrets = {key for key, value in properties.items() if rpc.is_rpc_secret(value)}
    return {key: rpc.unwrap_rpc_secret(value) for key, value in properties.items()}, frozenset(secrets)
