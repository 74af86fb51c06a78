"""Credentials in texts of others: what looks like one is hidden before anybody reads the text.

The forms are those of https://github.com/Yelp/detect-secrets/tree/v1.5.0/detect_secrets/plugins (read 2026-11-29; not
its public addresses and random texts), those of services that programs for GPUs log in to, and whatever has a name of a
credential. Rather too much than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from facts.concepts.foreign_text import without_controls

HIDDEN: Final = "[secret]"
"""As the engine writes it."""
_SHORTEST: Final = 6
"""Characters; shorter texts occur by chance."""
_LONGEST_KEY: Final = 200
"""Lines of a private key; more is no key that somebody forgot to end."""

_NAME: Final = (
    r"(?<![\w.-])[\w.-]{0,64}?(?i:secret|token|passw(?:or)?d|passphrase|pwd|credentials?|(?:api|access|account|auth|"
    r"client|encryption|master|private|secret|shared|signing)[_.-]?key|client[_-]key[_-]data|connection[_-]?string)"
)
"""A name that ends with what it holds: ``AWS_SECRET_ACCESS_KEY``, ``db_password``, ``clientSecret``; not
``secretName`` or ``passwordKey``, which name a place."""
_QUOTE: Final = r"\\?[\"']"
_NOT_A_VALUE: Final = r"(?!\[secret\]|output<\w+>|(?:true|false|null|none)\b)"
_QUOTED: Final = rf"{_NOT_A_VALUE}(?:(?!{_QUOTE})[^\n]){{6,}}"
_PLAIN: Final = rf"{_NOT_A_VALUE}[^\s\"',;&\\}}\])]{{6,}}"
_VALUE: Final = rf"(?:(?<=[\"']){_QUOTED}|{_PLAIN})"
_ASSIGNED: Final = re.compile(
    rf"(?P<name>{_NAME}(?:{_QUOTE})?\s*(?:=>|:=|(?<!:)[=:](?![=:]))\s*(?:{_QUOTE})?)(?P<value>{_VALUE})"
)
_AS_OPTION: Final = re.compile(
    rf"(?P<name>--?[\w-]*(?:password|passwd|passphrase|token)[ =](?:{_QUOTE})?)(?P<value>{_VALUE})"
)
# A container's environment, as YAML, JSON and the engine's diffs have it: the name, then the value.
_IN_ENVIRONMENT: Final = re.compile(
    rf"(?P<name>\bname(?:{_QUOTE})?\s*:\s*(?:{_QUOTE})?{_NAME}(?:{_QUOTE})?\s*,?\s*"
    rf"[-+~]?\s*(?:{_QUOTE})?value(?:{_QUOTE})?\s*:\s*(?:{_QUOTE})?)(?P<value>{_VALUE})"
)
# The engine writes an update as ``password: "old" => "new"``.
_UPDATED: Final = re.compile(rf"(?P<name>\[secret\](?:{_QUOTE})?\s*=>\s*(?:{_QUOTE})?)(?P<value>{_VALUE})")
_OPEN: Final = re.compile(rf"\bname(?:{_QUOTE})?\s*:\s*(?:{_QUOTE})?{_NAME}(?:{_QUOTE})?\s*,?\s*\Z")
_BEGIN: Final = "-----BEGIN "
_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----")
_PRIVATE: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_KEYS: Final = re.compile(_NAME)
_FORMS: Final = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY.*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\Z)",
        # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes
        r"\b(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}\b",
        # https://docs.cloud.google.com/docs/authentication/api-keys, https://developers.google.com/identity/protocols/oauth2
        r"\bAIza[\w-]{35}|\bya29\.[\w.-]+|\bGOCSPX-[\w-]{20,}",
        # https://learn.microsoft.com/azure/storage/common/storage-sas-overview, and secrets of Entra ID's applications:
        # https://learn.microsoft.com/purview/sit-defn-azure-ad-client-secret
        r"(?<=[?&]sig=)[\w%+/=-]{20,}|\b[\w~.-]{3}8Q~[\w~.-]{31,}",
        # https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
        r"\bgh[a-z]_\w{36,}|\bgithub_pat_\w{22,}",
        # https://docs.gitlab.com/security/tokens/#token-prefixes
        r"\bgl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat)-[\w-]{20,}|\bGR1348941[\w-]{20,}",
        # https://huggingface.co/docs/hub/security-tokens, https://docs.nvidia.com/ngc/, https://wandb.ai
        r"\bhf_[A-Za-z0-9]{20,}|\bnvapi-[\w-]{40,}|\bwandb_v1_\w{20,}",
        # https://docs.slack.dev/authentication/tokens
        r"\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}|\bhttps://hooks\.slack\.com/services/[\w/]+",
        # https://platform.openai.com/docs/api-reference/authentication, https://docs.claude.com/en/api
        r"\bsk-[\w-]{20,}",
        # https://docs.docker.com/security/access-tokens, https://docs.npmjs.com/about-access-tokens,
        # https://pypi.org/help/#apitoken, https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/
        r"\bdckr_(?:pat|oat)_[\w-]{20,}|\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{50,}|\bpul-[0-9a-f]{40}\b",
        # https://developer.hashicorp.com/vault/docs/concepts/tokens, https://docs.databricks.com/dev-tools/auth/pat
        r"\bhv[sbr]\.[\w-]{24,}|\bdapi[0-9a-f]{32}\b|\bAGE-SECRET-KEY-1[0-9A-Z]{58}",
        # https://docs.stripe.com/keys, https://www.twilio.com/docs/sendgrid, https://core.telegram.org/bots/api, and by
        # detect-secrets Square, Discord, Twilio, Mailchimp, Artifactory
        r"\b[rs]k_(?:live|test)_\w{20,}|\bSG\.[\w-]{20,}\.[\w-]{20,}|\b\d{8,10}:[\w-]{35}\b|\bsq0csp-[\w-]{43}",
        r"\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}|\b(?:AC|SK)[0-9a-f]{32}\b|\b[0-9a-f]{32}-us\d{1,2}\b|\bAKC\w{10,}",
        # https://www.rfc-editor.org/rfc/rfc7519
        r"\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]+)?",
        # https://www.rfc-editor.org/rfc/rfc7617, https://www.rfc-editor.org/rfc/rfc6750
        r"(?i:(?<=\bbasic )|(?<=\bbearer ))[\w+/~.-]{16,}=*",
        # https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
        r"(?<=://)[^\s/:@\"']*:[^\s/@\"']+(?=@)",
    )
)


def hidden(value: Any, secrets: Sequence[str] = ()) -> Any:
    """``value``, a text or JSON, without the ``secrets``, their lines, control characters, and what looks like a
    credential, in keys as well."""
    if isinstance(value, dict):
        return {hidden(key, secrets): _entry(key, part, secrets) for key, part in value.items()}
    if isinstance(value, list):
        return [hidden(part, secrets) for part in value]
    if not isinstance(value, str):
        return value
    parts = {part.strip() for secret in secrets for part in (secret, *secret.splitlines())}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= _SHORTEST:
            value = value.replace(part, HIDDEN)
    value = without_controls(value)
    for form in _FORMS:
        value = form.sub(HIDDEN, value)
    for named in (_IN_ENVIRONMENT, _ASSIGNED, _AS_OPTION, _UPDATED):
        value = named.sub(lambda match: match["name"] + HIDDEN, value)
    return value


def _entry(key: Any, part: Any, secrets: Sequence[str]) -> Any:
    named = isinstance(key, str) and isinstance(part, str) and len(part) >= _SHORTEST
    return HIDDEN if named and _KEYS.fullmatch(key) else hidden(part, secrets)


def hidden_lines(lines: Iterable[str]) -> Iterator[str]:
    """The same of a text that comes line by line. What may be a part of a credential waits for the rest."""
    waiting: list[str] = []
    for line in lines:
        waiting.append(line)
        text = "".join(waiting)
        begun = _BEGIN in text and _PRIVATE.search(text) and not _END.search(text)
        if not (begun and len(waiting) < _LONGEST_KEY) and not _OPEN.search(line):
            yield hidden(text)
            waiting.clear()
    if waiting:
        yield hidden("".join(waiting))
