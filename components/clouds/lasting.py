"""What outlives its stack: registries and buckets, because nobody can make again what is in them."""

from __future__ import annotations

import pulumi

from components.settings.workloads import Checkpoints, Registry


def lasting(
    wanted: Registry | Checkpoints, id: str, parent: pulumi.Resource, *after: pulumi.Resource
) -> pulumi.ResourceOptions:
    """Options of a resource that holds data; ``id`` is what the provider imports it by.

    Kept by ``retainOnDelete``: `pulumi destroy` ends well and forgets it. The clouds' own protections would make the
    destroy fail half-way, and two of three have none for a registry. https://www.pulumi.com/docs/iac/concepts/options/retainondelete/
    Adopted by ``import``: https://www.pulumi.com/docs/iac/concepts/options/import/
    """
    return pulumi.ResourceOptions(
        parent=parent,
        retain_on_delete=wanted.on_destroy == "keep",
        import_=id if wanted.adopt else None,
        depends_on=list(after),
    )
