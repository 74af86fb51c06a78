"""The report of a rehearsal as one page for people, and of several rehearsals side by side.

A page is a file of its own: no script, no request; its pictures are SVG, each with a text and a table of its figures.
"""

from __future__ import annotations

import base64
import hashlib
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
from rich.console import Console

from facts.concepts.counts import counted
from rehearsal.report import pictures
from rehearsal.report.pictures import PALETTES, Colours, Report, Spec, happenings, hourly, periods
from rehearsal.report.report import replace_file

PAGE: Final = "report.html"
REPORT: Final = "report.json"
WIDE: Final = 800
_FULL: Final = 1180
_NARROW: Final = 340
_HERE: Final = Path(__file__).parent
_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE),
    autoescape=True,
    undefined=jinja2.ChainableUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
Cells = Sequence[Any]


def publish(report: Report, folder: Path, console: Console) -> None:
    """Write the page into ``folder`` and name it; a page that cannot be written does not change the verdict."""
    page = folder / PAGE
    try:
        write(report, folder)
    except Exception as failure:  # the verdict is in report.json, whatever is wrong with its page
        console.print(f"{page} could not be written: {type(failure).__name__}: {failure}", markup=False)
        page = folder / REPORT
    shown = page.relative_to(Path.cwd()) if page.is_relative_to(Path.cwd()) else page
    console.print(f"Report: {shown}", highlight=False, soft_wrap=True, markup=False)


def write(report: Report, folder: Path) -> None:
    """Write the page into ``folder``, and its first picture as ``picture.svg`` and ``picture.png``. Raises OSError."""
    replace_file(folder / PAGE, render(report).encode())
    if _has_nodes(report):
        spec = first_picture(report, PALETTES["light"])
        replace_file(folder / "picture.svg", pictures.svg(spec).encode())
        replace_file(folder / "picture.png", pictures.png(spec))


def first_picture(report: Report, colours: Colours) -> Spec:
    """The page's first picture as one that stands alone."""
    passed = sum(check["passed"] for check in report["checks"])
    title = f"Rehearsal of {report['stack']}: {report['verdict']}, {passed} of {len(report['checks'])} checks"
    return pictures.on_ground(pictures.overview(report, colours, WIDE), colours, title)


def render(report: Report) -> str:
    """The page of one report, with what the report has."""
    return _render(
        "report.html.j2",
        title=f"Rehearsal of {report['stack']}",
        run=_run(report),
        overview=_overview(report, WIDE),
        sections=list(_sections(report)),
    )


def render_comparison(reports: Sequence[Report]) -> str:
    """A page with several reports side by side."""
    runs = [_run(report) for report in reports]
    names = dict.fromkeys(name for run in runs for name, _ in run["facts"])
    rows = [("Verdict", *(run["verdict"] for run in runs))]
    rows += [(name, *(dict(run["facts"]).get(name, "–") for run in runs)) for name in names]
    rows.append(("Not rehearsed", *(", ".join(run["scope"]["notRehearsed"]) for run in runs)))
    return _render(
        "compare.html.j2",
        title="Rehearsals of " + " and ".join(run["stack"] for run in runs),
        figures=_table("Stacks side by side", ["", *(run["stack"] for run in runs)], rows),
        columns=[{"run": run, "overview": _overview(report, WIDE)} for run, report in zip(runs, reports, strict=True)],
    )


