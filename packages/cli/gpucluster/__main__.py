"""``python -m gpucluster``: see ``gpucluster.app``."""

import signal

# Ctrl-C while modules are imported ends it without a traceback; ``main`` has its own handler.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from gpucluster.app import main  # noqa: E402

if __name__ == "__main__":
    main()
