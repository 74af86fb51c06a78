"""Starts the policy pack from the project that it is a part of."""

import gc
import sys
from pathlib import Path

gc.disable()  # while all is imported: none of it is garbage; ``serve`` turns it on again

# The engine runs this folder as a program of its own; our modules are imported from the project around it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from policies import sdk_names  # noqa: E402

sdk_names.require()  # before other modules of the pack import these names

from policies.pack import serve  # noqa: E402

serve()
