"""Every type of the pinned SDKs that makes a secret, as its outputs or its name say, is refused by ``no-static-keys``,
or stands in ``harmless_keys.csv`` with the reason."""

from __future__ import annotations

import csv
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from facts.concepts.declared import Credential
from policies.readers import read
from policies.readers.resource import Declared
from tests.policies.sdk_inputs import modules

_TOKEN = re.compile(r"super\(\w+, __self__\)\.__init__\(\s*'([^']+:[^']+)'")
_SECRETS = re.compile(r"additional_secret_outputs=\[(.*?)\]", re.DOTALL)
_OUTPUT = re.compile(r"@pulumi\.getter(?:\(name=\"(\w+)\"\))?\n    def (\w+)\(self\) -> pulumi\.Output")
_INPUT = re.compile(r"@pulumi\.getter(?:\(name=\"(\w+)\"\))?\n    def (\w+)\(self\) -> (?:Optional\[)?pulumi\.Input")
_LABELS = ("effectiveLabels", "pulumiLabels")
"""Google's SDK keeps them secret, too."""
_SAYS_SO = re.compile(
    r"(?:primary|secondary)?(?:connectionString|accessKeys?|apiKey|key|password|privateKey|secret|token|sharedSecret)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:Key|Token|Password|Credentials?|SecretId|Secret|AuthorizationRule|LoginProfile|KeyPair|Certificate)$"
)


@cache
def makers() -> dict[str, tuple[str, ...]]:
    """Type → its outputs that are secret and no inputs; the types whose names say so, too."""
    found: dict[str, tuple[str, ...]] = {}
    for file in (file for module in modules() for file in sorted(module.glob("*.py")) if file.name[0] != "_"):
        text = file.read_text()
        if (token := _TOKEN.search(text)) is None:
            continue
        arguments, _, resource = text.rpartition("\nclass ")
        given = {first or second for first, second in _INPUT.findall(arguments.partition("\nclass _")[0])}
        made = {first or second for first, second in _OUTPUT.findall(resource)} - given
        declared = _SECRETS.search(resource)
        kept = set(re.findall(r'"(\w+)"', declared[1])) if declared else set()
        secret = sorted(name for name in made - {*_LABELS} if name in kept or _SAYS_SO.fullmatch(name))
        if secret or _NAMED.search(token[1]):
            found[token[1]] = tuple(secret)
    return found


def _is_refused(token: str) -> bool:
    items = read(Declared(token, "x", "urn:x", {}))
    return any(isinstance(each, Credential) and each.static is True for each in items)


def _harmless() -> dict[str, str]:
    with (Path(__file__).parent / "harmless_keys.csv").open() as file:
        return {row["type"]: row["why"] for row in csv.DictReader(line for line in file if not line.startswith("#"))}


@pytest.mark.rehearsal  # it reads all sources of three SDKs: a quarter of a minute, which `make test` has not
def test_each_type_that_makes_a_secret_is_refused_or_harmless_for_a_reason() -> None:
    known = _harmless()
    assert len(makers()) > 100
    unknown = {
        token: secret
        for token, secret in makers().items()
        if not _is_refused(token) and not any(fnmatchcase(token, pattern) for pattern in known)
    }
    assert unknown == {}, "add it to policies/readers/made_keys.csv, or to harmless_keys.csv with the reason"


@pytest.mark.rehearsal  # as above
def test_each_reason_is_about_a_type_that_is_not_refused() -> None:
    assert all(_harmless().values())
    matched = {pattern: [token for token in makers() if fnmatchcase(token, pattern)] for pattern in _harmless()}
    assert [pattern for pattern, tokens in matched.items() if not tokens] == []
    refused = {pattern: [*filter(_is_refused, tokens)] for pattern, tokens in matched.items()}
    assert {pattern: tokens for pattern, tokens in refused.items() if tokens} == {}
