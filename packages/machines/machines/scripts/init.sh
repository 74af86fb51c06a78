# shellcheck shell=sh disable=SC2154
# The control plane: kubeadm init, once. Answers what others need to join and to reach it.
main() {
  lock
  members=''
  if [ -e "$state/initialised" ]; then
    run systemctl enable --now kubelet
    renew
    files
    if [ -e "$state/files-changed" ]; then
      say "the API server restarts with changed files"
      restart kube-apiserver
    fi
  else
    if [ -e /etc/kubernetes/kubelet.conf ] && [ ! -e /etc/kubernetes/pki/ca.key ]; then
      fail "the machine is a worker of another cluster; take it out there (kubeadm reset) first"
    fi
    if [ -e /etc/kubernetes/admin.conf ] && [ ! -e "$state/init" ]; then
      fail "the machine is the control plane of another cluster; take that down (kubeadm reset) first"
    fi
    if [ -e "$state/init" ]; then
      say "an earlier kubeadm init did not end; it is undone first"
      run kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock
    fi
    touch "$state/init"
    mkdir -p /etc/kubernetes/gpucluster
    chmod 700 /etc/kubernetes/gpucluster
    files
    if [ "$ENCRYPT" = yes ]; then encryption; fi
    mkdir -p /run/gpucluster-machines
    chmod 700 /run/gpucluster-machines
    trap 'rm -rf /run/gpucluster-machines' EXIT
    printf '%s\n' "$INIT_CONFIG" >/run/gpucluster-machines/init.yaml
    say "kubeadm init (some minutes)"
    run systemctl enable kubelet
    run kubeadm init --config /run/gpucluster-machines/init.yaml --skip-token-print --skip-certificate-key-print
    rm -f "$state/init"
    touch "$state/initialised"
  fi
  rm -f "$state/files-changed"
  etcd_snapshots
  # kubeadm init makes a token of 24 hours with the roles of joining; each worker has its own of minutes.
  for name in $(kubectl --kubeconfig "$admin" -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name 2>>"$log"); do
    if [ "$(kubectl --kubeconfig "$admin" -n kube-system get "$name" -o 'jsonpath={.data.description}' 2>>"$log" | base64 -d | cut -c1-20)" != gpucluster-machines: ]; then
      run kubectl --kubeconfig "$admin" -n kube-system delete "$name" --ignore-not-found
    fi
  done
  member caCertificate "$(base64 -w0 /etc/kubernetes/pki/ca.crt)"
  member caHash "$(ca_hash /etc/kubernetes/pki/ca.crt)"
  member adminKubeconfig "$(base64 -w0 "$admin")"
  answer
}

# All certificates before one ends; then kubelet starts the pods anew, one after the other.
# https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-certs/
renew() {
  ending=$(ending_certificates)
  if [ -z "$ending" ] && [ ! -e "$state/renewing" ]; then return; fi
  say "new certificates: $ending"
  touch "$state/renewing"
  run kubeadm certs renew all
  for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do restart "$pod"; done
  rm -f "$state/renewing"
}

# The containers of a pod of the control plane, which kubelet then starts anew.
restart() {
  runtime='crictl --timeout 60s --runtime-endpoint unix:///run/containerd/containerd.sock'
  # shellcheck disable=SC2086
  for container in $($runtime ps -q --name "^$1\$" 2>>"$log"); do run $runtime stop "$container"; done
  api_ready
}

# Lines of a path and its content in base64. The mark stays until the API server has read what changed.
files() {
  printf '%s\n' "$FILES" | while read -r path content; do
    if [ -z "$path" ]; then continue; fi
    (umask 077 && printf '%s' "$content" | base64 -d >"$path.new")
    if cmp -s "$path.new" "$path"; then
      rm -f "$path.new"
    else
      touch "$state/files-changed"
      mv -f "$path.new" "$path"
    fi
  done
}

# A key of this machine's own, which never leaves it: https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/
encryption() {
  file=/etc/kubernetes/gpucluster/encryption.yaml
  if [ -s "$file" ]; then return; fi
  (
    umask 077
    cat >"$file" <<EOF
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: key1, secret: "$(head -c 32 /dev/urandom | base64 -w0)"}]}
  - identity: {}
EOF
  )
}