def _render(template: str, **content: Any) -> str:
    style = _variables() + (_HERE / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _TEMPLATES.get_template(template).render(style=style, style_hash=digest, **content)


def _variables() -> str:
    def rules(colours: Colours) -> str:
        pools = {f"pool-{number}": colour for number, colour in enumerate(colours["pools"])}
        plain = {name: colour for name, colour in colours.items() if name != "pools"}
        return ":root { " + " ".join(f"--{name}: {colour};" for name, colour in (plain | pools).items()) + " }\n"

    return rules(PALETTES["light"]) + f"@media (prefers-color-scheme: dark) {{ {rules(PALETTES['dark'])}}}\n"


def _run(report: Report) -> dict[str, Any]:
    """The report, with what is shown of it in words."""
    started = report.get("startedAt", "").replace("T", " ").replace("+00:00", " UTC")
    source = ", ".join(filter(None, (Path(report["stackFile"]).name, started)))
    return {**report, "source": source, "sentence": _sentence(report), "facts": list(_facts(report))}


def _sentence(report: Report) -> str:
    failed = sum(not check["passed"] for check in report["checks"])
    checks = counted(len(report["checks"]), "check")
    if report["verdict"] == "fail":
        return f"{failed} of {checks} failed." if failed else "The run did not complete."
    text = f"{len(report['checks'])} of {checks} passed."
    if _has_nodes(report):
        sizes = _gpu_nodes(report)
        text += f" GPU nodes: {sizes[0]} at first, {max(sizes)} at most, {sizes[-1]} at the end."
    return text


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    if waits := report.get("waiting", {}).get("pods"):
        waiting = report["waiting"]
        median, longest = waiting["medianSeconds"], waiting["longestSeconds"]
        yield (
            "GPU pods waited (compressed time)",
            f"median {median:.1f} s, longest {longest:.1f} s, {counted(waits, 'pod')}",
        )
    if cost := report.get("cost"):
        yield "List price when idle", _usd(cost["idleHourlyUsd"])
        yield "Peak of this run", _usd(cost["peakHourlyUsd"])
        yield "All pools at their maximum", _usd(cost["maxHourlyUsd"])
        if cost["unpricedPools"]:
            yield "Without a known price", ", ".join(cost["unpricedPools"])
    if "seconds" in report:
        yield "Duration", f"{report['seconds']:.0f} s"


def _usd(price: float | None) -> str:
    return "unknown" if price is None else f"${price:,.2f}/h"


def _has_nodes(report: Report) -> bool:
    return any(map(any, report.get("overTime", {}).get("nodes", {}).values()))


def _gpu_nodes(report: Report) -> list[int]:
    over = report["overTime"]
    gpu = [over["nodes"][pool["name"]] for pool in report["pools"] if pool["gpu"]]
    return [sum(sizes) for sizes in zip(*gpu, strict=True)]


def _overview(report: Report, width: int) -> dict[str, Any] | None:
    if not _has_nodes(report):
        return None
    over = report["overTime"]
    pods = [sum(each) for each in zip(over["pendingPods"], over["runningPods"], strict=True)]
    alt = f"Over {report['seconds']:.0f} s: up to {counted(max(pods), 'GPU pod')}, pending and running. "
    alt += "; ".join(f"{pool}: at most {counted(max(sizes), 'node')}" for pool, sizes in over["nodes"].items())
    idle = max((row["value"] for row in hourly(report) if row["series"] == "idle"), default=0.0)
    alt += f". At most {_usd(max(over['nodesHourlyUsd']))}, of which idle GPU nodes at most {_usd(idle)}."
    columns = [over["pendingPods"], over["runningPods"], *over["nodes"].values(), over["nodesHourlyUsd"]]
    headings = ["second", "pending GPU pods", "running GPU pods", *(f"{pool} nodes" for pool in over["nodes"]), "$/h"]
    rows = list(zip(over["seconds"], *columns, strict=True))
    table = _table("Pods, nodes and price over time", headings, rows)
    return _picture(report, pictures.overview, width, "Demand, nodes and price over the same time", alt, table)


def _sections(report: Report) -> Iterator[dict[str, Any]]:
    if by_gpu := report.get("waiting", {}).get("byGpu"):
        rows = [
            (gpu, len(waits), f"{statistics.median(waits):.1f}", max(waits), ", ".join(map(str, sorted(waits))))
            for gpu, waits in by_gpu.items()
        ]
        alt = "; ".join(f"{gpu}: {n} pods, median {median} s, longest {most} s" for gpu, n, median, most, _ in rows)
        table = _table("Waiting time per GPU type", ["GPU", "pods", "median s", "longest s", "each, in seconds"], rows)
        caption = "From the submission of a pod until it ran: a line per pod"
        yield _section("Waiting time", picture=_picture(report, pictures.waiting, _FULL, caption, alt, table))
    if nodes := report.get("nodes"):
        yield _section("Nodes", picture=_strips(report, nodes))
    yield _section("Checks", checks=sorted(report["checks"], key=lambda check: check["passed"]))
    rows = [(f"{at:.1f}", text) for at, text in happenings(report)]
    yield _section("Events", table=_table("What happened", ["second", "event"], rows))
    rows = [(each["name"], f"{each['seconds']:.1f}", "yes" if each["passed"] else "no") for each in report["stages"]]
    yield _section("Stages", table=_table("Stages in order", ["stage", "seconds", "passed"], rows))
    if changes := report.get("changes"):
        yield _section("Day two", changes=changes)
    if rows := [(name, text, how) for how in ("real", "simulated") for name, text in report.get(how, {}).items()]:
        yield _section("Versions", table=_table("What was real, what was simulated", ["what", "version", "how"], rows))
    if logs := [*report.get("evidence", ()), *filter(None, [report["logs"]])]:
        rows = [(Path(path).name, path) for path in logs]
        yield _section("Evidence", table=_table("Files on the machine of the rehearsal", ["name", "path"], rows))


def _strips(report: Report, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [_strip(node, report) for node in nodes]
    used = sum(bool(node["busy"]) for node in nodes)
    alt = f"{counted(len(nodes), 'node')}, of which {used} ran pods of users; when each was provisioned, running, idle."
    headings = ["node", "pool", "created", "ready", "pods from", "pods until", "deleted", "running s", "idle s", "$/h"]
    shown = f", the first {pictures.STRIPS} of {len(nodes)}" if len(nodes) > pictures.STRIPS else ""
    table = _table("Nodes, in seconds", headings, rows)
    return _picture(report, pictures.strips, _FULL, f"A strip per node{shown}", alt, table)


def _strip(node: Mapping[str, Any], report: Report) -> Cells:
    spent = dict.fromkeys(("running", "idle"), 0.0)
    for row in periods(node, report):
        spent[row["state"]] = spent.get(row["state"], 0.0) + row["until"] - row["from"]
    first, last = (node["busy"][0][0], node["busy"][-1][1]) if node["busy"] else (None, None)
    moments = (node["created"], node["ready"], first, last, node["deleted"])
    cells = ["–" if at is None else f"{at:.1f}" for at in moments]
    price = "unknown" if node["hourlyUsd"] is None else f"{node['hourlyUsd']:.2f}"
    return (node["name"], node["pool"], *cells, f"{spent['running']:.1f}", f"{spent['idle']:.1f}", price)


def _picture(
    report: Report,
    picture: Callable[[Report, Colours, int], Spec],
    width: int,
    caption: str,
    alt: str,
    table: Mapping[str, Any],
) -> dict[str, Any]:
    wide, narrow = (pictures.svg(picture(report, pictures.page_colours(), each)) for each in (width, _NARROW))
    return {"caption": caption, "alt": alt, "table": table, "wide": wide, "narrow": narrow}


def _section(heading: str, **content: Any) -> dict[str, Any]:
    return {"id": heading.lower().replace(" ", "-"), "heading": heading, **content}


def _table(caption: str, headings: Sequence[str], rows: Sequence[Cells]) -> dict[str, Any]:
    return {"caption": caption, "headings": headings, "rows": rows}
