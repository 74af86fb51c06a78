"""Records what GPU nodes and the pods on them cost: the program of a CronJob (``components/ledger.py``).

``gpu cost --month`` reads it with the same functions (``by_day``, ``cost_of``, ``idle_usd``).

ConfigMaps of the namespace ``NAMESPACE`` have one entry for each node and each pod of a day (UTC), by UID, in as many
ConfigMaps as the day needs. An entry has moments, never sums, and only the earliest start and the latest end of those
that are known count. So whoever writes it again, at the same time or after a restart, counts nothing twice. A month of
which no day is kept any more is one line in the ConfigMap ``HEAD``.

Uses the standard library only, because the image has nothing else.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

NAMESPACE = "gpucluster-ledger"
HEAD = "gpucluster-ledger"
"""The ConfigMap with the last run, and the months that are one line."""
MONTH_LABEL = "gpucluster.dev/ledger-month"
"""Label of the ConfigMaps of a month's days: ``2026-11``."""
DAY_LABEL = "gpucluster.dev/ledger-day"
"""The same of a day: ``2026-11-29``."""
USER = "gpucluster.dev/user"
"""Annotation of pods and Jobs: who submitted them, as ``gpu submit`` writes it."""
EVERY_MINUTES = 5
"""How often this program runs."""
MONTHS = 4
"""The months of which days are kept, with the current one."""
MOST_BYTES = 800_000
"""Of a ConfigMap: the API server refuses more than 1 MiB (https://kubernetes.io/docs/concepts/configuration/configmap/)."""

_DAY = 86_400
_OFFER = "/api/v1/namespaces/kube-system/configmaps/gpucluster-pools"
_NODES = "/api/v1/nodes"
_PODS = "/api/v1/pods"
_JOBS = "/apis/batch/v1/jobs"
_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
_EVENTS = "/api/v1/events"
_CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_POOL_LABEL = "gpucluster.dev/pool"
# Objects of people have up to 1.5 MiB, a multiple of that in memory: https://etcd.io/docs/v3.6/dev-guide/limit/
_PAGE = 20
_TRIES = 5
_LONGEST_NAME = 253
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/; old kubelets write a name as UID."""
_EVENT_SECONDS = 30
"""How long events of one kind are read. People write events, too, any number of them, and a run has 240 seconds."""
# Where Kubernetes mounts the account and serves its API in every pod; a rehearsal has other places.
_ACCOUNT = os.environ.get("SERVICE_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount")
_SERVER = os.environ.get("API_SERVER", "https://kubernetes.default.svc")


class NodeEntry(NamedTuple):
    """A node on one day: US dollars an hour (``None``: unknown; ``at_most``: an upper limit), when it was there (Unix
    time), with Karpenter since its machine was launched. ``final``: it is gone, so ``end`` is no moment at which it was
    only seen.

    Without a price and ``at_most``: it was gone when the program ran again, and was there at most from ``start`` to
    ``end``, which no row counts. ``pool`` is empty where nobody knows it (``uncounted``).
    """

    name: str
    pool: str
    spot: bool
    usd: float | None
    at_most: bool
    start: int
    end: int
    final: bool


class PodEntry(NamedTuple):
    """A pod on one day: its share of the price of its node an hour; since when the node is there for it (``start``),
    since when it runs (``None``: not yet), and its end.

    ``owner`` is the beginning of the UID of its Job. ``estimated``: its node was not seen, or its times are its Job's.
    """

    namespace: str
    job: str
    owner: str
    user: str
    node: str
    gpus: int
    usd: float | None
    start: int
    running: int | None
    end: int
    final: bool
    estimated: bool


class Day(NamedTuple):
    """The entries of a day by UID; ``missing``: by the UID of a Job how many of its pods are not counted."""

    nodes: dict[str, NodeEntry]
    pods: dict[str, PodEntry]
    missing: dict[str, int]


def entries(config_map: Mapping[str, Any]) -> Day:
    """The entries of one ConfigMap of a day."""
    data = config_map.get("data") or {}
    read = {key: json.loads(data.get(key) or "{}") for key in Day._fields}
    nodes = {uid: NodeEntry(*fields) for uid, fields in read["nodes"].items()}
    return Day(nodes, {uid: PodEntry(*fields) for uid, fields in read["pods"].items()}, read["missing"])


def merged(days: Iterable[Day]) -> Day:
    """What several writers know of the same day."""
    whole = Day({}, {}, {})
    for day in days:
        for uid, node in day.nodes.items():
            whole.nodes[uid] = _merged(whole.nodes.get(uid), node)
        for uid, pod in day.pods.items():
            whole.pods[uid] = _merged(whole.pods.get(uid), pod)
        for uid, count in day.missing.items():
            whole.missing[uid] = max(count, whole.missing.get(uid, 0))
    return whole


def _merged(one: Any, other: Any) -> Any:
    """The first price counts: it is the one of the day's beginning, or of the start."""
    if one is None:
        return other
    ends = {each.end for each in (one, other) if each.final} or {one.end, other.end}
    both = one._replace(start=min(one.start, other.start), end=max(ends), final=one.final or other.final)
    if isinstance(one, PodEntry):
        running = [each.running for each in (one, other) if each.running is not None]
        both = both._replace(running=min(running, default=None))
    return both


