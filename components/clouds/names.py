"""Names within a cloud's limits: a name that is too long keeps a digest, so that two names never become one."""

from __future__ import annotations

import hashlib

_DIGEST_LENGTH = 6


def shortened(name: str, limit: int, *, suffix: str = "") -> str:
    """``name`` plus ``suffix`` in at most ``limit`` characters; a part of ``name`` gives way to a digest of all of it.

    Raises:
        ValueError: ``limit`` leaves no room for the suffix and the digest.
    """
    if len(name) + len(suffix) <= limit:
        return name + suffix
    room = limit - len(suffix) - _DIGEST_LENGTH - 1
    if room < 1:
        raise ValueError(f"no name fits into {limit} characters that end in '{suffix}'")
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[:room].rstrip('-')}-{digest}{suffix}"
