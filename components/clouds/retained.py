"""What outlives its stack: registries, buckets and volumes, because nobody can make again what is in them."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.settings.workloads import Lasting


def retained(
    setting: Lasting,
    id: str | None,
    parent: pulumi.Resource,
    *after: pulumi.Resource,
    created_with: Sequence[str] = (),
) -> pulumi.ResourceOptions:
    """Options of a resource that holds data; ``id`` is what the provider imports it by, ``None`` if it was never made.

    ``created_with`` are inputs that only a creation can set and that are left open here. An import takes the cloud's
    answer for them, and their absence in the program would then want a replacement (on which the engine stops).

    Kept by ``retainOnDelete``: `pulumi destroy` ends well and forgets it. The clouds' own protections would make the
    destroy fail half-way, and two of three have none for a registry. https://www.pulumi.com/docs/iac/concepts/options/retainondelete/
    Adopted by ``import``: https://www.pulumi.com/docs/iac/concepts/options/import/
    """
    return pulumi.ResourceOptions(
        parent=parent,
        retain_on_delete=setting.on_destroy == "keep",
        import_=id if setting.adopt else None,
        ignore_changes=list(created_with),
        depends_on=list(after),
    )
