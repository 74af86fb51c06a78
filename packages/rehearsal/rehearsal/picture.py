"""Draws docs/rehearsal.svg and docs/rehearsal-dark.svg from docs/rehearsal.json, a part of one run's ``report.json``.

``python -m rehearsal.picture`` draws, ``--check`` compares, ``--from REPORT`` first takes the figures of another run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rehearsal.engine.stack import ROOT
from rehearsal.report.page import first_picture
from rehearsal.report.pictures import PALETTES, svg

FIGURES: Final = ROOT / "docs" / "rehearsal.json"
_FILES: Final = {"rehearsal.svg": "light", "rehearsal-dark.svg": "dark"}


def figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What of a report the picture shows."""
    return {
        **{key: report[key] for key in ("stack", "seconds", "verdict", "overTime", "nodes")},
        "checks": [{"passed": check["passed"]} for check in report["checks"]],
        "stages": [{key: stage[key] for key in ("name", "seconds")} for stage in report["stages"]],
        "pools": [{key: pool[key] for key in ("name", "gpu")} for pool in report["pools"]],
    }


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
    for name, palette in _FILES.items():
        path, picture = FIGURES.with_name(name), svg(first_picture(run, PALETTES[palette])) + "\n"
        if not options.check:
            path.write_text(picture, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != picture:
            outdated.append(name)
    if outdated:
        sys.stderr.write(f"docs/{' and docs/'.join(outdated)} out of date: run `make docs`\n")
    return 1 if outdated else 0


if __name__ == "__main__":
    raise SystemExit(main())
