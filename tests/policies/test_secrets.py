"""A secret is in no message, whatever the message quotes."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from policies.secrets import HIDDEN, Secrets


def secret(value: Any) -> dict[str, Any]:
    return {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": value}


@pytest.mark.parametrize(
    "properties",
    [
        {"taints": [{"key": "team", "value": secret("hunter2")}]},
        {"taints": secret([{"key": "team", "value": "hunter2"}])},
        secret({"deep": {"er": [["hunter2"]]}}),
    ],
)
def test_a_secret_is_covered_wherever_it_was(properties: Any) -> None:
    secrets = Secrets()
    secrets.learn(properties)
    assert secrets.hidden("has the taint hunter2:NoSchedule") == f"has the taint {HIDDEN}:NoSchedule"


def test_what_is_no_secret_stays() -> None:
    secrets = Secrets()
    secrets.learn({"name": "hunter2", "count": secret(3.0), "flag": secret("on")})
    assert secrets.hidden("on hunter2, 3 nodes") == "on hunter2, 3 nodes"


def test_a_secret_inside_of_a_word_is_not_that_secret() -> None:
    secrets = Secrets()
    secrets.learn(secret("gpu"))
    assert secrets.hidden("gpus of pool 'gpu'") == f"gpus of pool '{HIDDEN}'"


def test_of_two_secrets_the_longer_is_covered_first() -> None:
    secrets = Secrets()
    secrets.learn([secret("red"), secret("red-team")])
    assert secrets.hidden("red-team") == HIDDEN
