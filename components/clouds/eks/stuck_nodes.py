"""Deletes NodeClaims whose node joined the cluster and did not become ready within ``MINUTES``; runs in the cluster.

Uses the standard library only, because the image has nothing else. ``karpenter.py`` declares the CronJob.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
# Where Kubernetes mounts the account and serves its API in every pod; a rehearsal has other places.
ACCOUNT = os.environ.get("SERVICE_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount")
SERVER = os.environ.get("API_SERVER", "https://kubernetes.default.svc")


def is_stuck(claim: Any, now: datetime, limit: timedelta) -> bool:
    """Whether the claim's node registered more than ``limit`` ago and was never initialized."""
    conditions = {each["type"]: each for each in claim.get("status", {}).get("conditions", [])}
    registered, initialized = conditions.get("Registered", {}), conditions.get("Initialized", {})
    if registered.get("status") != "True" or initialized.get("status") == "True":
        return False
    since = datetime.strptime(registered["lastTransitionTime"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return now - since > limit


def _request(method: str, path: str) -> Any:
    token = Path(ACCOUNT, "token").read_text()
    request = Request(SERVER + path, method=method, headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, context=ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt"), timeout=30) as answer:
        return json.load(answer)


def _main() -> None:
    limit = timedelta(minutes=float(os.environ["MINUTES"]))
    for claim in _request("GET", CLAIMS)["items"]:
        if is_stuck(claim, datetime.now(timezone.utc), limit):
            name, conditions = claim["metadata"]["name"], claim["status"]["conditions"]
            sys.stdout.write(f"deleting {name}, whose node did not become ready: {json.dumps(conditions)}\n")
            _request("DELETE", f"{CLAIMS}/{name}")


if __name__ == "__main__":
    _main()
