"""The background process of a rehearsal, ``python -m rehearsal.sandbox --run-dir D``.

It runs until its standard input closes, or until SIGTERM or SIGINT. Lines on standard input are requests:

    keep              from now on only a signal ends the sandbox
    inventory         write inventory.json
    exhaust POOL …    these pools get no further machine, all others do again; then write exhaust.json
    reclaim NODE      the cloud takes the node's machine back; then write reclaim.json
    maintain          the cloud's maintenance window comes; then write maintain.json

Files of the run directory D:

    sandbox.json                          written when the sandbox is ready, and when its processes change
    inventory.json                        what exists in the simulated account, and whom it grants access
    exhaust.json                          the pools that get no further machine
    reclaim.json                          the node whose machine was last taken back
    maintain.json                         what the last maintenance did with GPU nodes
    plugins/                              for PATH: the kubeconfigs' credential plugins
    pulumi/home/plugins/resource-*        the engine's plugin cache, for ``PULUMI_HOME=D/pulumi/home``
    cloud/                                the state of a simulated cloud that keeps one on disk
    control-plane/, logs/, fleet.json

Exit code 0 after an ordinary end, 1 if something in the sandbox died or could not start.
"""

from __future__ import annotations

import sys

from rehearsal.sandbox.service import main

if __name__ == "__main__":
    sys.exit(main())