def uncounted(node: NodeEntry) -> bool:
    """Whether the entry is a node's time that is not known, and that nothing counts."""
    return node.usd is None and node.at_most


def hours(start: int | None, end: int) -> float:
    """Between two moments; 0 without a start."""
    return 0.0 if start is None else max(0, end - start) / 3600


class Cost(NamedTuple):
    """US dollars, and hours of one GPU."""

    gpu_hours: float = 0.0
    running: float = 0.0
    provisioning: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(*map(sum, zip(self, other, strict=True)))


def cost_of(pod: PodEntry) -> Cost:
    """What a pod cost on its day. A pod whose price is not known has GPU hours alone."""
    ran, began = hours(pod.running, pod.end), hours(pod.start, pod.end)
    usd = pod.usd or 0.0
    return Cost(gpu_hours=ran * pod.gpus, running=ran * usd, provisioning=(began - ran) * usd)


def idle_usd(day: Day) -> float:
    """What the day's nodes cost while no pod ran or started there: in all, and less what their pods cost."""
    whole = {uid: hours(node.start, node.end) * node.usd for uid, node in day.nodes.items() if node.usd is not None}
    used = dict.fromkeys(whole, 0.0)
    for pod in day.pods.values():
        if pod.node in used:
            cost = cost_of(pod)
            used[pod.node] += cost.running + cost.provisioning
    return sum(max(0.0, usd - used[uid]) for uid, usd in whole.items())


def _parts(entry: Any, after: int) -> Iterator[tuple[str, Any]]:
    """The entry on each of its days that had not ended at ``after``, cut at midnight."""
    day = max(entry.start, after) // _DAY * _DAY
    while day <= entry.end:
        start, end = max(entry.start, day), min(entry.end, day + _DAY)
        part = entry._replace(start=start, end=end, final=entry.final or entry.end > day + _DAY)
        if isinstance(entry, PodEntry):
            running = entry.running
            part = part._replace(running=None if running is None or running >= day + _DAY else max(running, start))
        if end > start or entry.start == entry.end:
            yield datetime.fromtimestamp(day, timezone.utc).strftime("%Y-%m-%d"), part
        day += _DAY


def _time(text: str | None) -> int | None:
    """Unix time of what Kubernetes writes, with or without fractions of a second."""
    return None if not text else int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def _gpus(spec: Mapping[str, Any]) -> int:
    """Of a pod, as ``facts/concepts/kubernetes.py`` counts them, which this program cannot import."""
    most = together = 0
    for container in spec.get("initContainers") or ():
        needed = together + _gpus_of(container)
        most = max(most, needed)
        if container.get("restartPolicy") == "Always":
            together = needed
    return max(most, together + sum(map(_gpus_of, spec.get("containers") or ())))


def _gpus_of(container: Mapping[str, Any]) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    return sum(_whole(str(limits.get(resource, 0))) for resource in json.loads(os.environ["RESOURCES"]))


