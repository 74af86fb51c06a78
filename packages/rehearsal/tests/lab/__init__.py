"""Tests of the machines that a rehearsal makes real."""

import os
import shutil

import pytest

REAL = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mmdebstrap") is None,
    reason="real machines need root and Debian's package mmdebstrap",
)
