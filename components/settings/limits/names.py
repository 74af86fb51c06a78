"""The form of bucket and secret names in ``identities``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from components.settings.problems import Problem
from components.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Names:
    """Patterns of a whole bucket or secret name, with an example of each."""

    bucket: re.Pattern[str]
    bucket_example: str
    secret: re.Pattern[str]
    secret_example: str


def name_problems(settings: Settings, names: Names) -> Iterator[Problem]:
    """Names that are not valid on the cloud."""
    for index, identity in enumerate(settings.identities):
        kinds = (
            ("read", identity.read, names.bucket, names.bucket_example),
            ("write", identity.write, names.bucket, names.bucket_example),
            ("secrets", identity.secrets, names.secret, names.secret_example),
        )
        for key, chosen, pattern, example in kinds:
            for name in chosen:
                if not pattern.fullmatch(name):
                    what = "secret" if key == "secrets" else "bucket"
                    yield Problem(
                        f"identities[{index}].{key}",
                        f"'{name}' is not a valid {what} name",
                        f"Write for example {example}",
                    )
