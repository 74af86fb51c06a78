"""Credentials in texts of others: what looks like one is hidden before anybody reads the text.

The forms are those of https://github.com/Yelp/detect-secrets/tree/v1.5.0/detect_secrets/plugins (read 2026-11-29; not
its public addresses and random texts), those of services that programs for GPUs log in to, and whatever has a name of a
credential. Rather too much than too little, but only values: the author of a change can write texts that look like
credentials, and must not hide with them what an approver decides by. So every line stays, a value ends with its line,
only the line before can say what a value is, and types of resources are never hidden. The value of a key such as
``token`` is hidden even where it reads like a role's name: the author can hide any one value as a Pulumi secret.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from facts.concepts.foreign_text import without_controls

HIDDEN: Final = "[secret]"
"""As the engine writes it."""
_SHORTEST: Final = 6
"""Characters; shorter texts occur by chance."""
_FULL_LINE: Final = 16
"""Characters; a shorter line of a private key is its last. PEM has 64 (https://www.rfc-editor.org/rfc/rfc7468)."""

_KEY_OF: Final = (
    "(?:access|account|admin|anthropic|api|auth|client|deploy|encryption|hf|hmac|jwt|license|master|ngc|nvidia|openai|"
    "primary|private|secondary|secret|session|shared|signing|ssh|storage|wandb)[_.-]?keys?"
)
_NAME: Final = (
    r"(?<![\w.-])(?=[\w.-])[\w.-]{0,64}?(?:(?i:secret|token|passw(?:or)?ds?|passphrases?|pwd|credentials?|"
    rf"client[_-]key[_-]data|secret[_-]?key[_-]?base|connection[_-]?string|{_KEY_OF})"
    r"|(?<![A-Za-z])(?i:pass)|(?<=[a-z])Pass)"
)
"""A name that ends with what it holds: ``AWS_SECRET_ACCESS_KEY``, ``db_password``, ``clientSecret``; not
``secretName`` or ``passwordKey``, which name a place."""
_TYPE: Final = rf"(?<![\w./-])(?!{_NAME}:)[a-z][a-z0-9-]{{0,64}}:[\w./-]{{1,128}}:[A-Z]\w{{0,128}}"
"""A resource's type, as in the plan and in URNs: ``gcp:secretmanager/secret:Secret`` assigns nothing to a secret."""
_LINE: Final = r"[ \t]*\n[ \t]*(?:[-+~][ \t]+)?"
"""The end of a line and the start of the next, with the engine's mark of a change."""
_QUOTE: Final = r"\\?[\"']"
_END: Final = r"(?![^\s\"',;&\\)\]}])"
_NOT_A_VALUE: Final = (
    rf"(?!(?:\[secret\]|output<\w+>|true|false|null|none){_END}"
    # Public keys, which an approver has to see, and the next option.
    r"|(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[\w@.-]{1,64} AAAA|--[a-z])"
)
# A text in quotes ends with its own quote, not with an escaped one; in a JSON's text the quotes are escaped.
_QUOTED: Final = (
    r"(?:(?<=\\\")(?:(?!\\{1,8}\")[^\n]){6,}|(?<=\\')(?:(?!\\{1,8}')[^\n]){6,}"
    r"|(?<=[^\\]\")(?:\\.|[^\"\\\n]){6,}|(?<=[^\\]')(?:\\.|[^'\\\n]){6,})"
)
_PLAIN: Final = r"(?:[^\s\"',;&\\)\]}]|[,)\]}](?=[\w/+=!#$%^*@-])){6,}"
_LIST: Final = r"(?<!\[)\[[^\]\n]{6,}\]"
_VALUE: Final = rf"{_NOT_A_VALUE}(?:{_LIST}|{_QUOTED}|(?<![\"']){_PLAIN})"
_IS: Final = r"[ \t]*(?:=>|:=|(?<!:)[=:](?![=:]))[ \t]*"
_ASSIGNED: Final = rf"{_NAME}(?:{_QUOTE})?{_IS}(?:{_QUOTE})?"
# Not ``--secret``, which takes no value (`pulumi config set`). In a list the value is the next entry.
_OPTION: Final = (
    rf"(?<![\w-])--?[\w-]{{0,64}}?(?i:passw(?:or)?d|passphrase|token|{_KEY_OF})"
    rf"(?:[ =](?:{_QUOTE})?|{_QUOTE}[ \t]*,[ \t]*{_QUOTE}"
    rf"|(?:{_QUOTE})?,?{_LINE}(?:-[ \t]+|\[\d+\][ \t]*:[ \t]*|(?=[\"']))(?:{_QUOTE})?(?!{_TYPE}))"
)
# The value on the next line, alone.
_BELOW: Final = (
    rf"{_NAME}(?:{_QUOTE})?[ \t]*:(?:[ \t]*[|>][+-]?)?{_LINE}(?:{_QUOTE})?(?=[^\s:{{}}\[\]]{{6,}}[ \t]*(?:\n|\Z))"
)
_USER: Final = (
    r"\b(?:curl|wget)\b[^\n]{0,200}?[\s\"'](?:-u|--user)[ =\"',]{0,8}[^\s:\"']{1,64}:"
    rf"|(?i:authorization)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?(?i:basic|bearer|token|apikey|key)[ ]"
)
# https://docs.docker.com/reference/cli/docker/login/#credential-stores
_DOCKER: Final = rf"{_QUOTE}auth{_QUOTE}{_IS}{_QUOTE}(?=[A-Za-z0-9+/]{{10,}}={{0,2}}\\?[\"'])"
# A container's environment, as YAML, JSON and the engine's diffs have it: the name, then the value.
_IN_ENVIRONMENT: Final = (
    rf"\bname(?:{_QUOTE})?[ \t]*:[ \t]*(?:{_QUOTE})?{_NAME}(?:{_QUOTE})?(?:[ \t]*,)?(?:{_LINE}|[ \t]*)"
    rf"(?:{_QUOTE})?value(?:{_QUOTE})?[ \t]*:[ \t]*(?:{_QUOTE})?"
)
# The engine writes an update as ``password: "old" => "new"``.
_UPDATE: Final = rf"\[secret\](?:{_QUOTE})?[ \t]*=>[ \t]*(?:{_QUOTE})?"
_NAMED: Final = tuple(
    re.compile(rf"(?P<type>{_TYPE})|(?P<name>(?:{name}))(?P<value>{_VALUE})")
    for name in (
        _IN_ENVIRONMENT,
        f"{_IN_ENVIRONMENT}{_UPDATE}",
        _ASSIGNED,
        f"{_ASSIGNED}{_UPDATE}",
        _OPTION,
        _BELOW,
        _USER,
        _DOCKER,
    )
)
# Each match has one of these in it, in any case; without an i, of which there is one that no case has (ı).
_NAMED_HINTS: Final = ("secret", "token", "pass", "pwd", "credent", "key", "connect", "curl", "wget", "auth")
_BEGIN: Final = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BASE64: Final = r"[A-Za-z0-9+/]"
_FEED: Final = r"\\{1,8}[nr]"
_KEY_HEADER: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): "
"""https://www.rfc-editor.org/rfc/rfc1421#section-4.6, https://www.rfc-editor.org/rfc/rfc9580#section-6.2.2"""
_KEY_IN_LINE: Final = re.compile(
    rf"(?P<begin>{_BEGIN})(?:(?:{_FEED})*(?:{_KEY_HEADER}[^\\\n\"']{{1,80}}|(?:{_BASE64}|=)+)"
    rf"|[ \t]+{_BASE64}{{16,}})+"
)
_KEY_BEGINS: Final = re.compile(rf"{_BEGIN}(?:{_FEED})*[ \t]*$")
_KEY_LINE: Final = re.compile(
    rf"(?P<before>[ \t]*(?:[-+~][ \t]+)?[\"']?)(?P<key>{_BASE64}+={{0,3}})(?P<after>(?:{_FEED})*[\"']?,?[ \t]*\n?)"
)
_KEY_GOES_ON: Final = re.compile(rf"[ \t]*(?:[-+~][ \t]+)?(?:{_KEY_HEADER}.*)?\n?")
_KEYS: Final = re.compile(_NAME)
_KEYS_BY_FORM: Final[Mapping[str, str]] = {
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-prefixes
    "an AWS access key": r"\b(?:ABIA|ACCA|AKIA)[0-9A-Z]{16}\b",
    # https://docs.cloud.google.com/docs/authentication/api-keys
    "a Google API key": r"\bAIza[\w-]{35}",
    "a Google OAuth client's secret": r"\bGOCSPX-[\w-]{20,}",
    # https://developers.google.com/identity/protocols/oauth2/web-server#httprest_3
    "a person's refresh token of Google": r"(?<![\w/])1//[\w-]{20,}",
    # https://learn.microsoft.com/purview/sit-defn-azure-ad-client-secret
    "an Azure application's secret": r"\b[\w~.-]{3}8Q~[\w~.-]{31,}",
    # https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
    "an Azure account key": r"\b(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{43,}={0,2}",
    # https://learn.microsoft.com/azure/storage/common/storage-sas-overview; its end may be in ten years
    "an Azure shared access signature": r"(?<=[?&]sig=)[\w%+/=-]{20,}",
    # https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    "a GitHub token": r"\bgh[opu]_\w{36,}|\bgithub_pat_\w{22,}",
    # https://docs.gitlab.com/security/tokens/#token-prefixes
    "a GitLab token": r"\bgl(?:agent|dt|ffct|ft|imt|oas|pat|ptt|rt|rtr|soat)-[\w-]{20,}|\bGR1348941[\w-]{20,}",
    # https://huggingface.co/docs/hub/security-tokens, https://docs.nvidia.com/ngc/, https://docs.wandb.ai/ref/cli/wandb-login
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{20,}|\bapi_org_[A-Za-z]{34}",
    "an NGC key": r"\bnvapi-[\w-]{40,}",
    "a Weights & Biases key": (
        r"\bwandb_v1_\w{20,}|(?:(?<=\bwandb login )|(?<=\bwandb login --relogin )|(?<=\bwandb\.login\(key=['\"])"
        r"|(?<=--wandb[-_]key[ =])|(?<=\bWANDB_KEY=)|(?<=\bmachine api\.wandb\.ai\s{3}login user\s{3}password )"
        r"|(?<=\bmachine api\.wandb\.ai\slogin user\spassword ))[0-9a-f]{40}(?![0-9a-f])"
        r"|(?<![0-9a-f])[0-9a-f]{40}(?= \| wandb login\b)"
    ),
    # https://docs.slack.dev/authentication/tokens
    "a Slack token": r"\bxox[a-z]-(?=[\w-]*\d)[\w-]{10,}|\bxapp-[\w-]{10,}",
    # https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
    "a Slack webhook": r"\bhttps://hooks\.slack\.com/services/T\w+/B\w+/\w{20,}",
    # https://platform.openai.com/docs/api-reference/authentication, https://docs.claude.com/en/api
    "a key of OpenAI or Anthropic": r"\bsk-(?:ant|admin|proj|svcacct)-[\w-]{20,}|\bsk-[A-Za-z0-9]{40,}",
    # https://docs.discord.com/developers/resources/webhook
    "a Discord webhook": r"\bhttps://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,}/[\w-]{60,}",
    # https://core.telegram.org/bots/features#botfather
    "a Telegram bot's token": r"\b\d{8,10}:AA[\w-]{33}(?![\w-])",
    # https://docs.docker.com/security/access-tokens, https://docs.npmjs.com/about-access-tokens,
    # https://pypi.org/help/#apitoken, https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/
    "a Docker token": r"\bdckr_(?:pat|oat)_[\w-]{20,}",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}|(?<=:_authToken=)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "a PyPI token": r"\bpypi-[\w-]{50,}",
    "a Pulumi token": r"\bpul-[0-9a-f]{40}\b",
    # https://developer.hashicorp.com/vault/docs/concepts/tokens, https://docs.databricks.com/dev-tools/auth/pat
    "a Vault token": r"\bhv[sbr]\.[\w-]{24,}",
    "a Databricks token": r"\bdapi[0-9a-f]{32}\b",
    # https://age-encryption.org/v1
    "an age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}",
    # https://developer.squareup.com/docs/build-basics/access-tokens, https://jfrog.com/help/r/jfrog-artifactory-documentation
    "a Square secret": r"\bsq0csp-[\w-]{43}",
    "an Artifactory key": r"\bAKCp[A-Za-z0-9]{69}\b",
    # https://docs.k3s.io/cli/token
    "a token by which nodes join": r"\bK10[0-9a-f]{64}::[\w:.-]+",
    # https://docs.stripe.com/keys, https://www.twilio.com/docs/sendgrid
    "a Stripe key": r"\b[rs]k_live_\w{20,}",
    "a SendGrid key": r"\bSG\.[\w-]{20,}\.[\w-]{20,}",
    # https://grafana.com/docs/grafana/latest/administration/service-accounts, https://tailscale.com/kb/1085/auth-keys,
    # https://docs.digitalocean.com/reference/api/create-personal-access-token, https://support.atlassian.com
    "a Grafana token": r"\bgl(?:sa|c)_[\w+/=]{30,}",
    "a Tailscale key": r"\btskey-[a-z]+-[\w-]{16,}",
    "a DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "an Atlassian token": r"\bATATT3[\w-]{20,}",
    # https://console.groq.com, https://replicate.com/docs/reference/http, https://docs.runpod.io/get-started/api-keys
    "a Groq, Replicate or RunPod key": r"\bgsk_[A-Za-z0-9]{40,}|\br8_[A-Za-z0-9]{30,}|\brpa_[A-Z0-9]{30,}",
    # https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml (its rules have the same prefixes and
    # lengths), https://github.com/microsoft/security-utilities/tree/main/GeneratedRegexPatterns (keys of Azure),
    # https://docs.cloud.google.com/storage/docs/authentication/hmackeys
    "a key of Amazon Bedrock": r"\bABSK[A-Za-z0-9+/]{109,}",
    "an Azure key": r"(?<![A-Za-z0-9])[A-Za-z0-9]{52,76}JQQJ9[9DH][A-Za-z0-9]{20,}",
    "a Google HMAC key": r"\bGOOG1[A-Z0-9]{50,}",
    "an Alibaba Cloud access key": r"\bLTAI[A-Za-z0-9]{16,26}\b",
    "a 1Password token": r"\bops_eyJ[\w+/=-]{200,}",
    "a Doppler token": r"\bdp\.(?:audit|ct|pt|sa|scim|st)\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,}",
    "a LangSmith key": r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    "a key of Pinecone or xAI": r"\bpcsk_\w{50,}|\bxai-[A-Za-z0-9]{70,}",
    "a New Relic or Postman key": r"\bNRAK-[A-Z0-9]{27}|\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    "a Sentry token": r"\bsntrys_eyJ[\w+/=-]{50,}|\bsntryu_[0-9a-f]{64}",
    "a Supabase or PlanetScale token": r"\bsbp_[0-9a-f]{40}|\bpscale_(?:oauth|pw|tkn)_[\w.=-]{32,}",
    "a Confluent secret": r"\bcflt[A-Za-z0-9+/]{60}",
    "a Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "a Linear or Bitbucket token": r"\blin_api_[A-Za-z0-9]{40}|\bATBB[A-Za-z0-9]{32}",
    "a Fly.io token": r"\bfm2_[\w+/=]{100,}|\bfo1_[\w-]{43}",
    # https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth
    "a NATS seed": r"\bS[AOU][A-D][A-Z2-7]{55}\b",
}
_LIKELY: Final = (
    # Tokens that expire, and texts that may be something else: a hash and a region in the name of a bucket.
    r"\b[0-9a-f]{32}-us\d{1,2}\b",
    r"\b(?:A3T[A-Z0-9]|ASIA)[0-9A-Z]{16}\b",
    # https://developers.google.com/identity/protocols/oauth2
    r"\bya29\.[\w.-]+",
    r"\bgh[a-z]_\w{36,}|\bglcbt-[\w-]{20,}",
    r"\bhttps://hooks\.slack\.com/services/[\w/]+|\bhttps://discord(?:app)?\.com/api/webhooks/[\w/-]+",
    # https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens
    r"\b[a-z0-9]{6}\.(?=[a-z]{0,15}\d)[a-z0-9]{16}\b",
    r"\bsk-[\w-]{20,}",
    # https://core.telegram.org/bots/api, and by detect-secrets Discord, Twilio, Artifactory
    r"\b[rs]k_test_\w{20,}|\b\d{8,10}:[\w-]{35}\b",
    r"\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}|\b(?:AC|SK)[0-9a-f]{32}\b|\bAKC\w{10,}",
    # https://www.rfc-editor.org/rfc/rfc7519, and other JSON in base64: a search for its dots would be quadratic.
    r"\beyJ[\w-]{12,}(?:\.[\w-]+){0,2}",
    # https://www.rfc-editor.org/rfc/rfc7617, https://www.rfc-editor.org/rfc/rfc6750
    r"(?i:(?<=\bbasic )|(?<=\bbearer ))[\w+/~.-]{16,}=*",
    # https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
    r"(?<=://)(?:[^\s/:@\"']*:[^\s/@\"']+|[^\s/:@\"']{16,})(?=@)",
)
_FORMS: Final = tuple(map(re.compile, (*_KEYS_BY_FORM.values(), *_LIKELY)))
_PRIVATE_KEY: Final = "a private key"
# Names that clouds' own libraries read a secret from, with a value that is none of a shell's or a template's:
# https://docs.aws.amazon.com/sdkref/latest/guide/feature-static-credentials.html,
# https://learn.microsoft.com/python/api/overview/azure/identity-readme#environment-variables,
# https://learn.microsoft.com/azure/storage/blobs/authorize-data-operations-cli,
# https://docs.wandb.ai/models/track/environment-variables
_CLOUDS_NAME: Final = (
    r"(?i:aws[_.-]?secret[_.-]?access[_.-]?key|secret[_-]?access[_-]?key|(?:azure|arm)[_-]client[_-]secret"
    r"|azure[_-]?storage[_-]?(?:account[_-]?)?key|wandb[_-]?api[_-]?key)"
)
_CLOUDS_NAMED: Final = re.compile(
    rf"(?<![A-Za-z0-9]){_CLOUDS_NAME}(?:{_QUOTE})?(?:{_IS}|[ ])(?:{_QUOTE})?(?P<value>[A-Za-z0-9+/~._=-]{{16,}})"
)
_CLOUDS_HINTS: Final = ("secretaccesskey", "azurecl", "armcl", "azurestorage", "wandbap")
"""Each of those names has one of these, in lower case and without what separates its words; none has an i, whose
capital with a dot folds to two characters."""
_CLOUDS_KEY: Final = re.compile(rf"[\w.-]*?{_CLOUDS_NAME}")
# Not a name of a key, a word, or a reference to a store: these are shorter, or have a colon. Ciphertext is longer.
_LITERAL: Final = re.compile(
    r"[A-Za-z0-9/+]{40}|(?!(?i:change|example|placeholder|replace|your))[\w+~.=-][\w/+~.=-]{19,199}"
)
# A kubeconfig has its key in base64: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
_KEY_IN_BASE64: Final = r"client-key-data\W{1,8}LS0tLS1CRUdJTi"
_CONTENT: Final = r"(?![\"'|()\[\]*.$^])"
"""Not a pattern or a list of what a scanner looks for."""
# https://www.rfc-editor.org/rfc/rfc7517, https://www.rfc-editor.org/rfc/rfc7518#section-6
_JWK: Final = re.compile(rf"{_QUOTE}kty{_QUOTE}")
_JWK_PART: Final = re.compile(rf"{_QUOTE}[dk]{_QUOTE}\s*:\s*{_QUOTE}[\w-]{{20,}}")
_BRACES: Final = re.compile(r"[{}]")
_PEOPLES_KEYS: Final = {
    # These stand beside a certificate as well, and never belong to it.
    "a key of an SSH user": rf"-----BEGIN OPENSSH PRIVATE KEY-----{_CONTENT}",
    "a key of a service account": rf"private_key{_QUOTE}\s*:\s*{_QUOTE}{_BEGIN}",
    "a user's key in a kubeconfig": _KEY_IN_BASE64,
    # https://the.earth.li/~sgtatham/putty/latest/htmldoc/AppendixC.html
    "a key of PuTTY": r"PuTTY-User-Key-File-\d: ",
    # 32 bytes: https://man7.org/linux/man-pages/man8/wg.8.html#CONFIGURATION_FILE_FORMAT
    "a key of WireGuard": rf"\bPrivateKey{_IS}[A-Za-z0-9+/]{{42}}[AEIMQUYcgkosw048]=",
}
_STATIC: Final = {
    what: re.compile(form)
    for what, form in {**_PEOPLES_KEYS, _PRIVATE_KEY: f"{_BEGIN}{_CONTENT}", **_KEYS_BY_FORM}.items()
}
_JWT: Final = re.compile(r"\beyJ[\w-]{10,}\.(eyJ[\w-]{10,})\.[\w-]{20,}")
_WITH_DOTS: Final = re.compile(r"[\w.-]{60,}")
_JWT_HEAD: Final = re.compile(r"(?<!\w)eyJ[\w-]{10}")
_YEAR: Final = 366 * 86_400
# Google's access tokens and those for EKS' API servers, which clouds give for an hour or for minutes:
# https://developers.google.com/identity/protocols/oauth2, https://github.com/kubernetes-sigs/aws-iam-authenticator
_OF_AN_HOUR: Final = re.compile(r"(?:ya29|k8s-aws-v1)\.")
# Each form has one of these; a search for them is fast in a text of a megabyte.
_HINTS: Final = (
    *(
        "PRIVATE KEY",
        "client-key-data",
        "AKIA",
        "ABIA",
        "ACCA",
        "AIza",
        "GOCSPX-",
        "8Q~",
        "private_key",
        "hooks.slack",
        "Key=",
        "gh",
        "gl",
        "GR1348941",
    ),
    *(
        "hf_",
        "nvapi-",
        "wandb",
        "WANDB_KEY",
        "xox",
        "xapp-",
        "sk-",
        "dckr_",
        "npm_",
        "pypi-",
        "pul-",
        "hv",
        "dapi",
        "AGE-SECRET-",
    ),
    *("1//", "PuTTY", "PrivateKey", "kty"),
    *("k_live_", "SG.", "sig=", "tskey-", "_v1_", "ATATT3", "gsk_", "r8_", "rpa_"),
    *("/webhooks/", ":AA", "_authToken", "sq0csp-", "AKCp", "K10"),
    *("ABSK", "JQQJ9", "GOOG1", "LTAI", "ops_eyJ", "lsv2_", "pcsk_", "xai-", "NRAK-", "sntry", "PMAK-", "sbp_"),
    *("pscale_", "cflt", "shp", "lin_api_", "ATBB", "fm2_", "fo1_", "api_org_"),
    *(f"dp.{kind}." for kind in ("audit", "ct", "pt", "sa", "scim", "st")),
    *(f"S{kind}{next}" for kind in "AOU" for next in "ABCD"),
)
# Keys that vendors publish, and that open nothing: AWS' examples (https://github.com/awslabs/git-secrets, the option
# --register-aws; https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html), and that of the
# local storage emulator (https://github.com/Azure/Azurite#default-storage-account).
_PUBLISHED: Final = re.compile(
    r"\bAKIA[0-9A-Z]{9}EXAMPLE\b|(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{30}EXAMPLEKEY(?![A-Za-z0-9/+=])"
    r"|Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_PUBLISHED_HINTS: Final = ("EXAMPLE", "Eby8vdM02xNOcqFl")
# What stands for a key in a page, as in gitleaks' list of what is allowed; no key has that many in a row:
# https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
_FILLED_HINTS: Final = tuple(15 * each for each in "xX0")
_FILLED: Final = re.compile("|".join(f"{each}+" for each in _FILLED_HINTS))


def static_key_in(text: str, *, private: bool = True) -> str:
    """What key without an end of its own a text certainly has (``an AWS access key``); ``""`` without one.

    ``private``: private keys count, too. Keys that vendors publish as examples do not.
    """
    whole = text
    if any(hint in text for hint in _PUBLISHED_HINTS):
        text = _PUBLISHED.sub(" ", text)
    if any(hint in text for hint in _FILLED_HINTS):
        text = _FILLED.sub(" ", text)
    if any(hint in text for hint in _HINTS):
        for what, form in _STATIC.items():
            if (private or what != _PRIVATE_KEY) and form.search(text):
                return what
    if "kty" in text and any(_JWK.search(part) and _JWK_PART.search(part) for part in _BRACES.split(text)):
        return "a private JSON Web Key"
    if "eyJ" in whole and any(map(_never_ends, _claims(whole))):
        return "a token without an end"
    bare = text.casefold().replace("_", "").replace("-", "").replace(".", "")
    named = any(hint in bare for hint in _CLOUDS_HINTS) and _CLOUDS_NAMED.search(text)
    return "a secret key of a cloud" if named and is_literal(named["value"]) else ""


def _claims(text: str) -> Iterator[str]:
    """The claims of each JSON Web Token in the text, in base64. One search for all three parts would take a time that
    grows with the square of a text's length."""
    for run in _WITH_DOTS.finditer(text):
        parts = run.group().split(".")
        for head, claims, signature in zip(parts, parts[1:], parts[2:], strict=False):
            if len(claims) >= 13 and claims.startswith("eyJ") and len(signature) >= 20 and _JWT_HEAD.search(head):
                yield claims


def _never_ends(claims: str) -> bool:
    """Whether a JSON Web Token, by its claims in base64, has no end, or one that is years away.

    https://www.rfc-editor.org/rfc/rfc7519#section-4.1.4
    """
    try:
        content = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return isinstance(content, dict) and (
            "exp" not in content or content["exp"] - content.get("iat", content["exp"]) > _YEAR
        )
    except (TypeError, ValueError):
        return False


def ends_soon(token: str) -> bool:
    """Whether a token certainly has an end within a year, by its form or its claims."""
    web = _JWT.fullmatch(token)
    return _OF_AN_HOUR.match(token) is not None or (web is not None and not _never_ends(web[1]))


def names_clouds_key(name: str) -> bool:
    """Whether a variable or key of this name has a cloud's secret key as its value."""
    return _CLOUDS_KEY.fullmatch(name) is not None


def is_literal(value: str) -> bool:
    """Whether a value stands for itself: no reference of a shell or a template, no path, no published example."""
    example = _PUBLISHED.fullmatch(value) or _FILLED.search(value)
    return _LITERAL.fullmatch(value) is not None and example is None


def hidden(value: Any, secrets: Sequence[str] = ()) -> Any:
    """``value``, a text or JSON, without the ``secrets``, their lines, control characters, and what looks like a
    credential, in keys as well. A text keeps its number of lines, unless a secret of the caller has several."""
    if isinstance(value, dict):
        named = _KEYS.fullmatch(str(value.get("name", ""))) is not None
        return {hidden(key, secrets): _entry(key, part, named, secrets) for key, part in value.items()}
    if isinstance(value, list):
        return [hidden(part, secrets) for part in value]
    if not isinstance(value, str):
        return value
    parts = {part.strip() for secret in secrets for part in (secret, *secret.splitlines())}
    for part in sorted(parts, key=len, reverse=True):
        if len(part) >= _SHORTEST:
            value = value.replace(part, HIDDEN)
    value = "".join(_without_keys(without_controls(value).splitlines(keepends=True)))
    for form in _FORMS:
        value = form.sub(HIDDEN, value)
    folded = value.casefold()
    for named in _NAMED if any(hint in folded for hint in _NAMED_HINTS) else ():
        value = named.sub(lambda match: match["type"] or match["name"] + HIDDEN, value)
    return value


def _entry(key: Any, part: Any, named: bool, secrets: Sequence[str]) -> Any:
    """``part`` of JSON under ``key``; ``named`` if the name beside it says that its ``value`` is a credential."""
    if isinstance(key, str) and (_KEYS.fullmatch(key) or (named and key == "value")):
        if isinstance(part, list):
            return [_entry(key, each, named, secrets) for each in part]
        if isinstance(part, str) and len(part) >= _SHORTEST:
            return HIDDEN
    return hidden(part, secrets)


def hidden_lines(lines: Iterable[str]) -> Iterator[str]:
    """The same of a text that comes line by line: each is shown at once, by what the one before says about it."""
    before = ""
    for line in _without_keys(map(without_controls, lines)):
        yield hidden(before + line).split("\n", 1)[1] if before else hidden(line)
        before = line if line.endswith("\n") else ""


def _without_keys(lines: Iterable[str]) -> Iterator[str]:
    """The lines, without what is in private keys: base64, until the first line that is none."""
    inside = False
    for line in lines:
        if inside and (part := _KEY_LINE.fullmatch(line)):
            inside = len(part["key"]) >= _FULL_LINE
            yield f"{part['before']}{HIDDEN}{part['after']}"
        elif not inside or not _KEY_GOES_ON.fullmatch(line):
            inside = _KEY_BEGINS.search(line) is not None
            yield _KEY_IN_LINE.sub(lambda match: match["begin"] + HIDDEN, line)
        else:
            yield line


_LONGEST: Final = 300
"""Characters of a text in a line; more belongs to a log."""


def code(text: object) -> str:
    """An untrusted text in one line of Markdown: at most 300 characters, as inline code, also in a cell of a table."""
    line = " ".join(hidden(str(text)).split()).replace("|", "¦") or "–"
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    fence = "`" * (longest_run(line) + 1)
    return f"{fence}{line}{fence}" if not {line[0], line[-1]} & {"`", " "} else f"{fence} {line} {fence}"


def longest_run(text: str) -> int:
    """The most backticks in a row, one fewer than a fence round the text has."""
    return max(map(len, re.findall("`+", text)), default=0)
