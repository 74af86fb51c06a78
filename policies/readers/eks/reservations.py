"""Reads what Amazon bills whether or not it is in use: capacity reservations, dedicated hosts, and
minimums that Batch or a schedule sets.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html
https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts import catalog
from facts.concepts.autoscaler import IdleTime
from facts.concepts.declared import Minimum, NodeGroup, NotEvaluated, Reservation, UnknownReason, capacity_type
from facts.concepts.iam import parsed
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, items, mappings_in, text, whole
from policies.readers.eks.facts import CLOUD, gpus_of
from policies.readers.eks.template import TemplateMachines, machines, typed, unknown_reasons_for
from policies.readers.node_registration import NOTHING
from policies.readers.resource import Declared, Item, Properties, Reader
from policies.readers.spelling import in_camel_case
from policies.readers.spelling import parsed as parsed_text
from policies.readers.unknown_reasons import until_update
from policies.readers.unread import unread


def read_capacity_reservation(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/capacityReservation:CapacityReservation``."""
    inputs = declared.properties
    kind, count = text(inputs.get("instanceType")), amount(inputs.get("instanceCount"), 1)
    region = _region(inputs)
    what = f"capacity reservation '{declared.name}'"
    yield Reservation(what, count, gpus_of(kind), kind, declared.urn, cloud=CLOUD, region=region)


