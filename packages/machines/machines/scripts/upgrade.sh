# shellcheck shell=sh disable=SC2154
# One machine goes to another patch or the next minor version of Kubernetes. STEP plane: the control plane's pods;
# node: a drained node's own programs. Each step may be run again after an interruption.
# https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
main() {
  lock
  record_packages
  members='' changed=no
  kubernetes_source
  apt update
  target=$(offered)
  [ -n "$target" ] || not_offered
  number=v${target%%-*}
  if [ "$(package_version kubeadm)" != "$target" ]; then install_packages "kubeadm=$target"; fi
  if ! has cri-tools; then install_packages cri-tools; fi
  hold kubelet kubeadm kubectl
  run systemctl start containerd kubelet
  case $STEP-$ROLE in
    plane-*)
      if [ "$(cat "$state/upgraded" 2>/dev/null || :)" != "$number" ]; then
        api_ready
        etcd_snapshots
        say "snapshot of etcd"
        run gpucluster-etcd save
        if [ "$FIRST" = yes ]; then
          say "kubeadm upgrade apply $number (some minutes)"
          run kubeadm upgrade apply "$number" --yes
        else
          say "kubeadm upgrade node (some minutes)"
          run kubeadm upgrade node
        fi
        api_ready
        printf '%s\n' "$number" >"$state/upgraded"
      fi
      ;;
    node-worker)
      say "kubeadm upgrade node"
      run kubeadm upgrade node
      ;;
  esac
  if [ "$STEP" = node ]; then
    say "kubelet $number"
    install_packages "kubelet=$target" "kubectl=$target"
    hold kubelet kubeadm kubectl
    run systemctl daemon-reload
    run systemctl restart kubelet
    if [ "$ROLE" = controlPlane ]; then api_ready; fi
  fi
  member kubernetesVersion "$number"
  answer
}