def _whole(text: str) -> int:
    """A quantity of devices, which is a whole number, as the API server writes it: ``2000`` is ``2k``.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    digits = text.rstrip("kKMGTPEi")
    suffix = text[len(digits) :]
    base = 1024 if suffix.endswith("i") else 1000
    return int(float(digits) * base ** ("", "k", "M", "G", "T", "P", "E").index(suffix.rstrip("i").replace("K", "k")))


def _with_gpus(objects: Iterable[Any]) -> Iterator[Any]:
    """The pods, or Jobs, that request GPUs. One that cannot be read is left out, and those of others are counted."""
    for each in objects:
        metadata, spec = each["metadata"], each["spec"]
        try:
            gpus = _gpus(spec["template"]["spec"] if "template" in spec else spec)
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            sys.stdout.write(f"left out: {metadata['namespace']} {metadata['name']}: {type(error).__name__}\n")
        else:
            if gpus:
                yield each


class _Job(NamedTuple):
    """What is kept of a Job with GPUs, whose object may be large: its times (Unix time), how many of its pods ended,
    and the published pools that its pods may use."""

    namespace: str
    name: str
    uid: str
    user: str
    gpus: int
    pools: tuple[str, ...]
    at_once: int
    indexed: bool
    start: int | None
    end: int | None
    ended: int

    @property
    def owner(self) -> str:
        """In the entries of its pods."""
        return self.uid[:8]


def _job(job: Any, pools: Mapping[str, Any]) -> _Job:
    metadata, spec, status = job["metadata"], job["spec"], job.get("status") or {}
    template = spec["template"]["spec"]
    return _Job(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        user=_user_of(job),
        gpus=_gpus(template),
        pools=tuple(name for name in dict.fromkeys(_allowed(template)) if name in pools),
        at_once=max(1, spec.get("parallelism", 1)),
        indexed=spec.get("completionMode") == "Indexed",
        start=_time(status.get("startTime")),
        end=_end_of(job),
        ended=(status.get("succeeded") or 0) + (status.get("failed") or 0),
    )


def _with_karpenter() -> bool:
    return os.environ.get("KARPENTER") == "yes"


def _launches() -> dict[str, int]:
    """UID of a NodeClaim → when its machine was launched, which bills it. Other autoscalers than Karpenter leave
    nothing of it in the cluster.

    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/launch.go
    """
    return {
        claim["metadata"]["uid"]: moment
        for claim in (_list(_CLAIMS) if _with_karpenter() else ())
        for each in (claim.get("status") or {}).get("conditions") or ()
        if (each["type"], each["status"]) == ("Launched", "True")
        and (moment := _time(each["lastTransitionTime"])) is not None
    }


def _nodes(
    listed: Iterable[Any], before: Mapping[str, NodeEntry], pools: Mapping[str, Any], now: int
) -> dict[str, NodeEntry]:
    """UID → the GPU node as it is now, at the price that it had when it was first seen."""
    found = {}
    launches = _launches()
    for node in listed:
        metadata = node["metadata"]
        pool = metadata["labels"][_POOL_LABEL]
        offer = pools.get(pool) or {}
        created = _time(metadata["creationTimestamp"]) or now
        owners = (each["uid"] for each in metadata.get("ownerReferences") or ())
        launched = next((launches[uid] for uid in owners if uid in launches), created)
        if offer or metadata["uid"] in before:
            found[metadata["uid"]] = NodeEntry(
                name=metadata["name"],
                pool=pool,
                spot=bool(offer.get("spot")),
                usd=offer.get("hourly_usd"),
                at_most=bool(offer.get("price_at_most")),
                start=min(launched, created),
                end=now,
                final=False,
            )
        if metadata["uid"] in before:
            known = before[metadata["uid"]]
            same = {"spot": known.spot, "usd": known.usd, "at_most": known.at_most}
            found[metadata["uid"]] = found[metadata["uid"]]._replace(**same)
    return found


def _pod(pod: Any, nodes: Mapping[str, tuple[str, NodeEntry]], pools: Mapping[str, Any], now: int) -> PodEntry | None:
    """The pod with GPUs as it is now; ``None`` for one that is on no node of the pools.

    One that ended on a node that was never seen counts at the price of the dearest pool that it may use.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    ended, gpus = status.get("phase") in ("Succeeded", "Failed"), _gpus(spec)
    uid, node = nodes.get(spec.get("nodeName") or "", ("", None))
    pool = pools.get(node.pool) if node is not None else _dearest(_allowed(spec), pools) if ended else None
    if not spec.get("nodeName") or pool is None:
        return None
    states = [each.get("state") or {} for each in status.get("containerStatuses") or ()]
    starts = [_time((each.get("running") or each.get("terminated") or {}).get("startedAt")) for each in states]
    ends = [end for each in states if (end := _time((each.get("terminated") or {}).get("finishedAt"))) is not None]
    scheduled = [
        _time(each.get("lastTransitionTime"))
        for each in status.get("conditions") or ()
        if each["type"] == "PodScheduled" and each["status"] == "True"
    ]
    created = _time(metadata["creationTimestamp"]) or now
    # A node that was there before the pod did not start for it.
    start = node.start if node is not None and node.start >= created else next(filter(None, scheduled), created)
    end = max(ends, default=start) if ended else now
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    return PodEntry(
        namespace=metadata["namespace"],
        job=(owner or metadata)["name"][:63],
        owner=owner["uid"][:8] if owner else "",
        user=(metadata.get("annotations") or {}).get(USER, "")[:100],
        node=uid,
        gpus=gpus,
        usd=_share(gpus, pool),
        start=min(start, end),
        running=min((start for start in starts if start is not None), default=None),
        end=end,
        final=ended,
        estimated=node is None,
    )


