"""The pictures of a report: Vega-Lite specifications of its data, drawn as SVG or PNG by vl-convert, without a network.

Why this library: docs/adr/0006-pictures-of-reports.md. Widths are in pixels, moments in seconds. Figures of
``report.json`` become rows for pictures and tables.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Final

import vl_convert
import yaml

from facts.concepts.counts import counted

Report = Mapping[str, Any]
Rows = list[dict[str, Any]]

STATES: Final = {"no GPU": "base", "running": "running", "provisioning": "provisioning", "idle": "idle"}
"""Of a node → its colour: its pool has no GPUs; a user's GPU pod runs; its GPUs are not there yet; none of these."""
_NO_GPU: Final = "pools without GPUs"
_OTHERS: Final = "other GPU pools"


def stages(report: Report) -> Rows:
    """Each stage with the moments ``from`` and ``until`` which it ran."""
    ends = accumulate(stage["seconds"] for stage in report["stages"])
    return [
        {"name": stage["name"], "from": end - stage["seconds"], "until": end}
        for stage, end in zip(report["stages"], ends, strict=True)
    ]


def pools(report: Report, most: int) -> dict[str, Sequence[int]]:
    """Pools that ever had nodes → their sizes: those without GPUs together, then at most ``most`` with GPUs."""
    sizes = {name: nodes for name, nodes in report["overTime"]["nodes"].items() if any(nodes)}
    gpu = [pool["name"] for pool in report["pools"] if pool["gpu"] and pool["name"] in sizes]
    base = [name for name in sizes if name not in gpu]
    largest = sorted(gpu, key=lambda name: -max(sizes[name]))[: most if len(gpu) <= most else most - 1]
    together = {base[0] if len(base) == 1 else _NO_GPU: base}
    together |= {name: [name] for name in gpu if name in largest} | {_OTHERS: [n for n in gpu if n not in largest]}
    return {
        name: [sum(each) for each in zip(*(sizes[member] for member in members), strict=True)]
        for name, members in together.items()
        if members
    }


def steps(report: Report, series: Mapping[str, Sequence[float]]) -> Rows:
    """A row for each value of each series; of several values at one second the last."""
    seconds = [*report["overTime"]["seconds"], report["seconds"]]
    return [
        {"second": second, "series": name, "value": value}
        for name, values in series.items()
        for second, value in dict(zip(seconds, [*values, values[-1]], strict=True)).items()
    ]


def periods(node: Mapping[str, Any], report: Report) -> Rows:
    """The life of one of the report's ``nodes`` as periods of one state each, without gaps."""
    end = report["seconds"] if node["deleted"] is None else node["deleted"]
    gpu = {pool["name"]: pool["gpu"] for pool in report["pools"]}[node["pool"]]
    edges = [(node["created"], "provisioning" if gpu else "no GPU")]
    if gpu and node["ready"] is not None:
        edges.append((node["ready"], "idle"))
        for start, until in node["busy"]:
            edges += [(start, "running"), (until, "idle")]
    untils = [*(start for start, _ in edges[1:]), end]
    return [
        {"node": node["name"], "state": state, "from": start, "until": until}
        for (start, state), until in zip(edges, untils, strict=True)
        if until > start
    ]


def hourly(report: Report) -> Rows:
    """The list price of all nodes at each change, by their state; empty if no node has a known price."""
    lives = [(node["hourlyUsd"] or 0.0, row) for node in report.get("nodes", ()) for row in periods(node, report)]
    if not any(usd for usd, _ in lives):
        return []
    moments = sorted({0.0, report["seconds"], *(row[edge] for _, row in lives for edge in ("from", "until"))})

    changes: defaultdict[tuple[str, float], float] = defaultdict(float)
    for usd, row in lives:
        changes[row["state"], row["from"]] += usd
        changes[row["state"], row["until"]] -= usd
    return [
        # Sums of differences: rounded, so that nothing is left of nodes that are deleted.
        {"second": at, "series": state, "value": round(value, 6)}
        for state in STATES
        for at, value in zip(moments, accumulate(changes[state, at] for at in moments), strict=True)
    ]


def happenings(report: Report) -> list[tuple[float, str]]:
    """What happened, in words and in order: stages, pools that grow and shrink, and the run's own ``events``."""
    lines = [(stage["from"], f"Stage: {stage['name']}") for stage in stages(report)]
    lines += [(event["at"], event["text"]) for event in report.get("events", ())]
    over = report.get("overTime", {"seconds": [], "nodes": {}})
    for pool, sizes in over["nodes"].items():
        changes = [
            (at, before, size)
            for at, before, size in zip(over["seconds"], [0, *sizes], sizes, strict=False)
            if size != before
        ]
        for grows, run in groupby(changes, key=lambda change: change[2] > change[1]):
            members = list(run)
            (start, before, _), (end, _, after) = members[0], members[-1]
            until = f", until {end:.1f} s" if end > start else ""
            lines.append(
                (start, f"{pool} {'grows' if grows else 'shrinks'}: {before} → {counted(after, 'node')}{until}")
            )
    return sorted(lines, key=lambda line: line[0])


