"""``make moving-in``: what a cloud's CLI prints about a cluster → a stack file for this program (docs/moving-in.md)."""

from __future__ import annotations
