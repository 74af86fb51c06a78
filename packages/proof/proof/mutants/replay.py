"""The program's resources once more, in a simulated cloud of their own that has no machines.

It is created once. For each resource with mutants the process forks and deletes that resource and what depends on it.
For each mutant it forks again and creates them with it: a mutant costs what depends on it, a check and a destroy.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from facts.concepts.offer import Offer
from proof.mutants.mutation import Registered
from proof.mutants.placement import misplaced
from rehearsal.checks import groups_as_declared, groups_as_planned, object_checks
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import CallContext, Created, Previous, Properties
from rehearsal.scenario.check import Pools
from rehearsal.simulation import Endpoint, SimulatedNodeGroup, makers_rights
from rehearsal.work.maintenance import window_check

Object = dict[str, Any]


T = TypeVar("T")
_SHORTEST: Final = 4
"""Characters of an output by which other inputs are known to hold it."""
Changes = Mapping[str, Mapping[str, str]]
"""URN → what the program got of the resource → what it gets now; texts only."""
Made = tuple[Registered, Properties]
"""A resource with its inputs after the provider's check."""
_There = tuple[Registered, Properties, Created]
Refusal = tuple[str, str]
"""The cloud's error, and what a check of the rehearsal says is wrong; empty texts if nothing is."""


@dataclass(frozen=True)
class Variant:
    """Other inputs of one resource of the program; ``created_early``: before everything that they do not reference.

    ``borrowed`` is a text in them that may reference another resource.
    """

    urn: str
    inputs: Properties
    created_early: bool = False
    borrowed: str = ""


def call(each: Registered, *, preview: bool = False) -> CallContext:
    """The engine's call about a resource."""
    return CallContext(each.urn, each.type, each.name, preview=preview, random_seed=b"mutants")


