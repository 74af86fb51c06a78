"""``gpu fit``: where a job would run, in one cluster or in all; and which of the clusters ``gpu submit`` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from facts.concepts.offer import OfferError
from facts.concepts.rest import resource_path
from facts.jobs.fit import Fit, PodRequest, comparable, fits, misses
from facts.jobs.job import AskError, JobRequest
from facts.jobs.plan import NothingFits, place, team_of
from gpu.cluster import ClusterClient, ClusterError, all_clusters, pod_path
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, dollars, err, fail, out, print_json, table_of
from gpu.commands.following import events_around
from gpu.commands.offer import (
    as_json,
    by_pool,
    described,
    hourly_usd,
    list_nodes,
    node_of,
    nodes_for,
    nodes_up,
    offer_of,
    request_of,
    unknown_size,
)
from gpu.commands.record import WorkerOptions, takes
from gpu.start import Start, Usage, start_of, waits_for_node

_AT_ONCE: Final = 16
_NOWHERE: Final = "no pool fits in any cluster of your kubeconfig that answered"
_SHORT: Final = {"now": "now", "if-room": "now, if room", "minutes": "minutes", "unknown": "?", "waits": "waits"}


class ClusterChoice(str, Enum):
    """Which cluster gets a job."""

    SOONEST = "soonest"
    CHEAPEST = "cheapest"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A cluster that can run the job, and when it would start there."""

    cluster: ClusterClient
    fit: Fit
    nodes: Mapping[str, int] | None
    start: Start
    hourly_usd: float | None
    nodes_needed: int


@dataclass(frozen=True, kw_only=True)
class FitQuestion(WorkerOptions):
    """The options of ``gpu fit``."""

    everywhere: Annotated[bool, typer.Option("--all", help="Compare all clusters of your kubeconfig.")] = False
    team: options.Team = None
    context: options.Context = None
    json: options.Json = False


@takes(FitQuestion)
def fit(asked: FitQuestion) -> None:
    """Show where a job would run, its price and when it starts.

    Exit code 1 if no pool fits.
    """
    request = request_of(asked)
    if asked.everywhere:
        if asked.context is not None:
            fail("--all asks all clusters, --context one; write one of them", EXIT_BAD_INPUT)
        if not _compare(request, asked.team, json=asked.json):
            raise typer.Exit(EXIT_NO)
        return
    cluster = ClusterClient(asked.context, asked.team)
    request = replace(request, namespace=cluster.namespace)
    offer = offer_of(cluster)
    fitting, others = fits(offer, request), misses(offer, request)
    nodes = nodes_up(cluster)
    if asked.json:
        lacking = [{"pool": each.pool.name, "lacks": list(each.lacks)} for each in others]
        print_json({"fits": [as_json(each, request, nodes) for each in fitting], "misses": lacking})
    elif fitting:
        for each in fitting:
            out().print(described(each, request, nodes))
    else:
        out().print(str(NothingFits(others)))
        for miss in others[1:]:
            out().print(f"  {miss.pool.name}: {'; '.join(miss.lacks)}")
    if not fitting:
        raise typer.Exit(EXIT_NO)


def choose(choice: ClusterChoice, team: str | None, request: PodRequest) -> ClusterClient:
    """The cluster of the kubeconfig that gets the job; prints which and why, and what is wrong with others.

    Clusters without the job's namespace, or whose quota for it is too small, are left out.

    Raises:
        ClusterError: no usable kubeconfig.
        typer.Exit: the job fits nowhere.
    """
    places, problems = _places(request, all_clusters(team), submits=True)
    _print_problems(problems)
    if not places:
        fail(_NOWHERE, EXIT_NO)
    match choice:
        case ClusterChoice.SOONEST:
            chosen = places[0]
        case ClusterChoice.CHEAPEST:
            chosen = cheapest_of(places)
    err().print(escape(f"context {chosen.cluster.context}: {_when(chosen.start)}"))
    return chosen.cluster


def _compare(request: PodRequest, team: str | None, *, json: bool) -> bool:
    """Print where the job fits, soonest first, and why not elsewhere; whether it fits anywhere. Raises ClusterError."""
    places, problems = _places(request, all_clusters(team))
    if json:
        print_json({"fits": [_as_json(each, request) for each in places], "others": problems})
        return bool(places)
    if places:
        out().print(_table(places))
        out().print(escape(_advice(places)))
        for each in places:
            if note := unknown_size(each.fit, request, each.nodes):
                out().print(f"[dim]{escape(each.cluster.context + note)}[/]")
    _print_problems(problems)
    if not places:
        out().print(_NOWHERE)
    return bool(places)


