# shellcheck shell=sh disable=SC2154
# The machine leaves its cluster: kubeadm reset, and what that leaves behind.
main() {
  lock
  members=''
  if [ ! -e "$state/joined" ] && [ ! -e "$state/init" ] && [ ! -e "$state/initialised" ]; then
    answer # what cluster it may belong to, it is not ours
    return
  fi
  # An address that others can have goes to them first: kubeadm reset asks the API server there.
  if [ "$OTHERS" = yes ]; then no_virtual_address; fi
  say "kubeadm reset"
  if command -v kubeadm >/dev/null && { [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/manifests ] || [ -e /var/lib/kubelet/config.yaml ]; }; then
    systemctl start containerd >>"$log" 2>&1 || :
    kubeadm_reset
  fi
  no_virtual_address
  systemctl disable --now kubelet >>"$log" 2>&1 || :
  systemctl disable --now gpucluster-etcd.timer >>"$log" 2>&1 || :
  say "network"
  for link in cni0 flannel.1 kube-ipvs0; do
    if ! grep -qx "$link" "$state/snapshot/links" 2>/dev/null; then ip link delete "$link" >>"$log" 2>&1 || :; fi
  done
  rules
  # Other networks of before (Podman's) have their addresses in /var/lib/cni; restore gives their configuration back.
  if grep -qsx /var/lib/cni "$state/folders"; then rm -rf /var/lib/cni; fi
  rm -rf /etc/cni/net.d /run/flannel /var/lib/cni/flannel /var/lib/cni/networks/cbr0 /var/lib/cni/results/cbr0-*
  for folder in /var/lib/kubelet /etc/kubernetes $(if is_control_plane; then printf /var/lib/etcd; fi); do
    awk -v folder="$folder/" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mounted; do umount -l "$mounted" || :; done
    if [ -d "$folder" ]; then find "$folder" -xdev -mindepth 1 -delete && { rmdir "$folder" 2>/dev/null || :; }; fi
  done
  rm -rf /run/gpucluster-machines "$state/init" "$state/initialised" "$state/joined"
  answer
}

no_virtual_address() {
  if grep -qsxF /etc/keepalived/keepalived.conf "$state/files"; then systemctl disable --now keepalived >>"$log" 2>&1 || :; fi
}

# kube-proxy, flannel and the CNI plugins leave rules behind; rules of others stay as they are.
rules() {
  for tool in iptables ip6tables; do
    if "$tool-save" 2>/dev/null | grep -qE 'KUBE-|CNI-|FLANNEL'; then
      "$tool-save" 2>/dev/null | grep -vE 'KUBE-|CNI-|FLANNEL' | "$tool-restore" >>"$log" 2>&1 || fail "the rules of $tool cannot be given back; see $log there"
    fi
  done
  # Tables that were not there before and hold no rule any more, and kube-proxy's own.
  { nft list tables 2>/dev/null || :; } | grep -vxFf "$state/snapshot/tables" | while read -r _ family name; do
    case $name in
      kube-proxy | flannel-*) nft delete table "$family" "$name" ;;
      filter | nat | mangle | raw | security)
        if ! nft list table "$family" "$name" | grep -vE '^[[:space:]]*(table|chain|type|}|#|$)' | grep -q .; then nft delete table "$family" "$name"; fi
        ;;
    esac
  done >>"$log" 2>&1
}
