"""What AWS refuses of tags: all services alike, and IAM takes keys that differ in case alone for one.

https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.rules import tag_rules

_KEY: Final = 128
_VALUE: Final = 256
_MOST: Final = 50

TAGS: Final = tag_rules(
    "tags",
    source="https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html",
    key=rf"(?!(?i:aws:))[\w .:/=+@-]{{1,{_KEY}}}",
    value=rf"[\w .:/=+@-]{{0,{_VALUE}}}",
    most=_MOST,
    refusal="InvalidParameterException: the tag '{key}' is not valid, is reserved, or is one too many",
)


def tag_failures(inputs: Properties) -> list[CheckFailure]:
    """What the provider itself finds wrong with tags.

    https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html (naming limits)
    """
    tags = inputs.get("tags")
    if not isinstance(tags, dict):
        return []
    failures = [
        CheckFailure(f'tags["{key}"]', f"keys of 1 to {_KEY} characters that do not begin with aws: are allowed")
        for key in tags
        if not 1 <= len(key) <= _KEY or key.lower().startswith("aws:")
    ]
    long = [key for key, value in tags.items() if isinstance(value, str) and len(value) > _VALUE]
    failures += [CheckFailure(f'tags["{key}"]', f"values of at most {_VALUE} characters are allowed") for key in long]
    if len(tags) > _MOST:
        failures.append(CheckFailure("tags", f"{len(tags)} tags are more than the {_MOST} that a resource may have"))
    return failures