class _Groups:
    """A fleet that only remembers its groups: ``rehearsal.simulation.Fleet``."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.groups: dict[str, SimulatedNodeGroup] = {}
        self.objects = [*objects]

    def create_cluster(self, name: str, *, system_objects: Sequence[Any] = (), **facts: Any) -> Endpoint:
        if makers_rights(everything=False) in system_objects:
            raise PermissionError(f"the program's user has no rights in cluster {name}")
        return Endpoint("127.0.0.1:6443", "Q0E=", "localhost:6443", "127.0.0.1:1", False)

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        self.groups[group.name] = group

    def delete_group(self, cluster: str, name: str) -> None:
        self.groups.pop(name, None)

    def apply_objects(self, objects: Iterable[Object]) -> None:
        self.objects += objects

    def had_nodes(self, cluster: str, group: str) -> bool:
        """From then on, the autoscaler knows an empty group by its tags alone."""
        return True

    def list_objects(self, path: str) -> list[Object]:
        """Objects by the path of their list, each with all its pods ready."""
        ready = {"status": {"readyReplicas": 1, "numberReady": 1}}
        return [{**each, **ready} for each in self.objects if path in _lists(each)]

    def __getattr__(self, name: str) -> Any:
        return lambda *_: []


def _lists(item: Object) -> tuple[str, str]:
    """The paths of the API server at which an object is listed: in all namespaces, and in its own."""
    version, plural = item["apiVersion"], f"{item['kind'].lower()}s"
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{root}/{plural}", f"{root}/namespaces/{item['metadata'].get('namespace', 'default')}/{plural}"


@dataclass(frozen=True)
class Replay:
    """How to create the resources: in the cloud of ``plugin`` with the settings ``config``, for a stack's ``pools``.

    ``window`` is the weekly maintenance that the stack declares (``sunday 02:00 4 h``), ``objects`` what it has in the
    cluster; ``planned``: its autoscaler is one of them. ``offer`` is what its users should read of the pools.
    """

    plugin: str
    config: Properties
    pools: Pools
    window: str
    objects: Sequence[Object] = ()
    planned: bool = False
    offer: Offer | None = None

    def refusal(self, program: Sequence[Made]) -> Refusal:
        """Of the program: each resource with its checked inputs, after all that it refers to."""
        with TemporaryDirectory() as folder:
            return _Creation(self, Path(folder)).finished(program)

    def refusals(self, program: Sequence[Made], variants: Sequence[Variant]) -> list[Refusal]:
        """Of the program with each of the ``variants`` alone, in their order."""
        if not variants:
            return []
        mutated = {variant.urn for variant in variants}
        urns = [each.urn for each, _ in program if each.urn in mutated]
        parts = [
            [(number, one) for number, one in enumerate(variants) if one.urn in urns[start::_WORKERS]]
            for start in range(_WORKERS)
        ]
        # Not a fork of this process, whose threads may hold locks.
        with ProcessPoolExecutor(_WORKERS, get_context("spawn")) as workers:
            answers = dict(ChainMap(*workers.map(partial(_every, self, list(program)), parts)))
        return [answers[number] for number in range(len(variants))]

    def beside(self, program: Sequence[Made], changed: Sequence[tuple[int, Object]]) -> list[str]:
        """The first check that fails beside each of the ``changed`` objects, which have places in ``objects``."""
        with ProcessPoolExecutor(1, get_context("spawn")) as worker:
            return worker.submit(_beside, self, list(program), changed).result()


class _Creation:
    """The program's resources as far as they are created, in ``folder`` or in memory."""

    def __init__(self, replay: Replay, folder: Path) -> None:
        self._replay, self._fleet = replay, _Groups(replay.objects)
        self._provider: Any = cloud_provider(replay.plugin, folder, self._fleet)  # type: ignore[arg-type]
        self._provider.by_itself()
        self._provider.configure(replay.config)
        self._changes: dict[str, Mapping[str, str]] = {}
        self._there: list[_There] = []

    def add_all(self, program: Iterable[Made], borrowed: str = "") -> None:
        """Create resources. Raises the cloud's error, or what a defect of the simulated provider raises."""
        for each, declared in program:
            inputs = followed(each, declared, self._changes, borrowed)
            created = self._provider.create(call(each), inputs, 0)
            self._there.append((each, inputs, created))
            self._changes[each.urn] = changed({**each.outputs, "id": each.id}, {**created.state, "id": created.id})

    def finished(self, rest: Iterable[Made], borrowed: str = "") -> Refusal:
        """Create the rest, check all, and delete the rest again."""
        before = len(self._there)
        try:
            self.add_all(rest, borrowed)
        except Exception as error:  # a defect of the simulated provider ends an update, too
            return str(error), ""
        there = self._there[before:]
        return "", self._wrong() or self._taken(*there[0]) or self._refused_destroy(there)

    def delete(self, urns: Collection[str]) -> None:
        """Delete these resources, the last first. Raises as ``add``."""
        for one in [one for one in reversed(self._there) if one[0].urn in urns]:
            self._delete(*one)
            self._there.remove(one)

    def _wrong(self) -> str:
        """The first check that fails after the update; of its maintenance, ``maintenance`` at night."""
        for problem in self._provider.problems() or ():
            return f"cloud-problems: {problem}"
        self._provider.settle()
        groups = list(self._fleet.groups.values())
        checks = [groups_as_declared(groups, self._replay.pools)]
        checks += [groups_as_planned(groups, self._replay.pools)] if self._replay.planned else []
        checks += window_check(self._provider.maintain(), self._replay.window)
        wrong = next((f"{each.id}: {each.detail}" for each in checks if not each.passed), "")
        if wrong or not self._replay.objects:
            return wrong
        listed = (self._fleet.list_objects(f"/apis/apps/v1/{kind}") for kind in ("deployments", "daemonsets"))
        return misplaced(groups, *listed)

    def beside(self, before: Collection[str], place: int, item: Object) -> str:
        """The first check that fails with another object in the cluster, and not ``before``."""
        self._fleet.objects[place] = item
        try:
            return self._wrong() or next((each for each in self.wrong_objects() if each not in before), "")
        except Exception:  # an object lacks what every one has: a rehearsal judges it
            return ""

    def wrong_objects(self) -> list[str]:
        """The checks of what is declared in the cluster that fail."""
        assert self._replay.offer is not None
        declared = self._fleet.objects[: len(self._replay.objects)]
        checks = object_checks(declared, list(self._fleet.groups.values()), self._replay.offer)
        return [f"{each.id}: {each.detail}" for each in checks if not each.passed]

    def _taken(self, each: Registered, inputs: Properties, created: Created) -> str:
        """The first label that running nodes of a pool lose when its tags change, as on day two."""
        name = created.state.get("name")
        if "tags" not in inputs or name not in self._fleet.groups:
            return ""
        before = self._fleet.groups[name].nodes.labels
        news = {**inputs, "tags": {**(inputs["tags"] or {}), "day": "two"}}
        self._provider.update(call(each), created.id, Previous(inputs, created.state), news, 0)
        lost = sorted(before.keys() - self._fleet.groups[name].nodes.labels.keys())
        return f"day-two:tag: the nodes of {name} lose the label {lost[0]}" if lost else ""

    def at_once(self, one: Registered, other: Registered) -> str:
        """The cloud's refusal of one while it makes the other; empty if there is none."""
        try:
            with self._operation(other), self._operation(one):
                return ""
        except Exception as error:  # as when it is created
            return str(error)

    def _operation(self, each: Registered) -> AbstractContextManager[None]:
        return self._provider.operation(call(each), each.id, "Creating")

    def _refused_destroy(self, there: Sequence[_There]) -> str:
        try:
            for one in reversed(there):
                self._delete(*one)
        except Exception as error:  # as when it is created
            return f"destroy: {error}"
        return ""

    def _delete(self, each: Registered, inputs: Properties, created: Created) -> None:
        self._provider.delete(call(each), created.id, inputs, created.state, 0)


