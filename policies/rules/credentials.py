"""No long-lived keys in programs and stacks."""

from __future__ import annotations

from policies.rules.model import UNKNOWN, Credential, Violation

STATIC_KEYS = "no-static-keys"


def no_static_keys(credential: Credential) -> list[Violation]:
    """What needs credentials gets short-lived ones: workload identity, OIDC, an exec credential plugin."""
    remedy = "Use an identity instead: workload identity, OIDC, or an exec credential plugin in the kubeconfig."
    if credential.static is UNKNOWN:
        message = f"Unknown at preview, checked at update: whether {credential.what} holds a static key."
        return [Violation(STATIC_KEYS, message, remedy, undecided=True, resource=credential.resource)]
    if not credential.static:
        return []
    return [
        Violation(
            STATIC_KEYS, f"Found {credential.what}: a key that never expires.", remedy, resource=credential.resource
        )
    ]
