"""Simulated AWS provider: botocore's requests, moto's answers, EKS's behaviour, no account and no network."""

from rehearsal.providers.eks.cloud import REFUSALS
from rehearsal.providers.eks.provider import AwsProvider

__all__ = ["PROVIDER", "REFUSALS", "AwsProvider"]

PROVIDER = AwsProvider
