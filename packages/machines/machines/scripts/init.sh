# shellcheck shell=sh disable=SC2154
# A control plane, once: kubeadm init, or with JOIN_CONFIG kubeadm join. Answers what others need to join and to reach it.
main() {
  lock
  members=''
  if [ -e "$state/initialised" ] && [ -z "$JOIN_CONFIG" ]; then
    hash=$(ca_hash /etc/kubernetes/pki/ca.crt)
    [ -z "$CA_HASH" ] || [ "$hash" = "$CA_HASH" ] || fail "the machine is a control plane of another cluster (its CA is $hash); take it out there (kubeadm reset) first"
    run systemctl enable --now kubelet
    virtual_address
    renew
    files
    if [ -e "$state/files-changed" ]; then
      say "the API server restarts with changed files"
      restart kube-apiserver
    fi
  else
    # It was a control plane of this cluster, which no longer knows it.
    if [ -e "$state/initialised" ]; then mv -f "$state/initialised" "$state/init"; fi
    if [ -e /etc/kubernetes/kubelet.conf ] && [ ! -e /etc/kubernetes/pki/ca.key ]; then
      fail "the machine is a worker of another cluster; take it out there (kubeadm reset) first"
    fi
    if [ -e /etc/kubernetes/admin.conf ] && [ ! -e "$state/init" ]; then
      fail "the machine is the control plane of another cluster; take that down (kubeadm reset) first"
    fi
    if [ ! -e "$state/init" ] && [ -n "$(ls -A /var/lib/etcd 2>/dev/null)" ]; then
      fail "/var/lib/etcd has data of another etcd, which kubeadm would take for its own; move it away first"
    fi
    if [ -e "$state/init" ]; then
      say "an earlier attempt did not end; it is undone first"
      kubeadm_reset
      if [ -n "$JOIN_CONFIG" ] && [ -d /var/lib/etcd ]; then find /var/lib/etcd -mindepth 1 -delete; fi
    fi
    touch "$state/init"
    mkdir -p /etc/kubernetes/gpucluster
    chmod 700 /etc/kubernetes/gpucluster
    files
    if [ "$ENCRYPT" = yes ]; then encryption; fi
    mkdir -p /run/gpucluster-machines
    chmod 700 /run/gpucluster-machines
    trap 'rm -rf /run/gpucluster-machines' EXIT
    (umask 077 && printf '%s\n' "${JOIN_CONFIG:-$INIT_CONFIG}" >/run/gpucluster-machines/kubeadm.yaml)
    run systemctl enable kubelet
    if [ -n "$JOIN_CONFIG" ]; then
      say "kubeadm join as a control plane (some minutes)"
      run kubeadm join --config /run/gpucluster-machines/kubeadm.yaml
    else
      # kubeadm asks the API server at the address that all machines will use.
      virtual_address
      say "kubeadm init (some minutes)"
      run kubeadm init --config /run/gpucluster-machines/kubeadm.yaml --skip-token-print --skip-certificate-key-print
    fi
    rm -f "$state/init"
    touch "$state/initialised"
    if [ -n "$JOIN_CONFIG" ]; then virtual_address; fi
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

# The cluster's key, which the first control plane makes: https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/
encryption() {
  file=/etc/kubernetes/gpucluster/encryption.yaml
  if [ -n "$ENCRYPTION" ]; then
    (umask 077 && printf '%s' "$ENCRYPTION" | base64 -d >"$file")
    return
  fi
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

# keepalived gives the shared address to a control plane whose own API server is ready. All have the same priority, so
# that it stays where it is until that changes. https://keepalived.org/manpage.html
virtual_address() {
  if [ -z "$VIRTUAL_ADDRESS" ]; then return; fi
  file=/etc/keepalived/keepalived.conf
  if [ -e "$file" ] && ! grep -qsxF "$file" "$state/files"; then
    fail "the machine has a keepalived with a configuration of its own; remove it first (sudo apt-get purge keepalived)"
  fi
  link=$(ip -o -4 addr show | awk -v own="$ADDRESS" '{ split($4, part, "/"); if (part[1] == own) { print $2; exit } }')
  [ -n "$link" ] || fail "no network interface has the address $ADDRESS"
  changed=no
  put "$file" 644 <<EOF
global_defs {
  script_user nobody nogroup
}
vrrp_script api {
  script "/usr/bin/curl --silent --fail --insecure --max-time 4 --output /dev/null https://127.0.0.1:6443/readyz"
  interval 3
  timeout 5
  fall 3
  rise 2
  weight -50
  init_fail
}
vrrp_instance api {
  interface $link
  state BACKUP
  virtual_router_id $((${VIRTUAL_ADDRESS##*.} % 255 + 1))
  priority 100
  virtual_ipaddress {
    $VIRTUAL_ADDRESS/32 dev $link
  }
  track_script {
    api
  }
}
EOF
  if ! has keepalived; then
    say "keepalived, for $VIRTUAL_ADDRESS"
    apt update
    install_packages keepalived
  fi
  run systemctl enable keepalived
  if [ "$changed" = yes ]; then run systemctl restart keepalived; else run systemctl start keepalived; fi
  if [ -e "$state/initialised" ]; then return; fi
  until=$(($(date +%s) + 60))
  until ip -o -4 addr show dev "$link" | grep -qF " $VIRTUAL_ADDRESS/32 "; do
    [ "$(date +%s)" -lt "$until" ] || fail "keepalived does not take $VIRTUAL_ADDRESS: does another machine have it? See journalctl -u keepalived there"
    sleep 1
  done
}