def _share(gpus: int, pool: Mapping[str, Any]) -> float | None:
    usd = pool.get("hourly_usd")
    return None if usd is None else usd * min(1.0, gpus / pool["allocatable_gpus"])


def _of_jobs(
    jobs: Iterable[_Job], counted: Mapping[str, PodEntry], pools: Mapping[str, Any], since: int
) -> tuple[dict[str, PodEntry], dict[str, int]]:
    """The pods of Jobs that ended after ``since`` and that are not among those ``counted``, by the times of their Job:
    of each Job as many as may run at once, at the price of the dearest pool that they may use. And by Job how many have
    no such times."""
    found: dict[str, PodEntry] = {}
    missing: dict[str, int] = {}
    ended = [(job, job.end) for job in jobs if job.end is not None and job.end >= since]
    starts = [job.start for job, _ in ended if job.start is not None and _day(job.start) < _day(since)]
    seen = {**(_of_days(min(starts), since) if starts else {}), **counted}
    for job, end in ended:
        lost = job.ended - _of_owner(job, seen)
        pool = _dearest(job.pools, pools)
        usd = None if pool is None else _share(job.gpus, pool)
        if lost <= 0:
            continue
        if job.start is None or usd is None:
            missing[job.uid] = lost
        else:
            at_once = min(lost, job.at_once)
            found[job.uid] = PodEntry(
                namespace=job.namespace,
                job=job.name[:63],
                owner=job.owner,
                user=job.user,
                node="",
                gpus=job.gpus * at_once,
                usd=usd * at_once,
                start=job.start,
                running=job.start,
                end=end,
                final=True,
                estimated=True,
            )
    return found, missing


