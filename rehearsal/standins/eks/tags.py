"""What AWS refuses of tags: all services alike, and IAM takes keys that differ in case alone for one.

https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html
"""

from __future__ import annotations

from typing import Final

from rehearsal.standins.tags import tag_rules

TAGS: Final = tag_rules(
    "tags",
    source="https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html",
    key=r"(?!(?i:aws:))[\w .:/=+@-]{1,128}",
    value=r"[\w .:/=+@-]{0,256}",
    most=50,
    refusal="InvalidParameterException: the tag '{key}' is not valid, is reserved, or is one too many",
)
