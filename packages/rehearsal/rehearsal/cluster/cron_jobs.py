"""The programs of CronJobs, run when a rehearsal asks: their schedules have minutes, a rehearsal has seconds.

They run on this machine. So only those of the rehearsed program run, and of a container's variables only ``_SETTINGS``.
"""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from rehearsal.cluster.api import Api
from rehearsal.cluster.pki import private_folder, write_private

_SYSTEM: Final = "namespaces/kube-system"
_SETTINGS: Final = ("KARPENTER", "POOLS", "RESOURCES")


def run_all(api: Api, endpoint: str, ca_pem_base64: str, folder: Path, declared: Collection[str]) -> Iterator[str]:
    """Run the Python program of each CronJob in kube-system once, as its service account; what each writes.

    ``endpoint``: the API server's host and port. Credentials are written to ``folder``. ``declared``: the UIDs, which
    the API server gives, of the objects that the rehearsed program made."""
    private_folder(folder)
    (folder / "ca.crt").write_bytes(base64.b64decode(ca_pem_base64))
    for cron_job in api.list(f"/apis/batch/v1/{_SYSTEM}/cronjobs"):
        if cron_job["metadata"]["uid"] not in declared:
            continue
        pod = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        if container.get("command", [""])[0] != "python":
            continue
        account = f"/api/v1/{_SYSTEM}/serviceaccounts/{pod['serviceAccountName']}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        write_private(folder / "token", api.create(account, request)["status"]["token"])
        here = {"API_SERVER": f"https://{endpoint}", "SERVICE_ACCOUNT_FOLDER": str(folder)}
        variables = {each["name"]: each["value"] for each in container.get("env", ()) if each["name"] in _SETTINGS}
        command = [sys.executable, *container["command"][1:]]
        done = subprocess.run(command, env=variables | here, text=True, capture_output=True)
        yield done.stdout + done.stderr
