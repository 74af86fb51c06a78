"""Starts the policy pack. The constructor serves the engine and does not return."""

import sys
from pathlib import Path

from pulumi_policy import PolicyPack

# The engine runs this folder as a program of its own; our modules are imported from the project around it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from policies.pack import Gate
from policies.unpacking import unpack_once

unpack_once()
PolicyPack("gpucluster", Gate().policies())
