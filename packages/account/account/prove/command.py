"""The command ``prove``, part *cluster*: reads, asks, runs, reports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from account.prove import report
from account.prove.observed import user_of
from account.prove.plan import ProveError, ProvePlan, ProveRequest, described, plan
from account.prove.run import Clock, ProveRun, RealClock, leftovers
from account.rows import lines, passed
from facts.concepts.counts import counted
from facts.concepts.offer import Offer
from gpu import __version__
from gpu.cluster import ClusterClient, job_path

EXIT_FAILED: Final = 1
_VERSION: Final = "/version"


@dataclass(frozen=True, kw_only=True)
class ProveOptions:
    """``stack``: the name that the cluster has to publish. ``folder``: where the report goes. ``rehearsal``: the
    report.json of the stack's last rehearsal, which need not be there. ``confirm`` asks a question."""

    stack: str
    folder: Path
    rehearsal: Path
    pools: tuple[str, ...] = ()
    minutes: int = 20
    max_usd: float | None = None
    yes: bool = False


def prove(
    cluster: ClusterClient,
    options: ProveOptions,
    *,
    say: Callable[[str], None],
    confirm: Callable[[str], bool],
    clock: Clock | None = None,
) -> int:
    """Exit code 0 if nothing failed and something was shown, 1 if not.

    Raises:
        ProveError: nothing was created; the message says what to write.
        ClusterError: the cluster cannot be reached, or refuses.
        OfferError: the published pools cannot be read.
    """
    if options.yes and options.max_usd is None:
        raise ProveError("--yes: nobody is asked for the price; write the most that it may be with --max-usd")
    offer, user = cluster.offer(), user_of(cluster)
    if offer.stack != options.stack:
        raise ProveError(
            f"context {cluster.context}: the cluster is that of stack {offer.stack}, not {options.stack}; choose its "
            "context with --context"
        )
    request = ProveRequest(
        namespace=cluster.namespace,
        user=user,
        pools=options.pools,
        minutes=options.minutes,
        max_usd=options.max_usd,
    )
    planned = plan(offer, request)
    place = ", ".join(filter(None, (offer.cloud, offer.region)))
    say(f"{offer.cluster} ({place}), namespace {cluster.namespace}, as {user}")
    _remove_leftovers(cluster, user, say)
    for line in described(planned):
        say(line)
    if not options.yes and not confirm("Create these jobs?"):
        say("nothing was created")
        return EXIT_FAILED
    return _run(cluster, offer, planned, options, say, clock or RealClock())


def _run(
    cluster: ClusterClient,
    offer: Offer,
    planned: ProvePlan,
    options: ProveOptions,
    say: Callable[[str], None],
    clock: Clock,
) -> int:
    outcome = ProveRun(cluster, offer, planned, say, clock).run()
    versions = {
        "gpu": __version__,
        "kubernetes": str(cluster.get(_VERSION).get("gitVersion")),
        "python": sys.version.split()[0],
    }
    compared = report.compare(offer, outcome.evidence, options.rehearsal)
    content = report.as_json(offer, planned, outcome, versions, compared)
    file = report.write(content, options.folder)
    table = options.folder / "differences.md"
    table.write_text("".join(f"{line}\n" for line in report.difference_lines(compared)), encoding="utf-8")
    say("")
    for line in lines(outcome.rows):
        say(line)
    say(f"Not shown by this part: {'; '.join(report.NOT_SHOWN['cluster'])}.")
    rehearsed = "the rehearsal" if options.rehearsal.exists() else "what is published (no rehearsal of the stack here)"
    say(f"Differences from {rehearsed}: {len(compared)}, in {_short(table)}")
    say(f"{content['verdict'].upper()} {offer.stack}, at most ${outcome.max_usd:.2f}. Report: {_short(file)}")
    return 0 if passed(outcome.rows) else EXIT_FAILED


def _short(file: Path) -> Path:
    """The file from where the user is, if it is below."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def _remove_leftovers(cluster: ClusterClient, user: str, say: Callable[[str], None]) -> None:
    mine, others = leftovers(cluster, user)
    for name in mine:
        cluster.delete(job_path(cluster.namespace, name))
    if mine:
        say(f"deleted {counted(len(mine), 'job')} of an earlier run: {', '.join(mine)}")
    if others:
        say(f"left alone, of another user's run: {', '.join(others)}")
