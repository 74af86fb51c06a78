"""What Google refuses of labels on clusters and machines.

https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.tags import tag_rules

TAGS: Final = tag_rules(
    "resourceLabels",
    "nodeConfig.resourceLabels",
    source="https://cloud.google.com/compute/docs/labeling-resources#requirements",
    key=r"[a-z][a-z0-9_-]{0,62}",
    value=r"[a-z0-9_-]{0,63}",
    most=64,
    refusal="Invalid label '{key}': keys and values are of lower-case letters, digits, '_' and '-'.",
)
