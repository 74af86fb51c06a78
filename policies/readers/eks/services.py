"""Reads services of ECS whose tasks have GPUs: they keep machines as long as they run, and no rule is about ECS.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-gpu.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.declared import NotEvaluated, UnknownReason
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, items
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import parsed
from policies.readers.unknown_reasons import until_update

_SERVICES: Final = ("aws:ecs/service:Service", "aws-native:ecs:Service")
TASKS: Final = ("aws:ecs/taskDefinition:TaskDefinition", "aws-native:ecs:TaskDefinition")
TARGETS: Final = ("aws:appautoscaling/target:Target", "aws-native:applicationautoscaling:ScalableTarget")
_REMEDY: Final = (
    "Run its work as tasks or jobs that end, or let an aws.appautoscaling.Target with minCapacity 0 scale it. If it "
    "has to run, exempt it by name."
)


def read_service(declared: Declared) -> Iterable[Item]:
    """``aws:ecs/service:Service`` with its task definition: tasks with GPUs that run whether or not there is work."""
    inputs = declared.properties
    if inputs.get("launchType") == "FARGATE" or inputs.get("schedulingStrategy") == "DAEMON":
        return  # no GPUs there; on each machine, however many there are
    tasks = [each for each in declared.references if each.type in TASKS and _may_have_gpus(each)]
    for task in tasks:
        yield from until_update(declared, _containers(task), "what its containers ask for")
    gpus = max(map(_gpus_of, tasks), default=0)
    if not gpus:
        return
    count = _tasks_of(declared)
    yield from until_update(declared, count, "the number of its tasks with GPUs")
    if count is not UNKNOWN and count > 0:
        why = f"it keeps {counted(count, 'task')} with {counted(gpus, 'GPU')} each, whether there is work or not, "
        reason = UnknownReason(f"{why}and no rule is about ECS", _REMEDY)
        yield NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn)


def _may_have_gpus(task: Declared) -> bool:
    return items(task.properties.get("requiresCompatibilities")) != ["FARGATE"]


def _containers(task: Declared) -> Any:
    """The containers, which the provider ``aws`` has as a text."""
    return parsed(task.properties.get("containerDefinitions"))


def _gpus_of(task: Declared) -> int:
    """https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ResourceRequirement.html"""
    asked = [each for container in items(_containers(task)) for each in items(at(container, "resourceRequirements"))]
    values = [amount(at(each, "value"), 1) for each in asked if str(at(each, "type")).upper() == "GPU"]
    return sum(1 if value is UNKNOWN else value for value in values)


def _tasks_of(declared: Declared) -> Maybe[int]:
    """How many tasks always run: the least of what scales the service, or else its number; without one the provider
    ``aws`` starts none, and the API one.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html
    """
    targets = [each for each in declared.references if each.type in TARGETS]
    if not targets:
        return amount(declared.properties.get("desiredCount"), 0 if declared.type.startswith("aws:") else 1)
    least = [amount(each.properties.get("minCapacity"), 0) for each in targets]
    known = [each for each in least if each is not UNKNOWN]
    return UNKNOWN if len(known) < len(least) else max(known)


READERS: Final[Mapping[str, Reader]] = dict.fromkeys(_SERVICES, read_service)


def _parts(declared: Declared, everything: Program) -> Iterator[Declared]:
    """The task definition, by its output or its family; what scales the service, by its output or its name."""
    sources = declared.dependencies.get("taskDefinition", ())
    named = str(declared.properties.get("taskDefinition")).rpartition("/")[2].partition(":")[0]
    for task in everything.of(*TASKS):
        own = (task.properties.get("family"), task.properties.get("id"))
        if task.urn in sources or named in own:
            yield task
    names = (declared.properties.get("name"), declared.properties.get("serviceName"))
    for target in everything.of(*TARGETS):
        resource = target.properties.get("resourceId")
        by_name = isinstance(resource, str) and resource.startswith("service/") and resource.rpartition("/")[2] in names
        if by_name or declared.urn in target.dependencies.get("resourceId", ()):
            yield target


REFERRERS: Final[Mapping[str, Referrer]] = dict.fromkeys(_SERVICES, Referrer(refers=lambda _: True, finds=_parts))
