# shellcheck shell=sh disable=SC2154
# On the control plane: the token of one worker, known by its description. `create` first deletes one that was left.
main() {
  members=''
  description="gpucluster-machines:$NODE_NAME"
  for name in $(kubectl --kubeconfig "$admin" -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name); do
    if [ "$(kubectl --kubeconfig "$admin" -n kube-system get "$name" -o 'jsonpath={.data.description}' | base64 -d)" = "$description" ]; then
      kubectl --kubeconfig "$admin" -n kube-system delete "$name" --ignore-not-found >/dev/null
    fi
  done
  if [ "$ACTION" = create ]; then
    token=$(kubeadm token create --kubeconfig "$admin" --ttl 10m --description "$description" 2>/dev/null) ||
      fail "kubeadm token create failed; is the API server of this machine up? (kubectl --kubeconfig $admin get nodes)"
    member token "$token"
  fi
  answer
}
