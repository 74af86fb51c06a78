"""The programs of CronJobs, run when a rehearsal asks: their schedules have minutes, a rehearsal has seconds."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rehearsal.cluster.api import Api

_SYSTEM: Final = "namespaces/kube-system"


def run_all(api: Api, endpoint: str, ca_pem_base64: str, folder: Path) -> Iterator[str]:
    """Run the Python program of each CronJob in kube-system once, as its service account; what each writes.

    ``endpoint``: the API server's host and port. Credentials are written to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ca.crt").write_bytes(base64.b64decode(ca_pem_base64))
    for cron_job in api.list(f"/apis/batch/v1/{_SYSTEM}/cronjobs"):
        pod = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        if container.get("command", [""])[0] != "python":
            continue
        account = f"/api/v1/{_SYSTEM}/serviceaccounts/{pod['serviceAccountName']}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        (folder / "token").write_text(api.create(account, request)["status"]["token"])
        here = {"API_SERVER": f"https://{endpoint}", "SERVICE_ACCOUNT_FOLDER": str(folder)}
        variables = {each["name"]: each["value"] for each in container.get("env", ())} | here
        command = [sys.executable, *container["command"][1:]]
        done = subprocess.run(command, env=variables, text=True, capture_output=True)
        yield done.stdout + done.stderr
