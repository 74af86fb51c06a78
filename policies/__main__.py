"""Starts the policy pack from this repository."""

import gc
import sys
from pathlib import Path

gc.disable()  # during imports, which leave no garbage; ``serve`` enables it again

# The engine runs this folder as a separate program; its modules are imported from the repository.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from policies import sdk_names  # noqa: E402

sdk_names.require()  # before other modules of the pack import these names

from policies.pack import serve  # noqa: E402

serve()