Colours = Mapping[str, Any]
Spec = dict[str, Any]

PALETTES: Final[Mapping[str, Colours]] = yaml.safe_load(
    Path(__file__).with_name("palette.yaml").read_text(encoding="utf-8")
)
STRIPS: Final = 80
"""Most nodes in a picture; the table beside it has all."""

BAND: Final = 0.3
"""Opacity of the shade behind every other stage."""

_FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""vl-convert carries the first; the others have its widths, so that texts take the same space everywhere."""
_LANGUAGE: Final = "6.4"
_LETTER: Final = 6.5
_MARGIN: Final = 60
_NUMBER: Final = {"type": "quantitative"}
_NO_CHARACTER_OF_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""https://www.w3.org/TR/xml/#charsets"""


def svg(spec: Spec) -> str:
    """Draw a picture as the text of an SVG."""
    return vl_convert.vegalite_to_svg(_drawable(spec), vl_version=_LANGUAGE, allowed_base_urls=[])


def png(spec: Spec) -> bytes:
    """Draw a picture with two pixels per unit of its width."""
    return vl_convert.vegalite_to_png(_drawable(spec), vl_version=_LANGUAGE, scale=2, allowed_base_urls=[])


def _drawable(part: Any) -> Any:
    """``part`` without characters that XML has not: on these the library ends the process."""
    if isinstance(part, str):
        return _NO_CHARACTER_OF_XML.sub("?", part)
    if isinstance(part, Mapping):
        return {_drawable(key): _drawable(value) for key, value in part.items()}
    return [_drawable(each) for each in part] if isinstance(part, list | tuple) else part


def page_colours() -> Colours:
    """CSS variables for colours: a picture inside a page has the page's colours, light or dark."""
    pool_colours = [f"var(--pool-{number})" for number, _ in enumerate(PALETTES["light"]["pools"])]
    return {name: f"var(--{name})" for name in PALETTES["light"]} | {"pools": pool_colours}


def overview(report: Report, colours: Colours, width: int) -> Spec:
    """GPU pods, nodes per pool and price over the same time."""
    over, sizes = report["overTime"], pools(report, len(colours["pools"]))
    pods = {"pending": over["pendingPods"], "running": over["runningPods"]}
    panels = [
        _panel(report, colours, width, "GPU pods", steps(report, pods), [colours["idle"], colours["running"]]),
        _panel(report, colours, width, "Nodes per pool", steps(report, sizes), _pool_colours(report, sizes, colours)),
    ]
    if prices := hourly(report):
        title = "$ per hour, list price of the nodes"
        panels.append(_panel(report, colours, width, title, prices, _state_colours(colours), price=True))
    panels[0]["layer"].append(_stage_names(report, colours, width))
    panels[0]["layer"][1]["encoding"]["color"]["legend"] |= {"offset": 24}
    panels[-1]["layer"][1]["encoding"]["x"]["axis"] |= {"labels": True, "title": "seconds (compressed time)"}
    return {"vconcat": panels, "spacing": 12, **_theme(colours)}


def strips(report: Report, colours: Colours, width: int) -> Spec:
    """A strip per node: when it was provisioned, ran pods and was idle."""
    nodes = report["nodes"][:STRIPS]
    label = min(width // 3, max(round(_LETTER * len(node["name"])) for node in nodes))
    y = {"field": "node", "sort": [node["name"] for node in nodes], "title": None, "axis": {"labelLimit": label}}
    x = {**_time(report, width - label), "field": "from"}
    x["axis"] |= {"title": "seconds (compressed time)"}
    return {
        "data": {"values": [row for node in nodes for row in periods(node, report)]},
        "width": width - label - 16,
        "height": {"step": 16},
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "x": x,
            "x2": {"field": "until"},
            "y": y,
            "color": _colour("state", list(STATES), _state_colours(colours), width),
        },
        **_theme(colours),
    }


def waiting(report: Report, colours: Colours, width: int) -> Spec:
    """A tick for each GPU pod, by GPU type: the seconds from its submission until it ran."""
    by_gpu = report["waiting"]["byGpu"]
    label = max(round(_LETTER * len(gpu)) for gpu in by_gpu)
    x = {"field": "seconds", **_NUMBER, "scale": {"zero": True}, "axis": _ticks(width - label)}
    y = {"field": "gpu", "title": None, "axis": {"labelLimit": label}}
    median = {**x, "aggregate": "median", "title": "seconds (compressed time); dot: median"}
    dot = {"type": "point", "filled": True, "size": 100, "opacity": 1, "color": colours["idle"]}
    return {
        "data": {"values": [{"gpu": gpu, "seconds": each} for gpu, waits in by_gpu.items() for each in waits]},
        "width": width - label - 20,
        "height": {"step": 40},
        "layer": [
            {"mark": {"type": "tick", "thickness": 2, "color": colours["running"]}, "encoding": {"x": x, "y": y}},
            {"mark": dot, "encoding": {"x": median, "y": y}},
        ],
        **_theme(colours),
    }


