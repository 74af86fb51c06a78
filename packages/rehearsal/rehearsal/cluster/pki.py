"""The certificates of a rehearsal's API server: of its own CA and of one that every machine trusts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

import trustme

NAME: Final = "localhost"
"""The API server by name: there its certificate is the public authority's."""

PUBLIC_AUTHORITY: Final = Path("control-plane") / "pki" / "public-ca.crt"
"""In a run's folder: the authority that every machine of the rehearsal trusts, as real ones trust those of the Web."""

CLIENT: Final = ("masterclient", "system:masters")
"""User and group of the certificate that a cloud hands out in place of a login; the names are those of AKS:
https://github.com/microsoft/Application-Insights-K8s-Codeless-Attach (the webhook's tests have what one is sent)"""

_HOSTS: Final = ("127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files; the keys are readable by their owner only. Verifiers take the public key from the private."""

    ca: Path
    server: Path
    server_key: Path
    service_account_key: Path
    public_ca: Path
    public_server: Path
    public_server_key: Path
    client: Path
    client_key: Path


def make_certificates(folder: Path, service_ip: str) -> Certificates:
    """Write a fresh CA and a server certificate, valid for ten days, for 127.0.0.1 and the ``kubernetes`` Service; and
    a public CA with a server certificate for ``NAME``; and a client certificate of ``CLIENT``.

    Keys are P-256: generating RSA keys would take a tenth of a second each. The CAs' own keys are kept nowhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = ("ca.crt", "server.crt", "server.key", "sa.key", PUBLIC_AUTHORITY.name, "public.crt", "public.key")
    files = Certificates(*(folder / name for name in (*own, "client.crt", "client.key")))
    authority, public = trustme.CA(path_length=0), trustme.CA(path_length=0)
    expiry = datetime.now(timezone.utc) + timedelta(days=10)
    server = authority.issue_cert(*_HOSTS, service_ip, common_name="kube-apiserver", not_after=expiry)
    by_name = public.issue_cert(NAME, common_name=NAME, not_after=expiry)
    name, group = CLIENT
    client = authority.issue_cert(name, common_name=name, organization_name=group, not_after=expiry)
    authority.cert_pem.write_to_path(files.ca)
    public.cert_pem.write_to_path(files.public_ca)
    server.cert_chain_pems[0].write_to_path(files.server)
    by_name.cert_chain_pems[0].write_to_path(files.public_server)
    client.cert_chain_pems[0].write_to_path(files.client)
    write_private(files.server_key, server.private_key_pem.bytes())
    write_private(files.public_server_key, by_name.private_key_pem.bytes())
    write_private(files.client_key, client.private_key_pem.bytes())
    write_private(files.service_account_key, trustme.CA().private_key_pem.bytes())
    return files


def private_folder(path: Path) -> Path:
    """Make a folder, or take the one that is there, and let nobody but its owner into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
