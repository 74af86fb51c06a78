"""Waits for the end of a Job and posts it to a webhook; runs in a pod beside the job (``submit.py``).

Uses the standard library only, because the image has nothing else. It never prints the webhook's URL.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

# Where Kubernetes mounts the account and serves its API in every pod; a test has other places.
ACCOUNT = os.environ.get("SERVICE_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount")
SERVER = os.environ.get("API_SERVER", "https://kubernetes.default.svc")
SECONDS = float(os.environ.get("POLL_SECONDS", "15"))
DELIVERIES = 9
"""Attempts; the pauses between them double, to two hours in all."""


def outcome(job: Any, pods: list[Any]) -> str | None:
    """How the job ended, in a sentence; ``None`` while it has not."""
    status, name = job.get("status", {}), job["metadata"]["name"]
    ended = [each for each in status.get("conditions", []) if each["status"] == "True"]
    ended = [each for each in ended if each["type"] in ("Complete", "Failed")]
    if not ended:
        return None
    reasons = {ended[0].get("reason"), *(pod.get("status", {}).get("reason") for pod in pods)}
    how = "succeeded" if ended[0]["type"] == "Complete" else "timed out" if "DeadlineExceeded" in reasons else "failed"
    runs = job["spec"].get("completions") or 1
    counts = f" ({status.get('succeeded', 0)} of {runs} runs succeeded)" if runs > 1 else ""
    minutes = int((_time(ended[0]["lastTransitionTime"]) - _time(job["metadata"]["creationTimestamp"])) // 60)
    after = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"GPU job {name} in {job['metadata']['namespace']} {how} {after} after it was submitted{counts}"


def _time(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()


def _get(path: str) -> Any:
    token = Path(ACCOUNT, "token").read_text()
    request = Request(SERVER + path, headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, context=ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt"), timeout=30) as answer:
        return json.load(answer)


def _wait(namespace: str, job: str) -> str | None:
    """The outcome; ``None`` if the job was deleted."""
    # One failed pod tells the reason, and a sweep may have thousands.
    pods = f"/api/v1/namespaces/{namespace}/pods?labelSelector=batch.kubernetes.io/job-name%3D{job}"
    pods += "&fieldSelector=status.phase%3DFailed&limit=50"
    while True:
        try:
            state = _get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{job}")
            if outcome(state, []) is not None:
                return outcome(state, _get(pods)["items"])
        except OSError as error:
            if isinstance(error, HTTPError) and error.code == 404:
                return None
            sys.stdout.write(f"{error}\n")
        time.sleep(SECONDS)


def _deliver(url: str, text: str) -> bool:
    request = Request(url, json.dumps({"text": text}).encode(), {"Content-Type": "application/json"})
    for attempt in range(DELIVERIES):
        time.sleep(SECONDS * (2**attempt - 1))
        try:
            with urlopen(request, timeout=30):
                return True
        except Exception as error:  # the messages of some contain the URL
            code = error.code if isinstance(error, HTTPError) else type(error).__name__
            sys.stdout.write(f"the webhook did not accept it: {code}\n")
    return False


def _main() -> int:
    text = _wait(os.environ["NAMESPACE"], os.environ["JOB"])
    if text is None:
        return 0
    sys.stdout.write(f"{text}\n")
    return 0 if _deliver(os.environ["URL"], text) else 1


if __name__ == "__main__":
    sys.exit(_main())
