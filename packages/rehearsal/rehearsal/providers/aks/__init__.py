"""Simulated Azure Native provider: Azure's request shapes, AKS's behaviour, no account and no network."""

from rehearsal.providers.aks.cloud import REFUSALS
from rehearsal.providers.aks.provider import AzureNativeProvider

__all__ = ["PROVIDER", "REFUSALS", "AzureNativeProvider"]

PROVIDER = AzureNativeProvider
