# shellcheck shell=sh disable=SC2154
# On the control plane: the token of one machine, known by its description. `create` first deletes one that was left.
# For CONTROL_PLANE=yes also the certificates, encrypted with a key that only the answer has, and the configuration of
# encryption, which has to be the same everywhere.
main() {
  members=''
  description="gpucluster-machines:$NODE_NAME"
  of_certificates='Proxy for managing TTL for the kubeadm-certs secret'
  for name in $(kubectl --kubeconfig "$admin" -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name); do
    text=$(kubectl --kubeconfig "$admin" -n kube-system get "$name" -o 'jsonpath={.data.description}' --ignore-not-found | base64 -d)
    if [ "$text" = "$description" ] || { [ "$CONTROL_PLANE" = yes ] && [ "$text" = "$of_certificates" ]; }; then
      kubectl --kubeconfig "$admin" -n kube-system delete "$name" --ignore-not-found >/dev/null
    fi
  done
  if [ "$CONTROL_PLANE" = yes ]; then kubectl --kubeconfig "$admin" -n kube-system delete secret kubeadm-certs --ignore-not-found >/dev/null; fi
  if [ "$ACTION" = create ]; then
    token=$(kubeadm token create --kubeconfig "$admin" --ttl 10m --description "$description" 2>/dev/null) ||
      fail "kubeadm token create failed; is the API server of this machine up? (kubectl --kubeconfig $admin get nodes)"
    member token "$token"
    if [ "$CONTROL_PLANE" = yes ]; then certificates; fi
  fi
  answer
}

# https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-init-phase/#cmd-phase-upload-certs
certificates() {
  folder=$(mktemp -d /run/gpucluster-certificates.XXXXXX)
  chmod 700 "$folder"
  trap 'rm -rf "$folder"' EXIT
  key=$(kubeadm certs certificate-key)
  (
    umask 077
    {
      kubectl --kubeconfig "$admin" -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}'
      printf '\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\ncertificateKey: %s\n' "$key"
    } >"$folder/kubeadm.yaml"
  )
  kubeadm init phase upload-certs --upload-certs --skip-certificate-key-print --config "$folder/kubeadm.yaml" >/dev/null 2>>"$log" ||
    fail "the control plane's certificates cannot be uploaded; see $log there"
  member certificateKey "$key"
  member encryption "$(base64 -w0 /etc/kubernetes/gpucluster/encryption.yaml 2>/dev/null || :)"
}
