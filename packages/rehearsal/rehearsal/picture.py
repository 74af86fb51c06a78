"""What README shows of one rehearsal: docs/rehearsal.svg, docs/rehearsal-dark.svg and lines of its output.

All come from docs/rehearsal.json, a part of that run's ``report.json``. ``python -m rehearsal.picture`` writes them,
``--check`` compares, ``--from REPORT`` first takes the figures of another run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rehearsal.engine.stack import ROOT
from rehearsal.report.page import first_picture
from rehearsal.report.pictures import PALETTES, svg
from rehearsal.report.record import scaled_by
from rehearsal.report.summary import passed, prices

FIGURES: Final = ROOT / "docs" / "rehearsal.json"
README: Final = ROOT / "README.md"
_COMMAND: Final = "$ make rehearse"
_SHOWN: Final = ("starts-at-zero", "reached:t4-1", "returned-to-zero", "destroy")
"""The checks whose lines README shows."""
_FILES: Final = {"rehearsal.svg": "light", "rehearsal-dark.svg": "dark"}


def figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What of a report is shown."""
    return {
        **{key: report[key] for key in ("stack", "seconds", "verdict", "overTime", "nodes", "cost", "seed", "real")},
        "checks": [
            {key: check[key] for key in (("id", "title", "detail", "passed") if check["id"] in _SHOWN else ("passed",))}
            for check in report["checks"]
        ],
        "stages": [{key: stage[key] for key in ("name", "seconds")} for stage in report["stages"]],
        "pools": [{key: pool[key] for key in ("name", "gpu")} for pool in report["pools"]],
    }


def transcript(run: Mapping[str, Any]) -> str:
    """The lines of the run's output that README shows; ``…`` stands for others."""
    shown = [check for check in run["checks"] if check.get("id") in _SHOWN]
    checks = [f"{'✓' if check['passed'] else '✗'} {check['title']}: {check['detail']}" for check in shown]
    cost = run["cost"]
    price = prices(cost["idleHourlyUsd"], cost["peakHourlyUsd"], cost["maxHourlyUsd"])
    words = passed(len(run["checks"]), run["seed"], scaled_by(run["real"]))
    verdict = f"{run['verdict'].upper()} {run['stack']}: {words}"
    return "\n".join([_COMMAND, "…", *checks, "…", price, verdict])


def readme(text: str, run: Mapping[str, Any]) -> str:
    """README's text with the transcript of the run in place of the one that it has."""
    block = re.compile(rf"^{re.escape(_COMMAND)}\n…\n.*?(?=\n```$)", re.MULTILINE | re.DOTALL)
    return block.sub(lambda _: transcript(run), text, count=1)


def main(arguments: list[str] | None = None) -> int:
    """Write pictures and lines, or with ``--check`` return 1 if one differs from what the figures give."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.picture", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit code 1 if one is out of date")
    parser.add_argument("--from", dest="report", type=Path, metavar="REPORT", help="a report.json to take figures from")
    options = parser.parse_args(arguments)
    if options.report:
        shown = figures(json.loads(options.report.read_text(encoding="utf-8")))
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in shown.items())
        FIGURES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    run = json.loads(FIGURES.read_text(encoding="utf-8"))
    made = {
        FIGURES.with_name(name): svg(first_picture(run, PALETTES[colours])) + "\n" for name, colours in _FILES.items()
    }
    made[README] = readme(README.read_text(encoding="utf-8"), run)
    outdated = []
    for path, text in made.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            outdated.append(path.name)
    if outdated:
        sys.stderr.write(f"{' and '.join(outdated)} out of date: run `make docs`\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    raise SystemExit(main())
