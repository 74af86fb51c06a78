"""What looks like a credential is in no text that people read: names, forms of services, in every spelling."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from facts.concepts.credentials import HIDDEN, hidden, hidden_lines, static_key_in
from gpucluster.commands.account import as_markdown

VALUE = "hunter22"
NAMED = (
    "AWS_SECRET_ACCESS_KEY={}",
    "GITHUB_TOKEN={}",
    "DB_PASSWORD={}",
    "db_password: {}",
    "clientSecret: {}",
    "SecretAccessKey: {}",
    "password={}",
    "PGPASSWD = {}",
    "api-key: {}",
    "AccountKey={};EndpointSuffix=core.windows.net",
    "connectionString: {}",
    "client-key-data: {}",
    "spring.datasource.password={}",
    "--password {}",
    "--access-token={}",
    '"token": "{}"',
    '\\"token\\": \\"{}\\"',
    "{{'secret': '{}'}}",
    "password := {}",
    ":password => '{}'",
    '~ adminPassword: "{}" => "{}"',
    '+ name : "DB_PASSWORD"\n          + value: "{}"',
    "- name: DB_PASSWORD\n  value: {}\n",
    '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "https://user:{}@example.com/path",
    "postgresql://:{}@db/x",
    "Authorization: Basic {}aaaaaaaaaaaaa==",
    "curl -H 'Authorization: Bearer {}.aaaaaaaaaaaaa'",
    "https://x.blob.core.windows.net/a?sv=1&sig={}aaaaaaaaaaaa%3D&se=2",
    "pass\u200bword: {}",
)
# A line, of which nothing of the value is left.
VALUES = (
    ('db_password: "ab\'cdefghijk"', f'db_password: "{HIDDEN}"'),
    ("db_password: 'ab\"cdefghijk'", f"db_password: '{HIDDEN}'"),
    ('"password": "ab\\"cdefghijk"', f'"password": "{HIDDEN}"'),
    ('\\"password\\": \\"ab\'cdefghijk\\", x', f'\\"password\\": \\"{HIDDEN}\\", x'),
    ("DB_PASSWORD=abc,defghijk", f"DB_PASSWORD={HIDDEN}"),
    ("password: abcdef,ghijklmn", f"password: {HIDDEN}"),
    ("password=ab)cdefg}hi", f"password={HIDDEN}"),
    ("password=true/abcdef", f"password={HIDDEN}"),
    ("{password: hunter22, user: ann}", f"{{password: {HIDDEN}, user: ann}}"),
    ("password: |\n  hunter22", f"password: |\n  {HIDDEN}"),
    ('"password":\n  "hunter22"', f'"password":\n  "{HIDDEN}"'),
    ('"auth": "YW5uOmh1bnRlcjIy"', f'"auth": "{HIDDEN}"'),
    ('{\\"auth\\":\\"YW5uOmh1bnRlcjIyMg==\\"}', f'{{\\"auth\\":\\"{HIDDEN}\\"}}'),
    ("DB_PASS=hunter22", f"DB_PASS={HIDDEN}"),
    ("MYSQL_PASS: hunter22", f"MYSQL_PASS: {HIDDEN}"),
    ("dbPass: hunter22", f"dbPass: {HIDDEN}"),
    ("pass: hunter22", f"pass: {HIDDEN}"),
    ("passwords: [hunter22, hunter23]", f"passwords: {HIDDEN}"),
    ("SECRET_KEY_BASE=hunter22", f"SECRET_KEY_BASE={HIDDEN}"),
    ("ssh_key: hunter22", f"ssh_key: {HIDDEN}"),
    ("storageKey: hunter22", f"storageKey: {HIDDEN}"),
    ("primaryKey: hunter22", f"primaryKey: {HIDDEN}"),
    ("HF_KEY=hunter22", f"HF_KEY={HIDDEN}"),
    ("run --api-key hunter22 -v", f"run --api-key {HIDDEN} -v"),
    ('["--token", "hunter22", "-v"]', f'["--token", "{HIDDEN}", "-v"]'),
    ('[0]: "--token"\n  [1]: "hunter22"', f'[0]: "--token"\n  [1]: "{HIDDEN}"'),
    ("- --token\n- hunter22\n- -v", f"- --token\n- {HIDDEN}\n- -v"),
    ('"--token",\n  "hunter22"', f'"--token",\n  "{HIDDEN}"'),
    ("curl -s -u ann:hunter22 https://a", f"curl -s -u ann:{HIDDEN} https://a"),
    ("Authorization: token hunter22", f"Authorization: token {HIDDEN}"),
    ("https://0123456789abcdef0123@github.com/a", f"https://{HIDDEN}@github.com/a"),
)
FORMS = {
    "AWS": "AKIA" + "A" * 16,
    "AWS session": "ASIA" + "A" * 16,
    "Google API": "AIza" + "a" * 35,
    "Google OAuth": "ya29." + "a" * 30,
    "Google client": "GOCSPX-" + "a" * 28,
    "Azure application": "abc8Q~" + "a" * 34,
    "GitHub": "ghp_" + "a" * 36,
    "GitHub fine-grained": "github_pat_" + "a" * 40,
    "GitLab": "glpat-" + "a" * 20,
    "GitLab runner": "glrt-" + "a" * 20,
    "Hugging Face": "hf_" + "a" * 34,
    "NVIDIA": "nvapi-" + "a" * 64,
    "Slack": "xoxb-" + "1" * 12 + "-" + "a" * 24,
    "Slack webhook": "https://hooks.slack.com/services/T0/B0/" + "a" * 24,
    "OpenAI": "sk-proj-" + "a" * 40,
    "Anthropic": "sk-ant-api03-" + "a" * 40,
    "Docker": "dckr_pat_" + "a" * 27,
    "npm": "npm_" + "a" * 36,
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + "a" * 60,
    "Pulumi": "pul-" + "a" * 40,
    "Vault": "hvs." + "a" * 24,
    "Databricks": "dapi" + "a" * 32,
    "Grafana": "glsa_" + "a" * 32 + "_0a1b2c3d",
    "Tailscale": "tskey-auth-" + "a" * 16 + "-" + "b" * 32,
    "DigitalOcean": "dop_v1_" + "a" * 64,
    "Atlassian": "ATATT3" + "a" * 60,
    "Groq": "gsk_" + "a" * 52,
    "Replicate": "r8_" + "a" * 37,
    "RunPod": "rpa_" + "A" * 46,
    "Discord webhook": "https://discord.com/api/webhooks/123/" + "a" * 68,
    "kubeadm": "abcdef.0123456789abcdef",
    "k3s": "K10" + "a" * 64 + "::server:" + "b" * 32,
    "Stripe": "sk_live_" + "a" * 24,
    "SendGrid": "SG." + "a" * 22 + "." + "a" * 43,
    "Telegram": "1" * 9 + ":" + "a" * 35,
    "Square": "sq0csp-" + "a" * 43,
    "Discord": "M" + "a" * 23 + "." + "a" * 6 + "." + "a" * 27,
    "Twilio": "AC" + "a" * 32,
    "Mailchimp": "a" * 32 + "-us1",
    "Bedrock": "ABSK" + "a" * 120,
    "Azure": "a" * 52 + "JQQJ99BAACYeBjFXJ3w3AAABACOGa1b2",
    "Azure DevOps": "a" * 76 + "JQQJ99AAAAAAAAAAAAASAZDOa1b2",
    "Google HMAC": "GOOG1E" + "A" * 55,
    "Alibaba": "LTAI5t" + "a" * 18,
    "1Password": "ops_eyJ" + "a" * 260,
    "Doppler": "dp.st.prd." + "a" * 43,
    "LangSmith": "lsv2_pt_" + "a" * 32 + "_" + "b" * 10,
    "Pinecone": "pcsk_" + "a" * 70,
    "xAI": "xai-" + "a" * 80,
    "New Relic": "NRAK-" + "A" * 27,
    "Postman": "PMAK-" + "a" * 24 + "-" + "b" * 34,
    "Sentry": "sntrys_eyJ" + "a" * 100,
    "Supabase": "sbp_" + "a" * 40,
    "PlanetScale": "pscale_tkn_" + "a" * 43,
    "Confluent": "cflt" + "a" * 60,
    "Shopify": "shpat_" + "a" * 32,
    "Linear": "lin_api_" + "a" * 40,
    "Bitbucket": "ATBB" + "a" * 32,
    "Fly.io": "FlyV1 fm2_" + "a" * 200,
    "Hugging Face's organisations": "api_org_" + "a" * 34,
    "NATS": "SUA" + "A" * 55,
    "Artifactory": "AKC" + "a" * 20,
    "JSON web token": "eyJ" + "a" * 20 + ".eyJ" + "a" * 20 + "." + "a" * 20,
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\naaaa\n-----END OPENSSH PRIVATE KEY-----",
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\naaaa\n-----END PGP PRIVATE KEY BLOCK-----",
    "half a key": "-----BEGIN RSA PRIVATE KEY-----\naaaa\n",
    "a key in one line": "-----BEGIN PRIVATE KEY-----\\naaaa\\n-----END PRIVATE KEY-----",
}
HARMLESS = (
    "Run: pulumi config set --secret gcp:credentials, or encrypt the Secret's token in etcd: see docs",
    "secretName: grafana-login",
    "passwordKey: password",
    "tokenFile: /var/run/token",
    "automountServiceAccountToken: false",
    "kmsKey: projects/p/locations/l/keyRings/r/cryptoKeys/k",
    "secrets-encryption: advisory",
    "password: [secret]",
    "password: output<string>",
    "urn:pulumi:dev::gpucluster::kubernetes:core/v1:Secret::notebook-hub",
    "https://example.com:8080/a@b",
    "image: registry.example/serve:1@sha256:" + "a" * 64,
    "basic knowledge of tokens: none",
    "e-mail: ann@example.com",
    "ssh://git@github.com/a/b",
    "ssh_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ann",
    'ssh_key: "ssh-rsa AAAAB3NzaC1yc2E ann"',
    "bypass: everything",
    "compass=northwest",
    '"auth": "required"',
    "docker run -u nobody:nogroup image",
    "authorization: enabled",
    "imagePullSecrets: [registry-login]",
    "max_tokens: 4096000",
    "partitionKey: customer",
    "- --token\n- gcp:projects/iAMMember:IAMMember: (delete)",
    "- --token\n- --verbose",
    "password: true, user: ann",
    'name: "deploy"\nvalue: "roles/owner"',
)


@pytest.mark.parametrize("spelling", NAMED)
def test_what_has_the_name_of_a_credential_is_hidden(spelling: str) -> None:
    shown = hidden(f"before {spelling.format(*[VALUE] * spelling.count('{}'))} after")
    assert VALUE not in shown
    assert HIDDEN in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")


@pytest.mark.parametrize(("text", "shown"), VALUES)
def test_the_whole_value_is_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert hidden(text) == shown
    assert "".join(hidden_lines(text.splitlines(keepends=True))) == shown
    assert hidden(shown) == shown


@pytest.mark.parametrize("service", FORMS)
def test_what_has_the_form_of_a_credential_is_hidden(service: str) -> None:
    for text in ("x {} y", "'{}'", "error: {}, retry", "a={}&b"):
        shown = hidden(text.format(FORMS[service]))
        assert "aaaa" not in shown, text
        assert "AAAA" not in shown, text
        assert HIDDEN in shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_them_stays(text: str) -> None:
    assert hidden(text) == text


def test_in_json_the_key_says_what_a_value_is() -> None:
    events = {"inputs": {"adminPassword": VALUE, "name": VALUE, "nested": [{"client_secret": VALUE}], "token": ""}}
    shown = {"inputs": {"adminPassword": HIDDEN, "name": VALUE, "nested": [{"client_secret": HIDDEN}], "token": ""}}
    assert hidden(events) == shown
    assert hidden({"passwords": [VALUE, ""]}) == {"passwords": [HIDDEN, ""]}
    assert hidden({"name": "DB_PASSWORD", "value": VALUE}) == {"name": "DB_PASSWORD", "value": HIDDEN}
    assert hidden({"name": "region", "value": VALUE}) == {"name": "region", "value": VALUE}
    assert hidden({"a": f"x {VALUE}"}, [f"{VALUE}\nsecond line"]) == {"a": f"x {HIDDEN}"}


@pytest.mark.parametrize("text", [*FORMS.values(), *(each.format(*[VALUE] * each.count("{}")) for each in NAMED)])
def test_line_by_line_it_is_the_same(text: str) -> None:
    whole = f"first\n{text}\nlast\n"
    shown = "".join(hidden_lines(whole.splitlines(keepends=True)))
    assert "aaaa" not in shown
    assert VALUE not in shown
    assert shown.startswith("first\n")
    assert "last\n" in shown or "BEGIN" in text


def test_each_line_is_shown_at_once() -> None:
    lines = hidden_lines(
        iter(["name: A_TOKEN\n", f"value: {VALUE}\n", "-----BEGIN PRIVATE KEY-----\n", "a" * 64 + "\n"])
    )
    assert next(lines) == "name: A_TOKEN\n"
    assert next(lines) == f"value: {HIDDEN}\n"
    assert next(lines) == "-----BEGIN PRIVATE KEY-----\n"
    assert next(lines) == f"{HIDDEN}\n"


LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
GRANT = '+ gcp:projects/iAMMember:IAMMember: (create)\n    role: "roles/owner"\n'
# A text of the author, and what an approver reads.
KEYS = (
    (f"-----BEGIN PRIVATE KEY\n{GRANT}", f"-----BEGIN PRIVATE KEY\n{GRANT}"),
    (f"-----BEGIN PRIVATE KEY-----\n{GRANT}", f"-----BEGIN PRIVATE KEY-----\n{GRANT}"),
    (
        f"-----BEGIN PRIVATE KEY-----\n{GRANT * 150}-----END PRIVATE KEY-----\n",
        f"-----BEGIN PRIVATE KEY-----\n{GRANT * 150}-----END PRIVATE KEY-----\n",
    ),
    (
        f"-----BEGIN PRIVATE KEY-----\n{LINE}\nabcd==\n{GRANT}",
        f"-----BEGIN PRIVATE KEY-----\n{HIDDEN}\n{HIDDEN}\n{GRANT}",
    ),
    (
        f"  + -----BEGIN RSA PRIVATE KEY-----\n  + Proc-Type: 4,ENCRYPTED\n\n  + {LINE}\n  + abc=\n{GRANT}",
        f"  + -----BEGIN RSA PRIVATE KEY-----\n  + Proc-Type: 4,ENCRYPTED\n\n  + {HIDDEN}\n  + {HIDDEN}\n{GRANT}",
    ),
    (
        "-----BEGIN PRIVATE KEY-----\nowner\neditor\nviewer\n",
        f"-----BEGIN PRIVATE KEY-----\n{HIDDEN}\neditor\nviewer\n",
    ),
    (
        f'key: "-----BEGIN PRIVATE KEY-----\\n{LINE}\\nabc=\\n-----END PRIVATE KEY-----\\n"\n{GRANT}',
        f'key: "-----BEGIN PRIVATE KEY-----{HIDDEN}\\n-----END PRIVATE KEY-----\\n"\n{GRANT}',
    ),
    (
        "-----BEGIN PRIVATE KEY-----\n" + f"{LINE}\n" * 300 + GRANT,
        "-----BEGIN PRIVATE KEY-----\n" + f"{HIDDEN}\n" * 300 + GRANT,
    ),
)
NAMES = (
    (f"name: X_TOKEN\n{GRANT}", f"name: X_TOKEN\n{GRANT}"),
    ('name: "X_TOKEN"\n\nvalue: "roles/owner"\n', 'name: "X_TOKEN"\n\nvalue: "roles/owner"\n'),
    (f'name: "X_TOKEN"\nvalue: "{VALUE}"\n{GRANT}', f'name: "X_TOKEN"\nvalue: "{HIDDEN}"\n{GRANT}'),
    (f"token:\n{GRANT}", f"token:\n{GRANT}"),
    (f"password: |\n{GRANT}", f"password: |\n{GRANT}"),
    (f'token: "\n{GRANT}', f'token: "\n{GRANT}'),
    (f'token: "{VALUE}\n{GRANT}', f'token: "{HIDDEN}\n{GRANT}'),
    ('role: "[secret]" => "roles/owner"\n', 'role: "[secret]" => "roles/owner"\n'),
    ('~ token: "role/reader" => "role/owner"\n', f'~ token: "{HIDDEN}" => "{HIDDEN}"\n'),
    (f'name: "X_TOKEN"\nvalue: "{VALUE}" => "{VALUE}"\n', f'name: "X_TOKEN"\nvalue: "{HIDDEN}" => "{HIDDEN}"\n'),
    ("+ kubernetes:core/v1:Secret: (create)\n", "+ kubernetes:core/v1:Secret: (create)\n"),
    ("+ gcp:secretmanager/secret:Secret: (create)\n", "+ gcp:secretmanager/secret:Secret: (create)\n"),
    ("+  gcp:secretmanager/secret:Secret owner create\n", "+  gcp:secretmanager/secret:Secret owner create\n"),
    ("[urn=urn:pulumi:dev::a::aws:x/secret:Secret::b]\n", "[urn=urn:pulumi:dev::a::aws:x/secret:Secret::b]\n"),
    ("token:abc/def:Ghijkl\n", f"token:{HIDDEN}\n"),
)


@pytest.mark.parametrize(("text", "shown"), [*KEYS, *NAMES])
def test_no_text_of_an_author_hides_more_than_a_value(text: str, shown: str) -> None:
    assert hidden(text) == shown
    assert "".join(hidden_lines(text.splitlines(keepends=True))) == shown
    assert hidden(shown) == shown


@pytest.mark.parametrize(
    "name", ["paſſword", "pwd", "to\u212aen", "credentıals", "api_\u212aey", "SECRET", "connectıon-strıng"]
)
def test_a_name_is_one_in_any_case_of_its_letters(name: str) -> None:
    assert hidden(f"db_{name}: abcdef1") == f"db_{name}: [secret]"


# What patterns begin with or repeat: quadratic ones would take minutes for 50,000 characters of it.
REPEATED = (
    *"-.=:/\\\"' \t\n+[|@&?,~_a0A",
    *(
        "eyJ-",
        "eyJa.",
        "--a",
        "secret-",
        "token",
        "token:",
        'token="',
        "token =>",
        "token \t",
        "--token ",
        "- --token\n",
    ),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "\\n", "[secret] => "),
    *("name: X_TOKEN\n", "name: X_TOKEN ", "name: X_TOKEN,", "name: ", "name: a_b-c.d\n", "value: ", "password: |\n"),
    *("://", "://a:", "https://a@", "basic ", "bearer ", "SG.aaaaaaaaaaaaaaaaaaaaaaaa.", "aaa8Q~", "1234567890:", "M."),
    *('"kty":', '"kty": "x"', '"d": "aaaaaaaaaaaaaaaaaaaaa" ', "eyJaaaaaaaaaaaa.", "PrivateKey ", "client-key-data:"),
    *("a:", "a:b:", "a:b/", "a.b:", "?sig=", '\\"', "curl -u ", "curl ", "passwords: [", "Authorization: token "),
)


@pytest.mark.parametrize("part", REPEATED)
def test_the_work_grows_with_the_length_only(part: str) -> None:
    text = (part * 50_000)[:50_000]
    static_key_in(text)
    assert hidden(text).count("\n") == text.count("\n")
    assert "".join(hidden_lines(text[:10_000].splitlines(keepends=True))).count("\n") == text[:10_000].count("\n")


HOSTILE = (
    "line1\nabc\r~~~~~~\r\r# All checks passed",
    "~~~~~~\n# All checks passed",
    "   ~~~~~~~~\n# All checks passed",
    "\t~~~~~~\n# All checks passed",
    "\x0b~~~~~~\x0c\n# All checks passed",
    "a\u2028~~~~~~\u2028# All checks passed",
    "a\x85~~~~~~\n# All checks passed",
    "~\u200b~~~~~\n# All checks passed",
    "\x00~~~~~~\n# All checks passed",
    "<b>x</b>\n```\n# All checks passed",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_ends_the_fence_of_a_plan(text: str) -> None:
    page = as_markdown("dev", f"Previewing update (dev):\n{text}\n")
    assert [each.type for each in MarkdownIt().parse(page)] == ["heading_open", "inline", "heading_close", "fence"]


def test_a_plan_has_no_credential() -> None:
    page = as_markdown("dev", f'+ data: "DB_PASSWORD={VALUE}"\n')
    assert VALUE not in page


@pytest.mark.parametrize(
    "name",
    [
        "Bedrock",
        "Azure",
        "Azure DevOps",
        "Google HMAC",
        "Alibaba",
        "1Password",
        "Doppler",
        "LangSmith",
        "Pinecone",
        "xAI",
        "New Relic",
        "Postman",
        "Sentry",
        "Supabase",
        "PlanetScale",
        "Confluent",
        "Shopify",
        "Linear",
        "Bitbucket",
        "Fly.io",
        "Hugging Face's organisations",
        "NATS",
    ],
)
def test_a_key_of_a_service_has_no_end(name: str) -> None:
    assert static_key_in(f"token: {FORMS[name]}")
