"""The form of node labels and taints, which every cloud checks."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")


def bad_label(what: str, key: str, value: str) -> str | None:
    """The error in a key or value, ``None`` if both are valid; ``what`` is ``label`` or ``taint``.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
    """
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
        return f"Invalid {what} key '{key}': it must be [prefix/]name of letters, digits, '-', '_' and '.'."
    if value and not _NAME.fullmatch(value):
        return f"Invalid {what} value '{value}' of key '{key}': at most 63 letters, digits, '-', '_' and '.'."
    return None
