"""Resources that outlive their stack: registries, buckets and volumes, because their content cannot be recreated."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.settings.sections.workloads import Lasting


def retained(
    setting: Lasting,
    id: str | None,
    parent: pulumi.Resource,
    *after: pulumi.Resource,
    created_with: Sequence[str] = (),
) -> pulumi.ResourceOptions:
    """Options of a resource that holds data; ``id`` is its import id, ``None`` to create it.

    ``created_with`` are inputs that only creation can set and that the program omits. An import reads their values from
    the cloud, and their absence in the program would then require a replacement (on which the engine stops).

    Retained by ``retainOnDelete``: `pulumi destroy` succeeds and only removes it from the state. The clouds' deletion
    protections would make the destroy fail half-way, and two of three have none for a registry. https://www.pulumi.com/docs/iac/concepts/options/retainondelete/
    Adopted by ``import``: https://www.pulumi.com/docs/iac/concepts/options/import/
    """
    return pulumi.ResourceOptions(
        parent=parent,
        retain_on_delete=setting.on_destroy == "keep",
        import_=id if setting.adopt else None,
        ignore_changes=list(created_with),
        depends_on=list(after),
    )