def _end_of(job: Any) -> int | None:
    """When the Job ended."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    ends = [_time(each.get("lastTransitionTime")) for each in conditions if each["type"] in ("Complete", "Failed")]
    return next(filter(None, ends), None)


def _user_of(job: Any) -> str:
    metadata = job["spec"]["template"].get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(USER, "")[:100])


def _of_owner(job: _Job, pods: Mapping[str, PodEntry]) -> int:
    """How many of the pods are the Job's own entries, which its UID alone has none of. A pod in another namespace may
    say that it is of this Job, too."""
    of = (pod for uid, pod in pods.items() if not uid.startswith(job.owner))
    return sum((pod.namespace, pod.owner) == (job.namespace, job.owner) for pod in of)


def _of_days(start: int, end: int) -> dict[str, PodEntry]:
    """The pods of all days before that of ``end``."""
    days = [_day(moment) for moment in range(start, end // _DAY * _DAY, _DAY)]
    return merged(entries(each) for each in _days(f"{DAY_LABEL} in ({','.join(days)})")).pods


def _dearest(allowed: Iterable[str], pools: Mapping[str, Any]) -> Any:
    """The pool with the highest price of those ``allowed``; ``None`` without one."""
    priced = [pools[name] for name in allowed if pools.get(name, {}).get("hourly_usd") is not None]
    return max(priced, key=lambda pool: pool["hourly_usd"], default=None)


def _allowed(spec: Mapping[str, Any]) -> list[str]:
    """The pools that a pod selects."""
    named = (spec.get("nodeSelector") or {}).get(_POOL_LABEL)
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    listed = [
        value
        for term in (affinity or {}).get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        if (expression["key"], expression["operator"]) == (_POOL_LABEL, "In")
        for value in expression["values"]
    ]
    return [named] if named else listed


def _request(method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {Path(_ACCOUNT, 'token').read_text()}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = Request(_SERVER + path, data, headers, method=method)
    with urlopen(request, context=ssl.create_default_context(cafile=f"{_ACCOUNT}/ca.crt"), timeout=30) as answer:
        return json.load(answer)


def _list(path: str, query: str = "", seconds: float | None = None) -> Iterator[Any]:
    """All of them, or what of them is read within ``seconds``."""
    token, begun = "", monotonic()
    while True:
        page = _request("GET", f"{path}?limit={_PAGE}{query}{f'&continue={quote(token)}' if token else ''}")
        yield from page.get("items") or ()
        token = (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return
        if seconds is not None and monotonic() - begun > seconds:
            sys.stdout.write(f"left out: what else there is of {path} after {seconds} seconds\n")
            return


def _days(label: str) -> list[Any]:
    return list(_list(_CONFIG_MAPS, f"&labelSelector={quote(label)}"))


def _write_day(day: str, new: Day) -> None:
    """Adds what is new or different; again, on what others wrote meanwhile, if somebody did."""
    for _ in range(_TRIES):
        stored = sorted(_days(f"{DAY_LABEL}={day}"), key=lambda each: each["metadata"]["name"])
        parts = [entries(each) for each in stored]
        known = merged(parts)
        sizes = [len(_text(part)) for part in parts]
        changed: set[int] = set()
        for kind, added in zip(Day._fields, new, strict=True):
            for uid, entry in added.items():
                before = getattr(known, kind).get(uid)
                both = max(before or 0, entry) if kind == "missing" else _merged(before, entry)
                if both != before:
                    changed.add(_put(parts, sizes, kind, uid, both))
        try:
            for number in sorted(changed):
                _write(stored[number] if number < len(stored) else None, _config_map(day, number, parts[number]))
        except HTTPError as error:
            if error.code != 409:
                raise
        else:
            return
    raise SystemExit(f"{day}: others write all the time; the next run tries again")


def _text(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _put(parts: list[Day], sizes: list[int], kind: str, uid: str, entry: Any) -> int:
    """The number of the ConfigMap that has the entry now: where it was, or the first with room."""
    size = len(_text({uid: entry}))
    there = (number for number, part in enumerate(parts) if uid in getattr(part, kind))
    room = (number for number, used in enumerate(sizes) if used + size < MOST_BYTES)
    number = next(there, None)
    if number is None:
        number = next(room, len(parts))
        if number == len(parts):
            parts.append(Day({}, {}, {}))
            sizes.append(0)
        sizes[number] += size
    getattr(parts[number], kind)[uid] = entry
    return number


def _config_map(day: str, number: int, part: Day) -> dict[str, Any]:
    labels = {DAY_LABEL: day, MONTH_LABEL: day[:7]}
    data = {kind: _text(getattr(part, kind)).decode() for kind in Day._fields}
    return {"metadata": {"name": f"{HEAD}-{day}-{number}", "labels": labels}, "data": data}


def _write(stored: Any, new: Mapping[str, Any]) -> None:
    """Creates the ConfigMap, or replaces what was read; 409 where somebody was faster."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", **new}
    if stored is None:
        _request("POST", _CONFIG_MAPS, body)
    else:
        version = {"resourceVersion": stored["metadata"]["resourceVersion"]}
        _request(
            "PUT", f"{_CONFIG_MAPS}/{new['metadata']['name']}", {**body, "metadata": {**new["metadata"], **version}}
        )


def _head() -> Any:
    try:
        return _request("GET", f"{_CONFIG_MAPS}/{HEAD}")
    except HTTPError as error:
        if error.code != 404:
            raise
        return None


def _write_head(changes: Mapping[str, str]) -> None:
    """Adds months, of which one that is there stays, the last run, of which the latest stays, and what starts are."""
    for _ in range(_TRIES):
        stored = _head()
        before = (stored or {}).get("data") or {}
        data = {**changes, **before, "until": max(before.get("until", ""), changes.get("until", ""))}
        data["starts"] = "machines" if _with_karpenter() else "nodes"
        if data == before:
            return
        try:
            _write(stored, {"metadata": {"name": HEAD}, "data": data})
        except HTTPError as error:
            if error.code != 409:
                raise
        else:
            return
    raise SystemExit(f"{HEAD}: others write all the time; the next run tries again")