def read_dedicated_host(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/dedicatedHost:DedicatedHost``."""
    kind = text(coalesce(declared.properties.get("instanceType"), declared.properties.get("instanceFamily")))
    region = _region(declared.properties)
    what = f"dedicated host '{declared.name}'"
    yield Reservation(what, 1, gpus_of(kind), kind, declared.urn, cloud=CLOUD, region=region)


_REGION: Final = re.compile(r"[a-z]+(?:-[a-z]+)+-\d+")


def _region(inputs: Properties) -> Maybe[str | None]:
    """The region of the zone ``us-west-2a``, or of the local one ``us-west-2-lax-1a``; ``None`` without one.

    https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html
    """
    zone = text(inputs.get("availabilityZone"))
    region = _REGION.match(zone) if isinstance(zone, str) else None
    return zone if region is None else region[0]


# What Batch chooses from, none of which has GPUs:
# https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html (``instanceTypes``)
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "optimal": ("c4", "m4", "r4", "c5", "m5", "r5"),
    "default_x86_64": ("m6i", "c6i", "r6i", "c7i"),
    "default_arm64": ("m6g", "c6g", "r6g", "c7g"),
}


def read_compute_environment(declared: Declared) -> Iterable[Item]:
    """``aws:batch/computeEnvironment:ComputeEnvironment``: machines for its jobs up to its maximum of vCPUs; with a
    minimum as many as have these stay. Those without GPUs are no node group, unless they are nodes of EKS."""
    resources = declared.properties.get("computeResources")
    least = whole(at(resources, "minVcpus"), default=0)
    named = [text(entry) for entry in items(coalesce(at(resources, "instanceTypes"), at(resources, "instanceType")))]
    types = [kind for each in named for kind in (_CATEGORIES.get(each, (each,)) if isinstance(each, str) else (each,))]
    kinds = machines(tuple(typed(kind) for kind in types))
    sizes = _vcpus_of(kinds)
    if least != 0:
        dearest = max(sizes, key=lambda name: _usd(name) / sizes[name], default=kinds.first)
        count = UNKNOWN if least is UNKNOWN else _machines_of(least or 0, dearest, sizes)
        what, region = f"minimum of Batch environment '{declared.name}'", text(declared.properties.get("region"))
        yield Reservation(what, count, kinds.gpus, dearest, declared.urn, cloud=CLOUD, region=region)
    fargate = str(at(resources, "type")).startswith("FARGATE")
    if not fargate and (kinds.gpus != 0 or declared.properties.get("eksConfiguration") is not None):
        yield _of_jobs(declared, kinds, resources)


_DELAY: Final = ("scalingPolicy", "minScaleDownDelayMinutes")
"""https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeScalingPolicy.html"""


def _of_jobs(declared: Declared, kinds: TemplateMachines, resources: Any) -> NodeGroup:
    """The machines at the environment's maximum, of the type that has the most GPUs for its vCPUs: Batch adds the last
    one whole, and chooses among all. Their price is that of the dearest for its vCPUs.

    https://docs.aws.amazon.com/batch/latest/APIReference/API_ComputeResource.html
    """
    sizes = _vcpus_of(kinds)
    counts = {name: count for name in sizes if (count := gpus_of(name)) is not UNKNOWN and count > 0}
    densest = max(counts or sizes, key=lambda name: counts.get(name, 0) / sizes[name], default=kinds.first)
    delay = whole(at(resources, *_DELAY))
    most = whole(at(resources, "maxVcpus"))
    vcpus = most if isinstance(most, int) else None
    return NodeGroup(
        name=declared.name,
        cloud=CLOUD,
        kind="machine",
        gpus=Gpus(per_node=counts.get(densest, kinds.gpus) if isinstance(densest, str) else kinds.gpus),
        scaling=Scaling(
            max_nodes=most if vcpus is None else _machines_of(vcpus, densest, sizes),
            capacity_type=capacity_type(at(resources, "type") == "SPOT"),
        ),
        limited_vcpus=vcpus,
        idle=None if delay is None else IdleTime(delay, f"computeResources.{'.'.join(_DELAY)}"),
        region=text(declared.properties.get("region")),
        nodes=Nodes(machine_types=tuple(counts or sizes) or (kinds.first,), zones=(), labels={}),
        unknown_reasons={} if _is_listed(densest) else unknown_reasons_for(kinds, NOTHING),
        resource=declared.urn,
    )


def _vcpus_of(kinds: TemplateMachines) -> dict[str, int]:
    """The instance types, those of each family, with their vCPUs; of one that the catalogue lacks, the fewest."""
    sizes: dict[str, int] = {}
    for named in kinds.types:
        if isinstance(named, str):
            known = catalog.of(CLOUD).machines
            listed = (known.get(name) for name in known.types if named in (name, name.partition(".")[0]))
            other = known.sized(named)
            sizes |= {machine.type: machine.vcpus for machine in listed if machine} or {
                named: other.vcpus if other else _FEWEST
            }
    return sizes


_FEWEST: Final = 2
"""vCPUs that Amazon sells with a GPU or a part of one: those of g6f.large, https://aws.amazon.com/ec2/instance-types/g6/."""


def _machines_of(vcpus: int, kind: Maybe[str | None], sizes: Mapping[str, int]) -> int:
    return -(-vcpus // (sizes.get(kind, _FEWEST) if isinstance(kind, str) else _FEWEST))


def _is_listed(kind: Maybe[str | None]) -> bool:
    return isinstance(kind, str) and catalog.of(CLOUD).machines.get(kind) is not None


def _usd(kind: str) -> float:
    """The price of a machine in any region, to compare; endless for one that has none."""
    machine, prices = catalog.of(CLOUD).machines.sized(kind), catalog.of(CLOUD).prices
    price = None if machine is None else prices.at_most(None, machine, spot=False)
    return math.inf if price is None else price.usd


def read_schedule(declared: Declared) -> Iterable[Item]:
    """``aws:autoscaling/schedule:Schedule``; a size that is left out, or -1, stays as it is.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-scheduled-scaling.html
    """
    inputs = declared.properties
    sizes = {name: amount(inputs.get(name), -1) for name in ("minSize", "desiredCapacity")}
    where = next((name for name, size in sizes.items() if size is UNKNOWN or size > 0), "minSize")
    yield Minimum(
        what=f"schedule '{declared.name}'",
        nodes=sizes[where],
        group=text(inputs.get("autoscalingGroupName")),
        declared_at=declared.dependencies.get("autoscalingGroupName", ()),
        where=where,
        most=amount(inputs.get("maxSize"), -1),
        resource=declared.urn,
    )


def read_scaling_policy(declared: Declared) -> Iterable[Item]:
    """``aws:autoscaling/policy:Policy`` that raises its group's maximum as far as it predicts load.

    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PredictiveScalingConfiguration.html
    """
    behaviour = at(declared.properties, "predictiveScalingConfiguration", "maxCapacityBreachBehavior")
    if at(declared.properties, "predictiveScalingConfiguration", "mode") in (None, "ForecastOnly"):
        return  # it scales nothing
    if behaviour in (UNKNOWN, "IncreaseMaxCapacity"):
        yield Minimum(
            what=f"scaling policy '{declared.name}'",
            nodes=0,
            group=text(declared.properties.get("autoscalingGroupName")),
            declared_at=declared.dependencies.get("autoscalingGroupName", ()),
            where="predictiveScalingConfiguration.maxCapacityBreachBehavior",
            most=UNKNOWN,
            resource=declared.urn,
        )


def read_scaling_plan(declared: Declared) -> Iterable[Item]:
    """``aws:autoscalingplans/scalingPlan:ScalingPlan``: https://docs.aws.amazon.com/autoscaling/plans/APIReference/."""
    for number, instruction in enumerate(items(declared.properties.get("scalingInstructions"))):
        target = text(at(instruction, "resourceId"))
        yield Minimum(
            what=f"scaling plan '{declared.name}'",
            nodes=amount(at(instruction, "minCapacity")),
            group=target.rpartition("/")[2] if isinstance(target, str) else target,
            where=f"scalingInstructions[{number}].minCapacity",
            most=_most_of_plan(instruction),
            resource=declared.urn,
        )


def _most_of_plan(instruction: Any) -> Maybe[int]:
    """Its maximum, unknown where predictions may raise it."""
    if at(instruction, "predictiveScalingMaxCapacityBehavior") in (None, "SetForecastCapacityToMaxCapacity"):
        return amount(at(instruction, "maxCapacity"))
    return UNKNOWN


# Calls that change a group's size → where they name the group, its sizes, and its maximum:
# https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_SetDesiredCapacity.html,
# https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupConfig.html
_CALLS: Final[Mapping[str, tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]]]] = {
    "autoscaling:setDesiredCapacity": ("AutoScalingGroupName", (("DesiredCapacity",),), ()),
    "autoscaling:updateAutoScalingGroup": ("AutoScalingGroupName", (("MinSize",), ("DesiredCapacity",)), ("MaxSize",)),
    "eks:updateNodegroupConfig": (
        "NodegroupName",
        (("ScalingConfig", "MinSize"), ("ScalingConfig", "DesiredSize")),
        ("ScalingConfig", "MaxSize"),
    ),
}