def on_ground(spec: Spec, colours: Colours, title: str) -> Spec:
    """A picture that stands alone: with a title, on a ground of its own."""
    heading = {"text": title, "fontSize": 16, "anchor": "start", "offset": 10}
    return {**spec, "background": colours["ground"], "padding": 14, "title": heading}


def _panel(
    report: Report, colours: Colours, width: int, title: str, rows: Rows, fills: Sequence[str], *, price: bool = False
) -> Spec:
    names = list(dict.fromkeys(row["series"] for row in rows))
    values = {"format": "$.2f"} if price else {"format": "d", "tickMinStep": 1}
    y = {"field": "value", **_NUMBER, "stack": "zero", "title": None}
    y["axis"] = {**values, "tickCount": 4, "minExtent": _MARGIN - 16, "maxExtent": _MARGIN - 16}
    x = {**_time(report, width), "field": "second"}
    x["axis"] |= {"labels": False, "title": None}
    color = _colour("series", names, fills, width)
    return {
        "title": {"text": title, "anchor": "start", "frame": "group"},
        "width": width - _MARGIN,
        "height": 96,
        "data": {"values": [{**row, "order": names.index(row["series"])} for row in rows]},
        "layer": [
            _stage_bands(report, colours),
            {
                "mark": {"type": "area", "interpolate": "step-after"},
                "encoding": {"x": x, "y": y, "color": color, "order": {"field": "order"}},
            },
        ],
        "resolve": {"scale": {"color": "independent"}},
    }


def _stage_bands(report: Report, colours: Colours) -> Spec:
    """Every other stage, shaded."""
    return {
        "data": {"values": stages(report)[::2]},
        "mark": {"type": "rect", "color": colours["frame"], "opacity": BAND},
        "encoding": {"x": {"field": "from", **_NUMBER}, "x2": {"field": "until"}},
    }


def _stage_names(report: Report, colours: Colours, width: int) -> Spec:
    """Above each stage its name, or the last word of it, where that fits."""
    rows: Rows = []
    for stage in stages(report):
        room = (stage["until"] - stage["from"]) * (width - _MARGIN) / report["seconds"] / _LETTER
        fitting = [name for name in (stage["name"], stage["name"].rpartition(" ")[2]) if len(name) < room]
        rows += [{"name": name, "middle": (stage["from"] + stage["until"]) / 2} for name in fitting[:1]]
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "y": -8, "color": colours["dim"]},
        "encoding": {"x": {"field": "middle", **_NUMBER}, "text": {"field": "name"}},
    }


def _pool_colours(report: Report, sizes: Mapping[str, Sequence[int]], colours: Colours) -> list[str]:
    gpus = {pool["name"] for pool in report["pools"] if pool["gpu"]}
    base = [] if next(iter(sizes), "") in gpus else [colours["base"]]
    return [*base, *colours["pools"]]


def _state_colours(colours: Colours) -> list[str]:
    return [colours[name] for name in STATES.values()]


def _colour(field: str, names: Sequence[str], fills: Sequence[str], width: int) -> Spec:
    lengths = [_LETTER * len(name) + 32 for name in names]
    columns = 0 if sum(lengths) < width - _MARGIN else max(1, int((width - _MARGIN) / max(lengths)))
    legend = {"columns": columns, "title": None, "symbolType": "square", "symbolOpacity": 1}
    return {"field": field, "legend": legend, "scale": {"domain": names, "range": list(fills[: len(names)])}}


def _time(report: Report, width: int) -> Spec:
    return {**_NUMBER, "scale": {"domain": [0, report["seconds"]], "nice": False}, "axis": _ticks(width)}


def _ticks(width: int) -> Spec:
    return {"tickCount": max(3, width // 90), "labelOverlap": True}


def _theme(colours: Colours) -> Spec:
    axis = {"labelFont": _FONT, "labelFontSize": 12, "labelColor": colours["dim"]}
    axis |= {"titleFont": _FONT, "titleFontSize": 12, "titleColor": colours["dim"], "titleFontWeight": "normal"}
    legend = {"labelFont": _FONT, "labelFontSize": 12, "labelColor": colours["text"], "labelLimit": 260}
    legend |= {"orient": "top", "offset": 8}
    config = {
        "aria": False,
        "view": {"stroke": None},
        "axis": axis | {f"{part}Color": colours["frame"] for part in ("grid", "domain", "tick")},
        "axisX": {"grid": False},
        "legend": legend,
        "text": {"font": _FONT, "fontSize": 12},
        "title": {"font": _FONT, "fontSize": 13, "color": colours["text"], "offset": 4},
    }
    return {"background": None, "padding": 4, "config": config}
