# shellcheck shell=sh disable=SC2154
# containerd, kubelet, kubeadm and kubectl, and what they need of the system.
main() {
  lock
  snapshot
  members=''
  say "package sources"
  sources
  say "kernel settings"
  kernel
  shutdown_delay
  say "containerd and Kubernetes $KUBERNETES_VERSION"
  packages
  mirrors
  containerd_configuration
  if [ "$proxy_changed" = yes ]; then changed=yes; fi
  start_containerd "$changed"
  run systemctl enable kubelet
  if [ -e /etc/kubernetes/kubelet.conf ]; then run systemctl start kubelet; fi
  firewall
  member kubernetesVersion "$(kubelet_version)"
  member containerdVersion "$(containerd_version)"
  answer
}

# How the machine was before; taken once, and in whole or not at all.
snapshot() {
  record_packages
  if [ -e "$state/snapshot/done" ]; then return; fi
  say "snapshot of the machine"
  rm -rf "$state/snapshot"
  mkdir -p "$state/snapshot" "$state/before"
  touch "$state/files" "$state/sums" "$state/installed"
  installed >"$state/snapshot/packages"
  apt-mark showhold | sort >"$state/snapshot/holds"
  ip -br link | awk '{ print $1 }' | sort >"$state/snapshot/links"
  { nft list tables 2>/dev/null || :; } | sort >"$state/snapshot/tables"
  { iptables-save 2>/dev/null || :; } | grep -v '^#' >"$state/snapshot/iptables" || :
  cat /proc/sys/net/ipv4/ip_forward >"$state/snapshot/ip_forward"
  # Packages and kubelet bring these files.
  for file in /etc/containerd/config.toml /etc/default/kubelet /etc/systemd/logind.conf.d/99-kubelet.conf; do remember "$file"; done
  # The runtime takes the first of these files by name, so another network's would be the pods', or nobody's.
  for file in /etc/cni/net.d/*; do
    if [ -f "$file" ]; then
      remember "$file"
      rm -f "$file"
    fi
  done
  for folder in /etc/containerd /etc/cni /etc/cni/net.d /var/lib/cni /etc/systemd/logind.conf.d; do if [ ! -d "$folder" ]; then printf '%s\n' "$folder" >>"$state/folders"; fi; done
  for folder in /var/lib/containerd /opt/cni /opt/containerd; do if [ -d "$folder" ]; then printf '%s\n' "$folder" >>"$state/snapshot/folders"; fi; done
  for unit in containerd kubelet nvidia-persistenced; do printf '%s %s %s\n' "$unit" "$(systemctl is-enabled "$unit" 2>/dev/null || :)" "$(systemctl is-active "$unit" 2>/dev/null || :)"; done >"$state/snapshot/units"
  printf '%s\n' "$OWNER" >"$state/owner"
  printf '%s\n' "$SCRIPTS_VERSION" >"$state/version"
  touch "$state/snapshot/done"
}

sources() {
  proxy_changed=no changed=no
  if [ -n "$PROXY" ]; then
    put /etc/apt/apt.conf.d/95gpucluster-proxy 644 <<EOF
Acquire::http::Proxy "$PROXY";
Acquire::https::Proxy "$PROXY";
$(printf '%s' "$PROXY_EXCEPT" | tr ',' '\n' | grep -E '^[A-Za-z0-9.-]+$' | sed 's/.*/Acquire::http::Proxy::& "DIRECT";\nAcquire::https::Proxy::& "DIRECT";/')
EOF
    changed=no
    put /etc/systemd/system/containerd.service.d/gpucluster-proxy.conf 644 <<EOF
[Service]
Environment="HTTP_PROXY=$(in_unit "$PROXY")" "HTTPS_PROXY=$(in_unit "$PROXY")" "NO_PROXY=$(in_unit "$PROXY_EXCEPT")"
EOF
    proxy_changed=$changed
    run systemctl daemon-reload
  else
    for file in /etc/apt/apt.conf.d/95gpucluster-proxy /etc/systemd/system/containerd.service.d/gpucluster-proxy.conf; do
      if [ -e "$file" ]; then
        forget "$file"
        case $file in *.conf) proxy_changed=yes ;; esac
      fi
    done
    if [ "$proxy_changed" = yes ]; then run systemctl daemon-reload; fi
  fi
  # They need nothing of ours, and the source of Kubernetes needs them.
  missing=''
  for package in ca-certificates curl gpg openssl conntrack ethtool iptables socat; do if ! has "$package"; then missing="$missing $package"; fi; done
  if [ -n "$missing" ]; then
    apt update
    # shellcheck disable=SC2086
    install_packages $missing
  fi
  changed=no
  kubernetes_source
  sources_changed=$changed
  # Former versions of this script kept security updates of kernel, containerd and runc away.
  forget /etc/apt/apt.conf.d/52gpucluster-unattended-upgrades
}

# systemd expands %, as in an encoded password: https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html
in_unit() { printf '%s' "$1" | sed 's/%/%%/g'; }

