"""AWS as controllers in the cluster see it: one server on this machine, with moto's state behind it.

Who runs a controller's pod asks ``AwsProvider.server`` (``server.AwsServer``):

- ``pod_environment(namespace, service_account, token_directory)`` is the environment of the pod's containers:
  ``AWS_ENDPOINT_URL`` and the region for every pod, and the Pod Identity agent's address and token file for one whose
  service account has an association. The file ``<token_directory>/eks-pod-identity-token`` is to hold a token of the
  pod's service account for the audience ``pod_identity.AUDIENCE``, bound to the pod (TokenRequest), before the program
  starts; it is the first thing that AWS's SDKs read.
- A pod without an association has no credentials: nodes' metadata service is not simulated, as pods cannot reach it
  where launch templates keep its answers on the node (``AWS_EC2_METADATA_DISABLED=true`` says so to the SDKs).
- ``endpoint`` is the server's address. People may call it with the access key and secret ``simulated``.

Every call is in ``<run>/logs/aws-calls.jsonl`` (``call_log.Entry``).
"""
