"""Calls of programs in the cluster to the cloud, as the simulated cloud logged them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILES: Final = "*-calls.jsonl"
"""In the folder of the run's logs: one JSON object a line with at least ``service``, ``operation`` and ``verdict``."""


@dataclass(frozen=True)
class Calls:
    """``made``: number of calls; ``denied``: a sentence for each operation that a program has no permission for."""

    made: int = 0
    denied: tuple[str, ...] = ()


def read(logs: Path) -> Calls:
    """The calls in the folder's files. A call that was denied at first and allowed later does not count as denied."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    made = 0
    for path in sorted(logs.glob(FILES)):
        for line in path.read_text(encoding="utf-8").splitlines():
            call = json.loads(line)
            last[(call["service"], call["operation"], *call.get("resources", ()))] = call
            made += 1
    denied = [call for call in last.values() if call["verdict"] == "denied"]
    words = [f"{each['service']}:{each['operation']} was denied: {each.get('missing', '')}" for each in denied]
    return Calls(made, tuple(dict.fromkeys(words)))