def month_of(days: Iterable[Day]) -> dict[str, float]:
    """A month as one line: what its pods and its idle nodes cost, in US dollars, and GPU hours."""
    whole, idle = Cost(), 0.0
    for day in days:
        idle += idle_usd(day)
        for pod in day.pods.values():
            whole = whole.plus(cost_of(pod))
    return {**{key: round(value, 4) for key, value in whole._asdict().items()}, "idle": round(idle, 4)}


def by_day(config_maps: Iterable[Any]) -> dict[str, Day]:
    """Day → its entries, of all its ConfigMaps."""
    parts: dict[str, list[Day]] = {}
    for each in config_maps:
        parts.setdefault(each["metadata"]["labels"][DAY_LABEL], []).append(entries(each))
    return {day: merged(of_day) for day, of_day in sorted(parts.items())}


def _months(now: int) -> list[str]:
    """The months of which days are kept."""
    first = datetime.fromtimestamp(now, timezone.utc).replace(day=1)
    months = []
    for _ in range(MONTHS):
        months.append(first.strftime("%Y-%m"))
        first = (first - timedelta(days=1)).replace(day=1)
    return months


def _shorten(now: int) -> None:
    """Makes months that are no longer kept one line each, and deletes their days afterwards."""
    old = _days(f"{MONTH_LABEL},{MONTH_LABEL} notin ({','.join(_months(now))})")
    months: dict[str, list[Any]] = {}
    for each in old:
        months.setdefault(each["metadata"]["labels"][MONTH_LABEL], []).append(each)
    # Of a month that has its line some days may be deleted already, so that the line stays as it is.
    _write_head({month: json.dumps(month_of(by_day(days).values())) for month, days in months.items()})
    for each in old:
        _request("DELETE", f"{_CONFIG_MAPS}/{each['metadata']['name']}")


