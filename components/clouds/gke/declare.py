"""How Google's resources are declared: each with the inputs that its provider takes, as a type checker sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from components.resources import CustomResource

if TYPE_CHECKING:
    from schemas import gke

declare: Final = cast("gke.Declare[CustomResource]", CustomResource)