# Calls that add no machine and run no script: those that read, by the beginnings that the page below lists; those that
# take away; and those of services that have no machines with GPUs, or start what is declared by itself.
_ADDS_NOTHING: Final = re.compile(
    r"(?!\w+:\w*[cC]apacityProvider)(?:\w+:(?:get|describe|list|poll|receive|search|scan|query|select|read|lookup|discover|validate|batch(?:Get|Describe|Read)"
    r"|head|stop|terminate|delete|deregister|cancel|tag|untag)[A-Z].*"
    r"|(?:apigateway|athena|backup|bedrock\w*|cloudwatch\w*|comprehend\w*|dynamodb|ec[rs]|events|eventbridge|firehose|glue"
    r"|kinesis|kms|lambda|polly|rds\w*|redshift\w*|rekognition|s3\w*|secretsmanager|ses\w*|sfn|sns|sqs|states|textract"
    r"|transcribe|translate):.*|batch:submitJob.*)",
)


def _others(calls: Iterable[str]) -> Iterator[str]:
    """The calls of which no size is read and that may add machines; a suffix says how long to wait for them."""
    for call in calls:
        name = call.partition(".")[0]
        if name and name not in _CALLS and not _ADDS_NOTHING.fullmatch(name):
            yield name


def read_event_schedule(declared: Declared) -> Iterable[Item]:
    """``aws:scheduler/schedule:Schedule``: it may call any API.

    https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html
    """
    target = declared.properties.get("target")
    yield from until_update(declared, at(target, "arn"), "what it calls")
    call = str(at(target, "arn")).partition(":aws-sdk:")[2]
    yield from _sizes(call, parsed(at(target, "input")), "target.input", declared, "schedule")
    yield from unread(declared, _others([call]))


def read_state_machine(declared: Declared) -> Iterable[Item]:
    """``aws:sfn/stateMachine:StateMachine``: its tasks may call any API.

    https://docs.aws.amazon.com/step-functions/latest/dg/supported-services-awssdk.html,
    https://docs.aws.amazon.com/step-functions/latest/dg/integrate-optimized.html
    """
    calls = []
    yield from until_update(declared, declared.properties.get("definition"), "its definition")
    for state in mappings_in(parsed(declared.properties.get("definition"))):
        call = str(at(state, "Resource")).partition(":states:::")[2].removeprefix("aws-sdk:")
        calls.append(call)
        for where in ("Parameters", "Arguments"):
            yield from _sizes(call, at(state, where), f"definition … {where}", declared, "state machine")
    yield from unread(declared, _others(calls))


