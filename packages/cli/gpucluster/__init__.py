"""The owner's command, ``gpucluster``: thin, it imports what it calls only when it calls it. ``make`` calls it, too."""
