"""Markdown for a comment on a code host, safe with untrusted texts, and within the host's limit of length.

A change's author chooses the names of pools and resources, and what error messages quote. Such a text only appears in
code: there a host resolves no link, mention, image or HTML. And what keeps secrets out of every report: the stack
file's own, and what looks like a credential in an error message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


LIMIT: Final = 65_536
"""GitHub refuses a longer comment; here bytes of UTF-8, which are never fewer than its characters."""
_LONGEST: Final = 300
"""Characters of a text in a line; more belongs to the job's log."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class CommentBlock:
    """A complete piece of Markdown. Details with a ``title`` (HTML, trusted) open on demand, and are left out first
    where the whole is too long."""

    text: str
    title: str = ""

    @property
    def markdown(self) -> str:
        """The block as it stands in a comment."""
        return f"<details><summary>{self.title}</summary>\n\n{self.text}\n\n</details>" if self.title else self.text


def code(text: object) -> str:
    """An untrusted text in one line: at most 300 characters, as inline code, also in a cell of a table."""
    line = " ".join(_CONTROL.sub("", str(text)).split()).replace("|", "¦") or "–"
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence}{line}{fence}" if not {line[0], line[-1]} & {"`", " "} else f"{fence} {line} {fence}"


def listing(text: str) -> str:
    """An untrusted text of several lines as a code block."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}text\n{_CONTROL.sub('', text).strip()}\n{fence}"


def joined(blocks: Sequence[CommentBlock], limit: int = LIMIT) -> str:
    """The blocks as one text of at most ``limit`` bytes: whole blocks are left out, from the end, details first."""
    shown = list(blocks)
    note = CommentBlock("_Cut: the rest is longer than a comment may be; the job's log has all of it._")
    while len((text := _together(shown if len(shown) == len(blocks) else [*shown, note])).encode()) > limit:
        del shown[max((index for index, block in enumerate(shown) if block.title), default=len(shown) - 1)]
    return text


def _together(blocks: Sequence[CommentBlock]) -> str:
    return "\n\n".join(block.markdown for block in blocks) + "\n"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