Numbered = Sequence[tuple[int, Variant]]
Answers = dict[int, Refusal]


def _every(replay: Replay, program: Sequence[Made], variants: Numbered) -> Answers:
    """What a process of its own answers about its ``variants``."""
    with TemporaryDirectory() as folder:
        empty = _Creation(replay, Path(folder))
        answers: Answers = _forked(_inserted, empty, program, [one for one in variants if not one[1].created_early])
        others = [(number, one) for number, one in variants if number not in answers]
        return answers | {number: _forked(_from_nothing, empty, program, one) for number, one in others}


def _beside(replay: Replay, program: Sequence[Made], changed: Sequence[tuple[int, Object]]) -> list[str]:
    with TemporaryDirectory() as folder:
        creation = _Creation(replay, Path(folder))
        creation.add_all(program)
        before = creation.wrong_objects()
        return [_forked(creation.beside, before, *each) for each in changed]


def _inserted(creation: _Creation, program: Sequence[Made], variants: Numbered) -> Answers:
    """Of variants in the place of their resources, after the whole program has been created.

    First only what has a value of the resource comes again, then, for those that nobody notices, all that waits for it.
    """
    creation.add_all(program)
    answers = Answers()
    for urn in dict.fromkeys(one.urn for _, one in variants):
        left = [each for each in variants if each[1].urn == urn]
        for waiting in (False, True):
            answers |= _forked(_replaced, creation, _needing(urn, program, waiting=waiting), left)
            left = [each for each in left if each[0] not in answers or not any(answers[each[0]])]
    return answers


def _replaced(creation: _Creation, needing: Sequence[Made], variants: Numbered) -> Answers:
    """Of variants of the first resource of ``needing``, which is deleted first with the others.

    Empty if the program's own resources cannot be deleted and created again so.
    """
    (mutated, inputs), *others = needing
    try:
        creation.delete({each.urn for each, _ in needing})
    except Exception:
        return {}
    if not variants or any(_forked(creation.finished, [(mutated, inputs), *others])):
        return {}
    return {
        number: _forked(creation.finished, [(mutated, one.inputs), *others], one.borrowed) for number, one in variants
    }


