# shellcheck shell=sh disable=SC2154
# A kubeconfig with a client certificate of its own, by the cluster's CA. The groups decide what it may do.
main() {
  folder=$(mktemp -d /run/gpucluster-user.XXXXXX)
  chmod 700 "$folder"
  trap 'rm -rf "$folder"' EXIT
  {
    kubectl --kubeconfig "$admin" -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}'
    printf '\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint:\n  advertiseAddress: %s\n' "$ADDRESS"
  } >"$folder/kubeadm.yaml" 2>>"$log" || fail "the cluster does not answer; look at journalctl -u kubelet there"
  kubeadm kubeconfig user --config "$folder/kubeadm.yaml" --client-name "$USER_NAME" --org "$GROUPS_OF_USER" \
    --validity-period "$HOURS"h >"$folder/config" 2>>"$log" || fail "no kubeconfig for $USER_NAME; see $log there"
  member userKubeconfig "$(base64 -w0 "$folder/config")"
  answer
}
