"""Draws docs/rehearsal.svg and docs/rehearsal-dark.svg from docs/rehearsal.json, a part of one run's ``report.json``.

``python -m rehearsal.picture`` draws, ``--check`` compares, ``--from REPORT`` first takes the figures of another run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from rehearsal.engine.stack import ROOT

FIGURES: Final = ROOT / "docs" / "rehearsal.json"
WIDTH: Final = 880
_LEFT, _RIGHT = 132, 752
_TOP, _ROW = 96, 44
Texts = Sequence[tuple[str, str]]
Lines = Sequence[tuple[Sequence[float], str]]
_FONT: Final = "font-family=\"ui-sans-serif,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif\""
COLOURS: Final = {
    "rehearsal.svg": {
        "ground": "#ffffff", "frame": "#d1d9e0", "text": "#1f2328", "dim": "#59636e", "stripe": "#f6f8fa",
        "admin": "#8c959f", "gpu": "#0969da", "pending": "#d4a72c", "running": "#2da44e", "usd": "#8250df",
        "pass": "#1a7f37", "fail": "#cf222e",
    },
    "rehearsal-dark.svg": {
        "ground": "#0d1117", "frame": "#3d444d", "text": "#f0f6fc", "dim": "#9198a1", "stripe": "#151b23",
        "admin": "#656c76", "gpu": "#4493f8", "pending": "#d29922", "running": "#3fb950", "usd": "#ab7df8",
        "pass": "#238636", "fail": "#da3633",
    },
}  # fmt: skip


def figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What of a report the picture shows. Pools keep their order, the admin pool first."""
    return {
        **{key: report[key] for key in ("stack", "seconds", "verdict", "overTime")},
        "stackFile": Path(report["stackFile"]).name,
        "checks": [sum(check["passed"] for check in report["checks"]), len(report["checks"])],
        "stages": [{key: stage[key] for key in ("name", "seconds")} for stage in report["stages"]],
        "pools": [{key: pool[key] for key in ("name", "gpu", "maxNodes")} for pool in report["pools"]],
    }


def draw(run: Mapping[str, Any], colours: Mapping[str, str]) -> str:
    """One SVG: pools, pods and price over the same time, the verdict in the corner."""
    y, bottom, over = _TOP, _TOP + (len(run["pools"]) + 2) * _ROW, run["overTime"]
    parts = [*_frame(run, colours, bottom)]
    xs = [_x(second, run["seconds"]) for second in (*over["seconds"], run["seconds"])]
    for pool in run["pools"]:
        nodes = over["nodes"][pool["name"]]
        notes = [(f"peak {max(nodes)}, max {pool['maxNodes']}", "dim")]
        lines = [(nodes, "gpu" if pool["gpu"] else "admin")]
        parts += _row(y, pool["name"], notes, xs, lines, pool["maxNodes"], colours)
        y += _ROW
    pods = {"running": over["runningPods"], "pending": over["pendingPods"]}
    notes = [(f"up to {max(series)} {state}", state) for state, series in pods.items()]
    most = max(1, *map(max, pods.values()))
    parts += _row(y, "GPU pods", notes, xs, [(series, state) for state, series in pods.items()], most, colours)
    usd = over["nodesHourlyUsd"]
    notes = [(f"peak ${max(usd):.2f}", "usd"), ("nodes, list price", "dim")]
    parts += _row(y + _ROW, "$ per hour", notes, xs, [(usd, "usd")], max(usd) or 1, colours)
    title = escape(f"Rehearsal of {run['stackFile']}: {run['verdict']}")
    size = f'viewBox="0 0 {WIDTH} {bottom + 40}" width="{WIDTH}" height="{bottom + 40}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}" {_FONT}>'
    return "\n".join((head, *parts, "</svg>\n"))