kernel() {
  put /etc/modules-load.d/gpucluster.conf 644 <<EOF
overlay
br_netfilter
EOF
  modprobe overlay 2>>"$log" || :
  modprobe br_netfilter 2>>"$log" || :
  grep -qw overlay /proc/filesystems || fail "the kernel has no overlay file system; containerd needs it"
  [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || fail "the kernel module br_netfilter cannot be loaded; install linux-modules-extra-$(uname -r) or another kernel"
  put /etc/sysctl.d/99-gpucluster.conf 644 <<EOF
net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
EOF
  run sysctl -q -p /etc/sysctl.d/99-gpucluster.conf
  if [ "$(wc -l </proc/swaps)" -gt 1 ]; then
    [ "$DISABLE_SWAP" = yes ] || fail "swap is on ($(swap)); $swap_remedy"
    if [ -e /etc/fstab ]; then
      changed=no
      sed -E 's/^([^#].*[[:space:]]swap[[:space:]].*)$/# gpucluster: \1/' /etc/fstab >"$state/fstab"
      put /etc/fstab 644 <"$state/fstab"
      rm -f "$state/fstab"
    fi
    run swapoff -a
    touch "$state/swap"
  fi
}

# In place of the file of this name by unattended-upgrades, whose 30 s would win over kubelet's 99-kubelet.conf:
# https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
shutdown_delay() {
  put /etc/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf 644 <<EOF
# kubelet sets the delay
EOF
}

packages() {
  target=$(package_version kubelet)
  if ! wanted "$target"; then target=''; fi
  missing=''
  # Not by its package: Ubuntu 26.04 calls that containerd-stable.
  if ! command -v containerd >/dev/null; then missing=containerd; fi
  if [ "$sources_changed" = yes ] || [ -n "$missing" ] || [ -z "$target" ]; then apt update; fi
  if [ -z "$target" ]; then
    target=$(offered)
    [ -n "$target" ] || not_offered
  fi
  for package in kubelet kubeadm kubectl; do
    if [ "$(package_version "$package")" != "$target" ]; then missing="$missing $package=$target"; fi
  done
  if ! has cri-tools; then missing="$missing cri-tools"; fi
  # shellcheck disable=SC2086
  if [ -n "$missing" ]; then install_packages $missing; fi
  hold kubelet kubeadm kubectl
}

# Lines of a path below containerd's folder of registries and its content in base64. containerd reads them for each image.
# https://github.com/containerd/containerd/blob/main/docs/hosts.md
mirrors() {
  : >"$state/mirrors.new"
  printf '%s\n' "$IMAGE_MIRRORS" | while read -r path content; do
    if [ -z "$path" ]; then continue; fi
    printf '%s' "$content" | base64 -d | put "$registries/$path" 644
    printf '%s\n' "$registries/$path" >>"$state/mirrors.new"
  done
  touch "$state/mirrors"
  grep -vxFf "$state/mirrors.new" "$state/mirrors" | while read -r file; do
    forget "$file"
    give_back "$file"
    rmdir "$(dirname "$file")" 2>/dev/null || : # an empty folder would hide that of all other registries
  done
  mv -f "$state/mirrors.new" "$state/mirrors"
}

# Only where ufw is on, and only what the cluster needs from its own machines; restore deletes what the list has.
firewall() {
  if [ -z "$FIREWALL_MACHINES" ] || ! ufw status 2>/dev/null | grep -q '^Status: active'; then return; fi
  say "rules of ufw"
  : >"$state/ufw.new"
  for address in $FIREWALL_MACHINES; do
    rule "allow from $address to any port 10250 proto tcp"
    rule "allow from $address to any port 8472 proto udp"
    for port in $MACHINE_PORTS; do rule "allow from $address to any port ${port%/*} proto ${port#*/}"; done
    if [ "$ROLE" = controlPlane ]; then rule "allow from $address to any port 6443 proto tcp"; fi
  done
  # etcd's members, and VRRP, which ufw knows since 0.36.2.
  for address in $FIREWALL_PLANES; do
    rule "allow from $address to any port 2379:2380 proto tcp"
    if ufw --dry-run allow from "$address" to any proto vrrp >/dev/null 2>&1; then rule "allow from $address to any proto vrrp"; else rule "allow from $address to 224.0.0.18"; fi
  done
  if [ "$ROLE" = controlPlane ]; then for address in $FIREWALL_CLIENTS; do rule "allow from $address to any port 6443 proto tcp"; done; fi
  if [ -n "$FIREWALL_PODS" ]; then
    rule "allow from $FIREWALL_PODS to any port 10250 proto tcp"
    if [ "$ROLE" = controlPlane ]; then rule "allow from $FIREWALL_PODS to any port 6443 proto tcp"; fi
    rule "route allow from $FIREWALL_PODS"
    rule "route allow to $FIREWALL_PODS"
  fi
  touch "$state/ufw"
  grep -vxFf "$state/ufw.new" "$state/ufw" | while read -r line; do
    # shellcheck disable=SC2086
    ufw_delete $line
  done
  mv -f "$state/ufw.new" "$state/ufw"
}
rule() {
  # shellcheck disable=SC2086
  run ufw $1 comment gpucluster
  printf '%s\n' "$1" >>"$state/ufw.new"
}
