"""How each cloud's resources are declared: with the inputs that its provider takes, as a type checker sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from components.resources import CustomResource

if TYPE_CHECKING:
    from schemas import aks as azure
    from schemas import eks as amazon
    from schemas import gke as google

aks: Final = cast("azure.Declare", CustomResource)
eks: Final = cast("amazon.Declare", CustomResource)
gke: Final = cast("google.Declare", CustomResource)