def _frame(run: Mapping[str, Any], colours: Mapping[str, str], bottom: int) -> Iterator[str]:
    seconds = run["seconds"]
    border = f'fill="{colours["ground"]}" stroke="{colours["frame"]}"'
    yield f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 39}" rx="8" {border}/>'
    yield _text(20, 31, f"make rehearse STACK={run['stack']}", colours["text"], size=15, weight=600)
    yield _text(
        20, 51, "real Kubernetes control plane, simulated cloud and nodes; nodes per pool over time", colours["dim"]
    )
    yield f'<rect x="{WIDTH - 216}" y="13" width="196" height="26" rx="13" fill="{colours[run["verdict"]]}"/>'
    badge = f"{run['verdict'].upper()} · {run['checks'][0]} of {run['checks'][1]} checks"
    yield _text(WIDTH - 118, 31, badge, "#ffffff", anchor="middle", weight=600)
    ends = list(accumulate(stage["seconds"] for stage in run["stages"]))
    for index, (stage, end) in enumerate(zip(run["stages"], ends, strict=True)):
        left, right = _x(end - stage["seconds"], seconds), _x(end, seconds)
        if index % 2 == 0:
            box = f'x="{left}" y="{_TOP - 24}" width="{right - left}" height="{bottom - _TOP + 24}"'
            yield f'<rect {box} fill="{colours["stripe"]}"/>'
        labels = (stage["name"], stage["name"].rpartition(" ")[2])
        if label := next((each for each in labels if right - left > 7 * len(each)), ""):
            yield _text(round((left + right) / 2), _TOP - 8, label, colours["dim"], anchor="middle")
    step = next((step for step in (10, 20, 30, 60, 120, 300) if seconds / step <= 10), 600)
    for second in range(0, int(seconds) + 1, step):
        yield _text(_x(second, seconds), bottom + 22, f"{second} s", colours["dim"], anchor="middle")


def _row(
    y: int, name: str, notes: Texts, xs: Sequence[float], lines: Lines, most: float, colours: Mapping[str, str]
) -> Iterator[str]:
    base, height = y + _ROW - 4, _ROW - 10
    yield f'<path d="M{_LEFT} {base + 0.5}H{_RIGHT}" stroke="{colours["frame"]}"/>'
    yield _text(20, y + 28, name, colours["text"], size=13, weight=600)
    for line, (note, colour) in enumerate(notes):
        yield _text(_RIGHT + 12, y + 28 + 16 * line - 8 * (len(notes) - 1), note, colours[colour])
    for values, colour in lines:
        path = ""
        for x, previous, value in zip(xs, (0.0, *values), (*values, 0.0), strict=True):
            if value != previous:
                path += f"{f'H{x}' if previous else f'M{x} {base}'}V{base - height * value / most:.1f}"
        style = f'fill="{colours[colour]}" fill-opacity="0.3" stroke="{colours[colour]}" stroke-width="1.5"'
        yield f'<path d="{path}" {style}/>'


def _x(second: float, seconds: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * min(1.0, second / seconds), 1)


def _text(x: float, y: int, text: str, colour: str, *, anchor: str = "start", size: int = 12, weight: int = 400) -> str:
    style = f'fill="{colour}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


def main(arguments: list[str] | None = None) -> int:
    """Draw both pictures, or with ``--check`` return 1 if one differs from what the figures give."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.picture", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if a picture is out of date")
    parser.add_argument("--from", dest="report", type=Path, metavar="REPORT", help="a report.json to take figures from")
    options = parser.parse_args(arguments)
    if options.report:
        shown = figures(json.loads(options.report.read_text(encoding="utf-8")))
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in shown.items())
        FIGURES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    run = json.loads(FIGURES.read_text(encoding="utf-8"))
    outdated = []
    for name, colours in COLOURS.items():
        path, picture = FIGURES.with_name(name), draw(run, colours)
        if not options.check:
            path.write_text(picture, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != picture:
            outdated.append(name)
    if outdated:
        sys.stderr.write(f"docs/{' and docs/'.join(outdated)} out of date: run `make docs`\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    raise SystemExit(main())
