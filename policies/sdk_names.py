"""Names of pulumi-policy that the pack needs but that are not part of the SDK's stable interface.

``sdk_hooks`` replaces the first four; the others are values of the wire format. The pack refuses to start without them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Final

TESTED: Final = "1.21.0"
"""The version of pulumi-policy that the pack is tested with."""

REPLACED: Final = (
    "policy.json_format",
    "policy.deserialize_properties",
    "policy.unknown_checking_proxy",
    "policy._PolicyAnalyzerServicer.Configure",
)
"""Module of pulumi_policy, dot, name: replaced when the pack starts."""
UNKNOWN_VALUES: Final = tuple(
    f"UNKNOWN_{kind}_VALUE" for kind in ("ARCHIVE", "ARRAY", "ASSET", "BOOLEAN", "NUMBER", "OBJECT", "STRING")
)
"""Names in ``proxy`` of the texts that stand for unknown values."""
READ: Final = (
    "deserialize.SPECIAL_SECRET_SIG",
    "deserialize.SPECIAL_SIG_KEY",
    *(f"proxy.{name}" for name in UNKNOWN_VALUES),
    "proxy.UnknownValueError",
    "secret.Secret",
)
"""Used as they are."""


def require() -> None:
    """Ends the process with a message if the installed pulumi-policy lacks one of the names.

    Call it before any other module of the pack is imported.

    Raises:
        SystemExit: with the missing names, the installed version and the tested one.
    """
    missing = list(_missing())
    if missing:
        installed = importlib.metadata.version("pulumi-policy")
        raise SystemExit(
            f"The policy pack cannot start: pulumi-policy {installed} has no {', '.join(missing)}. "
            f"Install the version that the pack is tested with: pip install pulumi-policy=={TESTED}"
        )


def _missing() -> Iterator[str]:
    for path in (*REPLACED, *READ):
        module, *names = path.split(".")
        try:
            value: object = importlib.import_module(f"pulumi_policy.{module}")
            for name in names:
                value = vars(value)[name]  # of its own: the base class of the servicer has a Configure, too
        except (ImportError, KeyError):
            yield f"pulumi_policy.{path}"
