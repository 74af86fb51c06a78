#!/bin/sh
# Let the manager's Kueue run jobs in another cluster (docs/several-clusters.md):
#   sh examples/several-clusters/connect.sh MANAGER WORKER NAME
# MANAGER and WORKER are contexts of your kubeconfig; NAME is the Secret and the MultiKueueCluster in the manager. The Secret
# has the token of the worker's service account `multikueue`, which does not expire. To take it back, delete the Secret
# `multikueue` in the worker.
set -eu
umask 077
manager=$1 worker=$2 name=$3
kubeconfig=$(mktemp)
trap 'rm -f "$kubeconfig"' EXIT

kubectl --context "$worker" apply -f "$(dirname "$0")/worker.yaml"
kubectl --context "$worker" -n kueue-system wait secret/multikueue --for=jsonpath='{.data.token}' --timeout=60s

# Kueue takes no file paths and no programs that log in: the certificate and the token are in the kubeconfig itself.
of_worker() {
    kubectl --context "$worker" config view --minify --flatten --raw -o jsonpath="{.clusters[0].cluster.$1}"
}
authority=$(of_worker certificate-authority-data)
if [ -z "$authority" ]; then
    echo "$worker: no certificate-authority-data in its kubeconfig, as for GKE's DNS endpoint, which takes no such token." \
        "Use a context for the control plane's address." >&2
    exit 1
fi
token=$(kubectl --context "$worker" -n kueue-system get secret multikueue -o go-template='{{.data.token | base64decode}}')
cat >"$kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters:
  - name: worker
    cluster:
      server: $(of_worker server)
      certificate-authority-data: $authority
users:
  - name: multikueue
    user: {token: $token}
contexts:
  - name: worker
    context: {cluster: worker, user: multikueue}
current-context: worker
EOF
kubectl --context "$manager" -n kueue-system create secret generic "$name" --from-file=kubeconfig="$kubeconfig" \
    --dry-run=client -o yaml | kubectl --context "$manager" apply --server-side -f -
