"""Names within a cloud's limits: a shortened name contains a digest, so that it stays unique."""

from __future__ import annotations

import hashlib


def shortened(name: str, limit: int, *, suffix: str = "", digits: int = 6) -> str:
    """``name`` plus ``suffix`` in at most ``limit`` characters.

    If the name is too long, its end is replaced by ``digits`` hexadecimal digits, a digest of the whole name.

    Raises:
        ValueError: ``limit`` leaves no room for the suffix and the digest.
    """
    if len(name) + len(suffix) <= limit:
        return name + suffix
    room = limit - len(suffix) - digits - 1
    if room < 1:
        raise ValueError(f"no name fits into {limit} characters that end in '{suffix}'")
    digest = hashlib.sha256(name.encode()).hexdigest()[:digits]
    return f"{name[:room].rstrip('-')}-{digest}{suffix}"


def worldwide(name: str, limit: int, *place: str, suffix: str = "") -> str:
    """``name`` for a global namespace: with digits of ``place`` (account, region), then ``suffix``.

    The same stack always gets the same name; a stack of that name in another account gets another one.
    """
    digest = hashlib.sha256("/".join((*place, name)).encode()).hexdigest()[:8]
    return shortened(name, limit, suffix=f"-{digest}{suffix}")