def _needing(urn: str, program: Iterable[Made], *, waiting: bool) -> list[Made]:
    """A resource and what has a value of it, directly or not; ``waiting``: also what only waits for it."""
    needed, needing = {urn}, []
    for each, inputs in program:
        values = {urn for urns in each.dependencies.values() for urn in urns}
        if each.urn == urn or needed & {*values, *(each.after if waiting else ())}:
            needed.add(each.urn)
            needing.append((each, inputs))
    return needing


def _from_nothing(creation: _Creation, program: Sequence[Made], variant: Variant) -> Refusal:
    """Of the program with a variant; one that is created early comes before what its inputs do not reference."""
    mutated = next(each for each, _ in program if each.urn == variant.urn)
    with_it = [(each, variant.inputs if each is mutated else inputs) for each, inputs in program]
    if variant.created_early:
        needed = _needed(mutated, program)
        needing = {each.urn for each, _ in _needing(mutated.urn, program, waiting=True)}
        for each, _ in program:
            if each.urn not in needed | needing and (refusal := creation.at_once(mutated, each)):
                return refusal, ""
        with_it.sort(key=lambda made: (made[0].urn not in needed, made[0] is not mutated))
    return creation.finished(with_it, variant.borrowed)


def _needed(mutated: Registered, program: Iterable[Made]) -> set[str]:
    """What a resource's inputs refer to, and all that this needs or waits for."""
    by_urn, needed = {each.urn: each for each, _ in program}, set[str]()
    waiting = [urn for urns in mutated.dependencies.values() for urn in urns]
    while waiting:
        if (urn := waiting.pop()) not in needed and urn in by_urn:
            needed.add(urn)
            waiting += by_urn[urn].after
    return needed


def _forked(task: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """What a copy of this process answers, with all that has been created; here nothing changes."""
    forking = get_context("fork")
    reading, writing = forking.Pipe(duplex=False)
    process = forking.Process(target=lambda: writing.send(task(*args, **kwargs)))
    process.start()
    writing.close()
    try:
        answer: T = reading.recv()
    except EOFError:
        raise RuntimeError("a copy of the simulated cloud ended without an answer: its error is above") from None
    finally:
        process.join()
        reading.close()
    return answer


_WORKERS: Final = 2  # processes at once


def followed(each: Registered, inputs: Properties, changes: Changes, borrowed: str = "") -> Properties:
    """``inputs`` with the new outputs of what they are made from; ``borrowed`` may be a text of any other resource."""
    elsewhere = next((texts[borrowed] for texts in changes.values() if borrowed in texts), borrowed)

    def new(value: Any, texts: Mapping[str, str]) -> Any:
        if isinstance(value, str):
            for old in sorted(texts, key=len, reverse=True):
                if old in value:
                    return value.replace(old, texts[old])
            return elsewhere if value == borrowed else value
        if isinstance(value, list):
            return [new(item, texts) for item in value]
        return {key: new(item, texts) for key, item in value.items()} if isinstance(value, dict) else value

    needed = {key: [dict(changes.get(urn, {})) for urn in each.dependencies.get(key, ())] for key in inputs}
    return {key: new(value, dict(ChainMap(*needed[key]))) for key, value in inputs.items()}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, str]:
    """The texts of outputs that differ, at any depth."""
    replaced: dict[str, str] = {}
    for key, old in before.items():
        new = after.get(key)
        if isinstance(old, str) and isinstance(new, str) and old != new and len(old) >= _SHORTEST:
            replaced[old] = new
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            replaced |= changed(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            replaced |= changed(_numbered(old), _numbered(new))
    return replaced


def _numbered(items: list[Any]) -> dict[str, Any]:
    return {str(index): item for index, item in enumerate(items)}
