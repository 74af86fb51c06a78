"""A stand-in for the AWS provider: botocore's requests, moto's answers, EKS's behaviour, no account and no network."""

from rehearsal.providers.aws.provider import AwsProvider

__all__ = ["AwsProvider"]
