"""Google identities of pods: a Kubernetes service account is an IAM principal itself and is granted roles.

It needs no Google service account and no annotation. The principal names no cluster: it is that of all in the project.
https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pulumi

from components.clouds.base import Reach
from components.clouds.declare import gke as declare
from components.clouds.gke.context import Context
from components.clouds.gke.identity import project_number

READ: Final = "roles/storage.objectViewer"
WRITE: Final = "roles/storage.objectUser"
"""Objects, not the bucket's own settings: https://cloud.google.com/storage/docs/access-control/iam-roles"""
SECRET: Final = "roles/secretmanager.secretAccessor"


def pod_identity(
    context: Context, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
) -> Mapping[str, pulumi.Input[str]]:
    """The grants; the account needs no annotation."""
    settings = context.settings
    namespace, service_account = account
    pool = f"{settings.project}.svc.id.goog"
    member = pulumi.Output.format(
        "principal://iam.googleapis.com/projects/{0}/locations/global/workloadIdentityPools/{1}/subject/ns/{2}/sa/{3}",
        project_number(settings, parent),
        pool,
        namespace,
        service_account,
    )
    # The pool comes with the project's first cluster.
    options = pulumi.ResourceOptions(parent=parent, depends_on=context.made)
    buckets: dict[str, tuple[pulumi.Input[str], str]] = {
        **{f"read-{bucket}": (bucket, READ) for bucket in reach.read},
        **{f"write-{bucket}": (bucket, WRITE) for bucket in reach.write},
        **{f"own-{key}": (bucket.name, WRITE) for key, bucket in reach.own.items()},
    }
    for key, (bucket, role) in buckets.items():
        declare(
            "gcp:storage/bucketIAMMember:BucketIAMMember",
            f"{name}-{key}",
            {"bucket": bucket, "role": role, "member": member},
            options,
        )
    for secret in reach.secrets:
        declare(
            "gcp:secretmanager/secretIamMember:SecretIamMember",
            f"{name}-secret-{secret}",
            {"project": settings.project, "secretId": secret, "role": SECRET, "member": member},
            options,
        )
    return {}
