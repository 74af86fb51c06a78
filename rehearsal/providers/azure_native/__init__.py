"""A stand-in for the Azure Native provider: Azure's own request shapes, AKS's behaviour, no account and no network."""

from rehearsal.providers.azure_native.provider import AzureNativeProvider

__all__ = ["AzureNativeProvider"]
