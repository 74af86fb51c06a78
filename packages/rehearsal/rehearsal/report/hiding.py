"""Keeps secrets out of reports: the stack file's own, and what looks like a credential in an error message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

HIDDEN: Final = "[secret]"
"""As the engine writes it."""
_SHORTEST: Final = 6
"""Characters; shorter texts occur by chance."""
_CREDENTIALS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    r"|\bAIza[\w-]{35}"  # https://cloud.google.com/docs/authentication/api-keys
    r"|\bya29\.[\w.-]+|\bgh[a-z]_\w{36,}|\bgithub_pat_\w{22,}|\bpul-[0-9a-f]{40}\b"
    r"|\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]+)?"  # JSON web tokens: https://www.rfc-editor.org/rfc/rfc7519
    r"|(?i:\b(?:password|passwd|secret|token|api[_-]?key)\b[\"']?\s*[=:]\s*[\"']?)[^\s\"',}]{6,}",
    re.DOTALL,
)


def hidden(value: Any, secrets: Sequence[str] = ()) -> Any:
    """``value``, a text or JSON, without the ``secrets``, their lines, and credentials, in keys as well."""
    if isinstance(value, dict):
        return {hidden(key, secrets): hidden(part, secrets) for key, part in value.items()}
    if isinstance(value, list):
        return [hidden(part, secrets) for part in value]
    if not isinstance(value, str):
        return value
    parts = {part.strip() for secret in secrets for part in (secret, *secret.splitlines())}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= _SHORTEST:
            value = value.replace(part, HIDDEN)
    return _CREDENTIALS.sub(HIDDEN, value)
