"""Errors in the words of AWS, so that what a rehearsal prints is what a search engine knows."""

from __future__ import annotations

from rehearsal.standins.base import ProviderError


class ApiError(ProviderError):
    """An answer of an AWS API as the provider prints it; ``code`` is the API's (``ResourceInUseException``)."""

    def __init__(self, service: str, operation: str, code: str, message: str) -> None:
        super().__init__(f"operation error {service}: {operation}, api error {code}: {message}")
        self.code = code


def not_found(error: ApiError) -> bool:
    """Whether the API says that something does not exist (``InvalidVpcID.NotFound``, ``NoSuchEntity`` …)."""
    return "NotFound" in error.code or "NoSuch" in error.code or "NonExistent" in error.code