def read_automation(declared: Declared) -> Iterable[Item]:
    """``aws:ssm/document:Document``, whose steps may call any API.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeawsapi.html
    """
    content = declared.properties.get("content")
    if _SCRIPT.search(str(content)):
        yield _opaque(declared)
    yield from until_update(declared, content, "its content")
    calls = []
    for step in mappings_in(parsed_text(content)):
        inputs = at(step, "inputs")
        api = str(at(inputs, "Api"))
        call = f"{str(at(inputs, 'Service')).lower()}:{api[:1].lower()}{api[1:]}"
        calls += [call] if isinstance(at(inputs, "Api"), str) else [_ACTIONS.get(str(at(step, "action")), "")]
        yield from _sizes(call, inputs, "content … inputs", declared, "document")
    yield from unread(declared, _others(calls))


# https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
_ACTIONS: Final = {"aws:createStack": "cloudformation:createStack", "aws:runInstances": "ec2:runInstances"}


def read_association(declared: Declared) -> Iterable[Item]:
    """``aws:ssm/association:Association`` with a document of AWS that runs a script on machines."""
    if _SCRIPT.search(str(declared.properties.get("name"))):
        yield _opaque(declared)


_SCRIPT: Final = re.compile(
    r"aws:(?:run(?:Command|PowerShellScript|ShellScript)|executeScript)|AWS-Run\w*(?:Script|Playbook)"
)


def read_event_target(declared: Declared) -> Iterable[Item]:
    """``aws:cloudwatch/eventTarget:EventTarget``: it may start a document of Systems Manager.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-targets.html
    """
    target = declared.properties.get("arn")
    yield from until_update(declared, target, "its target")
    if re.search(r":ssm:[^:]*:[^:]*:(?:document|automation-definition)/", str(target)):
        yield _opaque(declared)


def read_integration(declared: Declared) -> Iterable[Item]:
    """``aws:apigateway/integration:Integration``: it may call any API.

    https://docs.aws.amazon.com/apigateway/latest/api/API_Integration.html (``uri``)
    """
    uri = declared.properties.get("uri")
    yield from until_update(declared, uri, "its address")
    match = re.fullmatch(r"arn:aws[\w-]*:apigateway:[\w-]*:(?:[\w-]+\.)?([\w-]+):action/(\w+)", str(uri))
    call = "" if match is None else f"{match[1].lower()}:{match[2][:1].lower()}{match[2][1:]}"
    yield from unread(declared, _others([call]))


def _opaque(declared: Declared) -> NotEvaluated:
    reason = UnknownReason("it runs a script", "Check it by hand and exempt it by name.")
    return NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn, opaque=True)


def _sizes(call: str, values: Any, where: str, declared: Declared, what: str) -> Iterator[Minimum]:
    """The numbers of machines that one call of the API asks for."""
    if call not in _CALLS or values is None:
        return
    (group, sizes, maximum), spelled = _CALLS[call], in_camel_case(values)
    most = amount(at(spelled, *map(_lowered, maximum))) if maximum else 0
    for path in sizes:
        steps = [_lowered(step) for step in path]
        yield Minimum(
            what=f"{what} '{declared.name}'",
            nodes=amount(at(spelled, *steps)),
            group=(named := text(at(spelled, _lowered(group)))),
            declared_at=declared.dependencies.get(where.split()[0].split(".")[0], ()) if named is UNKNOWN else (),
            where=f"{where}.{'.'.join(path)}",
            most=most,
            resource=declared.urn,
        )


def _lowered(step: str) -> str:
    return f"{step[:1].lower()}{step[1:]}"


READERS: Final[Mapping[str, Reader]] = {
    "aws:autoscaling/policy:Policy": read_scaling_policy,
    "aws:autoscaling/schedule:Schedule": read_schedule,
    "aws:autoscalingplans/scalingPlan:ScalingPlan": read_scaling_plan,
    "aws:scheduler/schedule:Schedule": read_event_schedule,
    "aws:sfn/stateMachine:StateMachine": read_state_machine,
    "aws:apigateway/integration:Integration": read_integration,
    "aws:cloudwatch/eventTarget:EventTarget": read_event_target,
    "aws:ssm/association:Association": read_association,
    "aws:ssm/document:Document": read_automation,
    "aws:batch/computeEnvironment:ComputeEnvironment": read_compute_environment,
    "aws:ec2/capacityReservation:CapacityReservation": read_capacity_reservation,
    "aws:ec2/dedicatedHost:DedicatedHost": read_dedicated_host,
}