def _places(
    request: PodRequest, clusters: Sequence[ClusterClient], *, submits: bool = False
) -> tuple[list[Place], dict[str, str]]:
    """Where the job fits, soonest first, then cheapest; and by context why not elsewhere."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = list(threads.map(lambda each: _ask(each, request, submits=submits), clusters))
    places = [answer for answer in answers if isinstance(answer, Place)]
    places = [each for _, each in sorted(_priced(places), key=lambda pair: (pair[1].start.rank, pair[0]))]
    by_context = zip((cluster.context for cluster in clusters), answers, strict=True)
    return places, {context: answer for context, answer in by_context if isinstance(answer, str)}


def _ask(cluster: ClusterClient, request: PodRequest, *, submits: bool) -> Place | str:
    """Where ``gpu submit`` would put the job in a cluster, or why it fits nowhere."""
    try:
        offer = offer_of(cluster)
        if submits and cluster.find(resource_path("v1", "namespaces", cluster.namespace)) is None:
            return f"has no namespace {cluster.namespace}"
        request = replace(request, namespace=cluster.namespace)
        fit = place(offer, request)
        team_of(offer, JobRequest(**vars(request), name="any"))
        nodes = list_nodes(cluster)
        return Place(
            cluster=cluster,
            fit=fit,
            nodes=by_pool(nodes),
            start=start_of(fit, request, _usage(cluster, nodes)),
            hourly_usd=hourly_usd(fit, request),
            nodes_needed=nodes_for(fit, request),
        )
    except (AskError, ClusterError, NothingFits, OfferError) as error:
        if isinstance(error, ClusterError) and error.status == HTTPStatus.NOT_FOUND:
            return "publishes no GPU pools"
        return str(error).removeprefix(f"context {cluster.context}: ")
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        # One cluster's answer of another shape says nothing of the others.
        return f"gives an answer that cannot be read ({type(error).__name__}: {error})"


def cheapest_of(places: Sequence[Place]) -> Place:
    """The place with the lowest list price, like compared with like."""
    return min(_priced(places), key=lambda pair: pair[0])[1]


def _priced(places: Sequence[Place]) -> list[tuple[tuple[bool, float, bool], Place]]:
    """The places with what orders them: cheapest first, of the same price spot first, unknown prices last."""
    prices = zip(comparable([place.fit for place in places]), places, strict=True)
    return [((usd is None, (usd or 0.0) * place.nodes_needed, not place.fit.spot), place) for usd, place in prices]


def _usage(cluster: ClusterClient, nodes: Sequence[dict[str, Any]] | None) -> Usage:
    """Raises ClusterError."""
    everywhere = cluster.list_if_allowed(pod_path(""))
    namespace = cluster.namespace if everywhere is None else ""
    pods = (cluster.list_if_allowed(pod_path(namespace)) or []) if everywhere is None else everywhere
    return Usage(
        nodes=nodes,
        pods=pods,
        events=events_around(cluster, namespace) if any(map(waits_for_node, pods)) else (),
        quotas=cluster.list_if_allowed(resource_path("v1", "resourcequotas", None, cluster.namespace)) or (),
        everywhere=everywhere is not None,
    )


def _print_problems(problems: Mapping[str, str]) -> None:
    for context, problem in problems.items():
        err().print(f"[dim]{escape(f'{context}: {problem}')}[/]")


def _as_json(place: Place, request: PodRequest) -> dict[str, Any]:
    return {
        "context": place.cluster.context,
        "node": node_of(place.fit.pools[0]),
        **as_json(place.fit, request, place.nodes),
        "start": place.start.stage,
        "startReason": place.start.why,
    }


def _table(places: Sequence[Place]) -> Table:
    table = table_of("context", "pools", "node", "$/h", "start", numbers=("$/h",))
    for each in places:
        pools = ", then ".join(pool.name for pool in each.fit.pools)
        price = dollars(each.hourly_usd, at_most=each.fit.price_at_most)
        table.add_row(escape(each.cluster.context), pools, node_of(each.fit.pools[0]), price, _SHORT[each.start.stage])
    return table


def _when(start: Start) -> str:
    if start.stage == "now":
        return f"starts at once: {start.why}"
    if start.stage == "minutes":
        return f"{start.why}; a node takes some minutes"
    return f"waits: {start.why}" if start.stage == "waits" else start.why


def _advice(places: Sequence[Place]) -> str:
    """Where it starts soonest and where it is cheapest, and the option that chooses the cluster."""
    soonest, cheapest = places[0], cheapest_of(places)
    unknown = len(places) > 1 and any(place.fit.spot and place.fit.price_at_most for place in places)
    note = "\ncompared at prices on demand, because a spot price is not known" if unknown else ""
    when = f"--context {soonest.cluster.context} ({_when(soonest.start)})"
    if soonest is cheapest:
        return f"soonest and cheapest: {when}{note}"
    return f"soonest: {when}\ncheapest: --context {cheapest.cluster.context} ({_when(cheapest.start)}){note}"