def record(now: int | None = None) -> None:
    """One run: what is there at ``now`` (Unix time; default: the present)."""
    now = int(datetime.now(timezone.utc).timestamp()) if now is None else now
    offer = json.loads(_request("GET", _OFFER)["data"]["offer.json"])
    pools = {pool["name"]: pool for pool in offer["pools"]}
    last = _time(((_head() or {}).get("data") or {}).get("until")) or now
    since = last - 60 * EVERY_MINUTES
    before = Day({}, {}, {})
    for day in sorted({_day(since), _day(now)}):
        of_day = merged(entries(each) for each in _days(f"{DAY_LABEL}={day}"))
        before = Day({**before.nodes, **of_day.nodes}, {**before.pods, **of_day.pods}, {})
    nodes = _nodes(_list(_NODES, f"&labelSelector={quote(_POOL_LABEL)}"), before.nodes, pools, now)
    jobs = [_job(each, pools) for each in _with_gpus(_list(_JOBS))]
    late = last + 2 * 60 * EVERY_MINUTES < now
    gone, unknown_ends = _gone_nodes(before.nodes, nodes, now, None if late else last)
    nodes = {**gone, **nodes}
    unseen, of_events = _came_and_went(jobs, before, nodes, pools, last, late)
    if not late:  # of what is still there nothing was missed, and a node without such pods may be one without GPUs
        unseen = {uid: node for uid, node in unseen.items() if not uncounted(node)}
        of_events = {uid: pod for uid, pod in of_events.items() if pod.node in unseen}
    nodes |= unseen
    by_name = {node.name: (uid, node) for uid, node in nodes.items()}
    pods = {}
    for pod in _with_gpus(_list(_PODS)):
        if (found := _pod(pod, by_name, pools, now)) is not None:
            pods[pod["metadata"]["uid"]] = found
    waiting = [uid for uid, node in gone.items() if not node.final]
    pods = {**of_events, **_gone_pods(before.pods, pods, nodes, jobs if late else (), waiting), **pods}
    if late:
        nodes |= _until(unknown_ends, nodes, pods, now)
    of_jobs, missing = _of_jobs(jobs, {**before.pods, **pods}, pools, since)
    days: dict[str, Day] = {_day(now): Day({}, {}, missing)}
    for kind, entry_of in (("nodes", nodes), ("pods", {**pods, **of_jobs})):
        for uid, entry in entry_of.items():
            known = before.nodes.get(uid) or before.pods.get(uid)
            news = not entry.final or entry.end >= since or (known is not None and not known.final)
            for day, part in _parts(entry, since) if news else ():
                getattr(days.setdefault(day, Day({}, {}, {})), kind)[uid] = part
    for day, new in sorted(days.items()):
        _write_day(day, new)
    if _day(last) != _day(now):
        _shorten(now)
    _write_head({"until": datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")})
    counts = (
        f"{len(nodes)} nodes, {len(pods)} pods; by the times of their Job: {len(of_jobs)}, not counted: {len(missing)}"
    )
    sys.stdout.write(f"{counts}\n")


def _gone_nodes(
    before: Mapping[str, NodeEntry], nodes: Mapping[str, NodeEntry], now: int, last: int | None
) -> tuple[dict[str, NodeEntry], list[str]]:
    """Nodes that are no longer there, with their end: Kubernetes' event, which it keeps for an hour, or else the moment
    at which they were last seen. And the UIDs of those without an event.

    Kubernetes notes the end some seconds later. So that of a node that the run at ``last`` saw is not final without an
    event (``None``: that run was long ago).
    https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/nodelifecycle/node_lifecycle_controller.go
    """
    gone = {uid: node for uid, node in before.items() if not node.final and uid not in nodes}
    if not gone:
        return {}, []
    ends = {uid: when for uid, _, when in _node_events("RemovingNode")}
    ended = {}
    for uid, node in gone.items():
        noted_later = uid not in ends and last is not None and node.end > last - 30 * EVERY_MINUTES
        ended[uid] = node._replace(end=max(min(ends.get(uid, 0), now), node.end), final=not noted_later)
    return ended, [uid for uid in gone if uid not in ends]


def _gone_pods(
    before: Mapping[str, PodEntry],
    pods: Mapping[str, PodEntry],
    nodes: Mapping[str, NodeEntry],
    jobs: Iterable[_Job],
    waiting: Collection[str],
) -> dict[str, PodEntry]:
    """Pods that are no longer there, with their end: that of their node, or of their Job if it is among ``jobs``, or
    else when they were last seen. ``waiting``: nodes that are gone, and whose end is not final; nor is their pods'."""
    gone = {uid: pod for uid, pod in before.items() if not pod.final and uid not in pods}
    ends = {uid: node.end for uid, node in nodes.items() if node.final}
    of_jobs = {(job.namespace, job.owner): job.end for job in jobs if job.end is not None}
    return {
        uid: pod._replace(
            end=max(ends.get(pod.node, pod.end), of_jobs.get((pod.namespace, pod.owner), 0)),
            final=pod.node not in waiting,
        )
        for uid, pod in gone.items()
    }


def _until(
    uids: Iterable[str], nodes: Mapping[str, NodeEntry], pods: Mapping[str, PodEntry], now: int
) -> dict[str, NodeEntry]:
    """Nodes that went while the program did not run, nobody knows when: they count as long as their pods ran, and the
    rest until ``now`` is listed."""
    found = {}
    for uid in uids:
        end = max([nodes[uid].end, *(pod.end for pod in pods.values() if pod.node == uid)])
        found[uid] = nodes[uid]._replace(end=end)
        found[f"{uid}-rest"] = nodes[uid]._replace(usd=None, at_most=True, start=end, end=now)
    return found


class _Scheduled(NamedTuple):
    """A pod of a Job with GPUs that is known from the scheduler's event alone."""

    uid: str
    stem: tuple[str, str]
    """What the pod that replaces it has as well: the Job, and its index."""
    job: _Job
    node: str
    when: int


def _came_and_went(
    jobs: Iterable[_Job], before: Day, nodes: Mapping[str, NodeEntry], pools: Mapping[str, Any], last: int, late: bool
) -> tuple[dict[str, NodeEntry], dict[str, PodEntry]]:
    """Nodes and pods of which there are only events, of the hour for which Kubernetes keeps them. ``late``: pods of
    nodes that are there, too.

    A node has the price of the dearest pool that all of its pods may use. One of which the start is not known, or no
    pod of a Job, is ``uncounted``.
    """
    removed = [
        (uid, name, end)
        for uid, name, end in _node_events("RemovingNode")
        if uid not in before.nodes and uid not in nodes and end > last
    ]
    if not removed and not late:
        return {}, {}
    pods = [pod for pod in _scheduled(jobs) if pod.uid not in before.pods and pod.when >= last]
    starts = {uid: when for uid, _, when in _node_events("RegisteredNode")}
    unseen: dict[str, NodeEntry] = {}
    for uid, name, end in removed:
        start = starts.get(uid, last)
        allowed = [{*pod.job.pools} for pod in pods if pod.node == name and start <= pod.when <= end]
        both = {pool: pools[pool] for pool in set.intersection(*allowed)} if allowed else {}
        pool = max(both.values(), key=lambda each: each.get("hourly_usd") or 0.0, default={})
        usd = pool.get("hourly_usd") if uid in starts else None
        unseen[uid] = NodeEntry(
            name=name,
            pool=pool.get("name", ""),
            spot=bool(pool.get("spot")),
            usd=usd,
            at_most=usd is None or len(both) > 1 or bool(pool.get("price_at_most")),
            start=start,
            end=end,
            final=True,
        )
    return unseen, dict(_of_scheduled(pods, {**nodes, **unseen}, pools))


def _of_scheduled(
    pods: Iterable[_Scheduled], nodes: Mapping[str, NodeEntry], pools: Mapping[str, Any]
) -> Iterator[tuple[str, PodEntry]]:
    """The pods on known nodes, from when they were scheduled until their successor was, or Job or node ended."""
    latest: dict[tuple[str, str], int] = {}
    for pod in sorted(pods, key=lambda each: -each.when):
        there = [
            (uid, node) for uid, node in nodes.items() if node.name == pod.node and node.start <= pod.when <= node.end
        ]
        uid, node = there[0] if there else ("", None)
        ends = [pod.job.end, latest.get(pod.stem), node.end if node is not None else None]
        if pod.job.indexed or pod.job.at_once == 1:
            latest[pod.stem] = pod.when
        if node is None or node.pool not in pools:
            continue
        entry = PodEntry(
            namespace=pod.job.namespace,
            job=pod.job.name[:63],
            owner=pod.job.owner,
            user=pod.job.user,
            node=uid,
            gpus=pod.job.gpus,
            usd=_share(pod.job.gpus, pools[node.pool]),
            start=pod.when,
            running=pod.when,
            end=max(pod.when, min(end for end in ends if end is not None)),
            final=True,
            estimated=True,
        )
        yield pod.uid, entry


def _scheduled(jobs: Iterable[_Job]) -> Iterator[_Scheduled]:
    """The pods of Jobs with GPUs that the scheduler's events name.
    https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/scheduler/schedule_one.go"""
    with_gpus = {(job.namespace, job.name): job for job in jobs}
    for about, event in _events("reason=Scheduled") if with_gpus else ():
        stem = about["name"].rpartition("-")[0]
        names = (stem, stem.rpartition("-")[0])
        namespace = event["metadata"]["namespace"]
        job = next((with_gpus[key] for name in names if (key := (namespace, name)) in with_gpus), None)
        assigned = (event.get("message") or "").rpartition(" to ")
        if job is not None and assigned[1]:
            yield _Scheduled(about["uid"], (job.uid, stem), job, assigned[2], _moment(event))


def _node_events(reason: str) -> list[tuple[str, str, int]]:
    """UID and name of nodes, and when. Such events are in the namespace ``default``, whatever other users write."""
    found = _events(f"reason={reason},involvedObject.kind=Node,metadata.namespace=default")
    return [(about["uid"], about["name"], _moment(event)) for about, event in found]


def _events(selected: str) -> Iterator[tuple[Any, Any]]:
    """What they are about, and the events that match. People write events, too: those without a name and UID, or with
    longer ones than an object has, are none of Kubernetes', and have no room in a ConfigMap."""
    for event in _list(_EVENTS, f"&fieldSelector={quote(selected)}", _EVENT_SECONDS):
        about = event.get("involvedObject") or {}
        if all(0 < len(about.get(key) or "") <= _LONGEST_NAME for key in ("name", "uid")):
            yield about, event


def _moment(event: Any) -> int:
    """When it happened first, by the API server's clock: who writes an event may write any other time into it."""
    return _time(event["metadata"]["creationTimestamp"]) or 0


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d")


if __name__ == "__main__":
    record()
