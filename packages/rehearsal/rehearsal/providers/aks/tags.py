"""What Azure refuses of tags, whose keys have no case.

What it says: https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.tags import tag_rules

TAGS: Final = tag_rules(
    "tags",
    source="https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations",
    key=r"(?!(?i:microsoft|azure|windows))[^<>%&\\?/]{1,512}",
    value=r".{0,256}",
    most=50,
    distinct=True,
    refusal="InvalidTagNameCharacters: The tag name '{key}' is not valid, is there twice, or is one too many.",
)
