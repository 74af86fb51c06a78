"""What the rehearsal uses of this folder: one reader of kubeconfigs, and one client.

``gpu`` itself imports the modules one by one, those of connections late.
"""

from gpu.api.connection import JSON, Connection, NoAnswerError, answering
from gpu.api.credentials import Environment
from gpu.api.kubeconfig import FILES, KubeconfigError, KubeContext, load, merge

__all__ = [
    "FILES",
    "JSON",
    "Connection",
    "Environment",
    "KubeContext",
    "KubeconfigError",
    "NoAnswerError",
    "answering",
    "load",
    "merge",
]
