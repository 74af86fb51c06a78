"""Rules, alerts and dashboards, tried by Prometheus' own promtool where it is installed."""

from __future__ import annotations

from pathlib import Path

import yaml

EXPORTED: dict[str, dict[str, list[str]]] = yaml.safe_load((Path(__file__).parent / "exported.yaml").read_text())
"""The labels of each measurement that an exporter tells, by exporter."""
