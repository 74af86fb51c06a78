"""A node whose disk is encrypted with a customer's key starts only if the account that starts it may use the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.eks.account import GRANT, KEY, TEMPLATE, Amazon
from packages.rehearsal.tests.providers.gke.account import POOL, PROJECT, Google, cpu_pool
from rehearsal.providers.base import ProviderError
from rehearsal.providers.gke.functions import project_number

GOOGLES = "projects/keys/locations/us-central1/keyRings/r/cryptoKeys/d"
AGENT = f"serviceAccount:service-{project_number(PROJECT)}@compute-system.iam.gserviceaccount.com"
AUTO_SCALING = "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
OPERATIONS = ["CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptTo"]


def test_google_wants_its_agent_to_have_the_key_and_the_key_in_its_region(tmp_path: Path) -> None:
    google = Google(tmp_path)
    pool = cpu_pool(cluster=google.cluster().id)
    encrypted = {**pool, "nodeConfig": {**pool["nodeConfig"], "bootDiskKmsKey": GOOGLES}}
    google.refuses(POOL, encrypted, r"useToEncrypt.*compute-system")
    member = {"cryptoKeyId": GOOGLES, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": AGENT}
    google.create("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", member)
    elsewhere = GOOGLES.replace("us-central1", "europe-west4")
    with pytest.raises(ProviderError, match="not a key in 'us-central1'"):
        google.create(POOL, {**encrypted, "nodeConfig": {**pool["nodeConfig"], "bootDiskKmsKey": elsewhere}})
    assert google.create(POOL, encrypted).state["nodeConfig"]["bootDiskKmsKey"] == GOOGLES
    google.stop()


def test_auto_scaling_starts_nothing_with_a_key_that_it_may_not_use(tmp_path: Path) -> None:
    amazon = Amazon(tmp_path)
    try:
        amazon.cluster()
        key = amazon.create(KEY, {}).state["arn"]
        disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 50, "encrypted": "true", "kmsKeyId": key}}
        template = amazon.create(TEMPLATE, {"name": "own-key", "blockDeviceMappings": [disk]})
        of_it = {"launchTemplate": {"id": template.id, "version": "1"}}
        nodes = {"scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 2}}
        with pytest.raises(ProviderError, match="AsgInstanceLaunchFailures"):
            amazon.node_group(**of_it, **nodes)
        grant = {"keyId": key, "granteePrincipal": AUTO_SCALING}
        amazon.create(GRANT, {**grant, "operations": OPERATIONS[1:]})
        with pytest.raises(ProviderError, match="AsgInstanceLaunchFailures"):
            amazon.node_group(**of_it, **nodes)
        amazon.create(GRANT, {**grant, "operations": OPERATIONS, "name": "whole"})
        assert amazon.node_group(**of_it, **nodes).id
    finally:
        amazon.stop()
