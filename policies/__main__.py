"""Starts the policy pack, from this repository or from an exported one (``bundle.py``)."""

import gc
import sys
from pathlib import Path

gc.disable()  # during imports, which leave no garbage; ``serve`` enables it again

# The engine runs this file's folder as a separate program. In the repository its modules are one folder further up,
# which is searched last: nothing else there may take an installed package's place.
_HERE = Path(__file__).resolve().parent
sys.path.append(str(_HERE if (_HERE / "policies").is_dir() else _HERE.parent))

from policies import sdk_names  # noqa: E402

sdk_names.require()  # before other modules of the pack import these names

from policies.pack import serve  # noqa: E402

serve()
