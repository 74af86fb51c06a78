"""The gate: rules about GPU clusters, and the policy pack in which the engine runs them."""

import sys

# `python -m policies.config` searches the folder with this package first: nothing else there, such as a folder of a
# branch that is called like an installed package, may take that package's place.
if sys.argv[:1] == ["-m"]:
    sys.path.append(sys.path.pop(0))
