"""A training program that a reclaimed node costs at most the steps since its last checkpoint.

It fits a line by gradient descent, so that its result can be compared; what matters is when it writes and what it
reads. Replace ``Model`` by your own. It needs boto3 and no key: the pod's service account has the right to the bucket
(https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html).

    python train.py --checkpoints s3://bucket/run-1 --steps 1000 --every 100
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlparse

import boto3

POINTS = [(x / 10, 3 * x / 10 + 1) for x in range(10)]
CHECKPOINTS_RETAINED = 2
"""Checkpoints that stay: the newest, and the one before in case it is damaged."""


@dataclass
class Model:
    """All that a run needs to go on as if it had never stopped. Optimizer and random state belong here, too."""

    step: int = 0
    slope: float = 0.0
    offset: float = 0.0

    def train(self) -> None:
        """One step."""
        errors = [(self.slope * x + self.offset - y, x) for x, y in POINTS]
        self.slope -= 0.1 * sum(error * x for error, x in errors) / len(POINTS)
        self.offset -= 0.1 * sum(error for error, _ in errors) / len(POINTS)
        self.step += 1


class Checkpoints:
    """Checkpoints below ``s3://bucket/prefix``, one object each: an object is there as a whole or not at all."""

    def __init__(self, url: str) -> None:
        parsed = urlparse(url)
        self._bucket, self._prefix = parsed.netloc, f"{parsed.path.strip('/')}/step-"
        self._client: Any = boto3.client("s3")

    def newest(self) -> Model:
        """The state to go on from: the newest checkpoint that can be read, else a new model."""
        for key in reversed(self._keys()):
            body = self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()
            try:
                return Model(**json.loads(body))
            except (TypeError, ValueError):
                print(f"checkpoint {key} is damaged", flush=True)
        return Model()

    def write(self, model: Model) -> None:
        """Write first, delete afterwards: whenever this stops, a whole checkpoint is there."""
        key = f"{self._prefix}{model.step:012d}.json"
        self._client.put_object(Bucket=self._bucket, Key=key, Body=json.dumps(asdict(model)).encode())
        for old in self._keys()[:-CHECKPOINTS_RETAINED]:
            self._client.delete_object(Bucket=self._bucket, Key=old)

    def _keys(self) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        return sorted(each["Key"] for page in pages for each in page.get("Contents", ()))


def main() -> int:
    """Train to the last step; 143 if the node goes before that, with a checkpoint of this very step."""
    parser = argparse.ArgumentParser(description="Train, and go on where the last run stopped.")
    parser.add_argument("--checkpoints", default=os.environ.get("CHECKPOINTS"), help="s3://bucket/prefix")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--step-seconds", type=float, default=0.0, help="how long a step takes at least")
    options = parser.parse_args()
    if not options.checkpoints:
        parser.error("--checkpoints, or CHECKPOINTS in the environment")
    leaving: list[int] = []
    # Kubernetes sends it when the node is about to go: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
    signal.signal(signal.SIGTERM, lambda number, _: leaving.append(number))
    checkpoints = Checkpoints(options.checkpoints)
    model = checkpoints.newest()
    print(f"from step {model.step}", flush=True)
    while model.step < options.steps:
        model.train()
        print(f"step {model.step}", flush=True)
        time.sleep(options.step_seconds)
        if leaving or model.step % options.every == 0 or model.step == options.steps:
            checkpoints.write(model)
        if leaving and model.step < options.steps:
            return 128 + leaving[0]
    print(f"result {model.slope:.12f} {model.offset:.12f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
