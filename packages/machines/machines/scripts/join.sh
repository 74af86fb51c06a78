# shellcheck shell=sh disable=SC2154
# A worker joins the cluster whose CA has the hash; one that has joined it is left as it is.
main() {
  lock
  members=''
  if [ -s /etc/kubernetes/kubelet.conf ]; then
    hash=$(ca_hash /etc/kubernetes/pki/ca.crt)
    [ "$hash" = "$CA_HASH" ] || fail "the machine is a node of another cluster (its CA is $hash); take it out there (kubectl delete node, kubeadm reset) first"
    if [ "$RESTART" = yes ]; then run systemctl restart kubelet; fi
    run systemctl enable --now kubelet
    touch "$state/joined"
  else
    if [ -e /etc/kubernetes/pki/ca.crt ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -e /var/lib/kubelet/config.yaml ]; then
      say "an earlier kubeadm join did not end; it is undone first"
      kubeadm_reset
    fi
    [ -n "$JOIN_CONFIG" ] || fail "the machine has not joined the cluster"
    touch "$state/joined"
    mkdir -p /run/gpucluster-machines
    chmod 700 /run/gpucluster-machines
    trap 'rm -rf /run/gpucluster-machines' EXIT
    (umask 077 && printf '%s\n' "$JOIN_CONFIG" >/run/gpucluster-machines/join.yaml)
    say "kubeadm join"
    run systemctl enable kubelet
    run kubeadm join --config /run/gpucluster-machines/join.yaml
  fi
  answer
}
