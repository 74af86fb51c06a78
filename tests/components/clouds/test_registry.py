"""The registry of clouds: lazy, and honest about what a cloud cannot do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from components.clouds.base import cloud_names, load_cloud
from tests.stacks import ROOT


def test_an_unknown_cloud_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"cloud: 'gcp' is not supported; write one of .*gke"):
        load_cloud("gcp")


def test_what_a_cloud_cannot_do_is_known_without_pulumi() -> None:
    limits = "; ".join(f"import components.settings.limits.{name}" for name in cloud_names())
    script = f"{limits}\nimport sys\nassert 'pulumi' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
