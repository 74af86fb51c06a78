# shellcheck shell=sh disable=SC2154,SC1091
# What a machine is and has. Changes nothing.
main() {
  members=''
  (. /etc/os-release && printf '%s\n%s\n' "$ID" "${VERSION_ID:-}") >/dev/null 2>&1 || fail "/etc/os-release is missing: not Ubuntu or Debian"
  member os "$(. /etc/os-release && printf '%s %s' "$ID" "${VERSION_ID:-}")"
  member architecture "$(uname -m)"
  member kernel "$(uname -r)"
  raw_member cpus "$(nproc)"
  raw_member memoryMiB "$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)"
  raw_member diskFreeMiB "$(free_mib /var)"
  raw_member usrFreeMiB "$(free_mib /usr)"
  raw_member bootFreeMiB "$(free_mib /boot)"
  member hostname "$(hostname)"
  member machineId "$(cat /etc/machine-id 2>/dev/null || :)"
  member boot "$(cat /proc/sys/kernel/random/boot_id) $(cut -d' ' -f22 /proc/1/stat)"
  member swap "$(swap)"
  member ports "$(ss -Hltn 2>/dev/null | awk '{ n = split($4, part, ":"); print part[n] }' | sort -un | tr '\n' ' ' | sed 's/ $//')"
  member clockSynchronized "$(timedatectl show -p NTPSynchronized --value 2>/dev/null || printf unknown)"
  raw_member time "$(date +%s)"
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then member cgroup v2; else member cgroup v1; fi
  member init "$(cat /proc/1/comm)"
  member addresses "$(ip -o -4 addr show scope global 2>/dev/null | awk '$2 !~ /^(cni|flannel|veth)/ { print $4 }' | tr '\n' ' ' | sed 's/ $//')"
  member secureBoot "$(secure_boot)"
  member mok "$(mok)"
  member headers "$(headers)"
  gpus
  member gpuNames "$(gpu_names)"
  member gpuProcesses "$(gpu_processes)"
  member users "$(who 2>/dev/null | awk '{ print $1 }' | sort -u | tr '\n' ' ' | sed 's/ $//')"
  member proxy "$(printf '%s' "$session_proxy" | sed 's#//[^/]*@#//#')"
  member driverVersion "$(driver_version)"
  member foreignDriver "$(foreign_driver)"
  member kernelModules "$(kernel_modules)"
  # shellcheck disable=SC2086
  member driverBranches "$(driver_branches ${SOURCES:-})"
  raw_member driverGpus "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || :)"
  member containerdVersion "$(containerd_version)"
  member kubeletVersion "$(kubelet_version)"
  member kubeadmVersion "$(kubeadm version -o short 2>/dev/null || :)"
  member containerd "$(unit containerd)"
  member kubelet "$(unit kubelet)"
  member keepalived "$(unit keepalived)"
  member notHeld "$(not_held)"
  member conflicts "$(conflicts)"
  member etcdData "$(if ! is_control_plane && [ -n "$(ls -A /var/lib/etcd 2>/dev/null)" ]; then printf present; fi)"
  # shellcheck disable=SC2086
  member foreignSources "$(foreign_sources ${SOURCES:-})"
  member firewall "$(firewall)"
  member forward "$(forward)"
  member bridges "$(bridges)"
  member nameservers "$(nameservers)"
  member passphrase "$(passphrase)"
  member restarts "$(restarts)"
  member foreignKeepalived "$(foreign_keepalived)"
  if [ -s /etc/kubernetes/kubelet.conf ]; then member joined "$(ca_hash /etc/kubernetes/pki/ca.crt)"; else member joined ''; fi
  if [ -e "$state/initialised" ]; then member controlPlane yes; else member controlPlane ''; fi
  member certificatesEnding "$(ending_certificates | sed 's/ $//')"
  member ours "$(cat "$state/owner" 2>/dev/null || :)"
  member changedFiles "$(if [ -s "$state/sums" ]; then sha256sum -c --quiet "$state/sums" 2>/dev/null | sed -n 's/: FAILED.*//p' | tr '\n' ' ' | sed 's/ $//'; fi)"
  answer
}

free_mib() { { df -Pm "$1" || df -Pm /; } 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# Other container runtimes, Debian's kubectl (the same file in another package), and clusters that no package brings:
# installed by a script (k3s, rke2) or as a snap.
conflicts() {
  for package in docker.io docker-ce containerd.io cri-o kubernetes-client; do if has "$package"; then printf '%s ' "$package"; fi; done
  for file in /usr/local/bin/containerd /snap/bin/docker; do if [ -e "$file" ]; then printf '%s ' "$file"; fi; done
  for name in k3s rke2 microk8s k0s; do
    for folder in /usr/local/bin /usr/bin /opt/bin /snap/bin; do
      if [ -e "$folder/$name" ]; then
        printf '%s ' "$name"
        break
      fi
    done
  done
}

unit() { printf '%s/%s' "$(systemctl is-enabled "$1" 2>/dev/null || :)" "$(systemctl is-active "$1" 2>/dev/null || :)"; }

# Packages that were held from here, are installed and are held no more.
not_held() {
  if [ -e "$state/holds" ]; then
    held=$(apt-mark showhold 2>/dev/null || :)
    installed | comm -12 - "$state/holds" | while read -r package; do printf '%s\n' "$held" | grep -qx "$package" || printf '%s\n' "$package"; done | tr '\n' ' ' | sed 's/ $//'
  fi
}

secure_boot() {
  for file in /sys/firmware/efi/efivars/SecureBoot-*; do
    if [ -e "$file" ] && [ "$(od -An -t u1 "$file" | awk '{ last = $NF } END { print last }')" = 1 ]; then printf on; return; fi
  done
  printf off
}

# Whether the key that DKMS signs with is enrolled in the firmware.
mok() {
  for key in /var/lib/shim-signed/mok/MOK.der /var/lib/dkms/mok.pub; do
    if [ -e "$key" ] && mokutil --test-key "$key" 2>/dev/null | grep -q 'already enrolled'; then printf enrolled; return; fi
  done
  printf none
}

headers() {
  if [ -e "/lib/modules/$(uname -r)/build" ]; then printf present; return; fi
  # Without package lists nobody knows: they are fetched with the first installation.
  if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then printf unknown; return; fi
  if [ -n "$(candidate "linux-headers-$(uname -r)")" ]; then printf available; else printf none; fi
}

# Branches of NVIDIA's driver in the package lists of these repositories; empty before the lists were read.
driver_branches() {
  for url in "$@"; do
    url=$(where "$url")
    apt-cache madison nvidia-open cuda-drivers 2>/dev/null | awk -F'|' -v url="${url%/}" 'index($3, url) { print int($2) }'
  done | sort -un | tr '\n' ' ' | sed 's/ $//'
}

# NVIDIA's functions on PCI: display controllers (class 03) are GPUs.
gpus() {
  gpu=0 ids=''
  for device in /sys/bus/pci/devices/*; do
    if [ "$(cat "$device/vendor" 2>/dev/null)" != 0x10de ]; then continue; fi
    case $(cat "$device/class") in
      0x03*) gpu=$((gpu + 1)) ids="$ids $(cat "$device/device" 2>/dev/null)" ;;
    esac
  done
  raw_member gpus "$gpu"
  switches=$(nvswitches) managers=$(nvlink5_managers)
  raw_member nvswitches "$switches"
  raw_member nvlink5 "$managers"
  if [ "$switches$managers" = 00 ]; then member fabricManager ''; else member fabricManager "$(unit nvidia-fabricmanager)"; fi
  member gpuIds "$(printf '%s' "$ids" | sed 's/^ //')"
}

# Their names, one after a | each: the driver's, or of the machine's list of PCI devices; empty without either.
gpu_names() {
  names=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null) || names=''
  if [ -z "$names" ]; then
    for list in /usr/share/misc/pci.ids /usr/share/hwdata/pci.ids; do
      if [ -e "$list" ]; then break; fi
    done
    names=$(for id in $ids; do awk -v id="\t${id#0x}  " '/^10de /{ on = 1; next } /^[0-9a-f]/{ on = 0 } on && index($0, id) == 1 { sub(/^\t[0-9a-f]*  /, ""); print; exit }' "$list" 2>/dev/null || :; done)
  fi
  printf '%s' "$names" | sort -u | tr '\n' '|' | sed 's/|$//'
}

# People's programs that hold a GPU, by name and number; one of the system always does.
gpu_processes() {
  find /proc/[0-9]*/fd -lname '/dev/nvidia*' 2>/dev/null | cut -d/ -f3 | sort -un | while read -r pid; do
    name=$(cat "/proc/$pid/comm" 2>/dev/null || :)
    case $name in '' | nvidia-* | nv-*) ;; *) printf '%s (pid %s), ' "$name" "$pid" ;; esac
  done | sed 's/, $//'
}

# nft lists what iptables-nft wrote as well; kube-proxy's and the network's own tables are no firewall.
firewall() {
  if ufw status 2>/dev/null | grep -q '^Status: active'; then
    printf ufw
  elif [ "$(systemctl is-active firewalld 2>/dev/null)" = active ]; then
    printf firewalld
  elif nft list ruleset 2>/dev/null | grep -qE 'hook input .*policy (drop|reject)'; then
    printf other
  elif iptables-legacy -S INPUT 2>/dev/null | grep -qE '^-P INPUT (DROP|REJECT)'; then
    printf other
  elif [ -n "$(rejecting INPUT input)" ]; then
    printf other
  else
    printf none
  fi
}

# The chains for forwarded traffic that end with a refusal for all: flannel appends its rules, and an ACCEPT of iptables
# does not count in another table of nftables. https://wiki.nftables.org/wiki-nftables/index.php/Configuring_chains
forward() { rejecting FORWARD forward; }

# rejecting CHAIN HOOK: what a chain has, if a rule without a condition ends it as in Oracle's images, or if it is another
# table of nftables that drops by its policy. Its rules are given, because an earlier one may let the pods through.
rejecting() {
  for tool in iptables iptables-legacy; do
    "$tool" -S "$1" 2>/dev/null | awk -v end="^-A $1( -m comment --comment (\"[^\"]*\"|[^ ]+))? -j (REJECT|DROP)( |$)" \
      '!ends { all = all $0 "; " } $0 ~ end { ends = 1 } END { if (ends) printf "%s", all }'
  done
  # What iptables-nft wrote has capitals.
  nft list ruleset 2>/dev/null | awk -v hook="hook $2 " '
    { sub(/^[ \t]+/, "") }
    $1 == "table" { own = $3 ~ /^(kube-proxy|flannel-|firewalld)/ }
    $1 == "chain" { all = ""; here = ends = last = 0; theirs = !own && $2 !~ /^[A-Z]+$/; next }
    index($0, hook) { here = theirs; if ($0 ~ /policy (drop|reject)/) ends = 1 }
    $1 == "}" { if (here && ends) printf "%s", all; here = 0; next }
    !last { all = all $0 "; " }
    /^((counter packets [0-9]+ bytes [0-9]+|log( prefix "[^"]*")?( (level|flags|group) [^ ]+)*) )*(drop|reject)( |$)/ { ends = last = 1 }'
}

# Bridges of others with what is on them, as long as no firewall sees their traffic: of virtual machines, mostly.
bridges() {
  if [ "$(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null)" = 1 ]; then return; fi
  for link in /sys/class/net/*/master; do
    bridge=$(readlink -f "$link") || continue
    if [ -d "$bridge/bridge" ]; then printf '%s\n' "${bridge##*/}"; fi
  done | grep -vxE 'cni0|docker0' | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# Of the file that kubelet gives to pods; kubeadm takes the one of systemd-resolved if that runs.
# https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/#known-issues
nameservers() {
  file=/etc/resolv.conf
  if [ "$(systemctl is-active systemd-resolved 2>/dev/null)" = active ]; then file=/run/systemd/resolve/resolv.conf; fi
  found=$(awk '$1 == "nameserver" { print $2 }' "$file" 2>/dev/null | tr '\n' ' ' | sed 's/ $//')
  printf '%s' "${found:-none in $file}"
}

# Disks that ask somebody for a passphrase while the machine starts. https://manpages.debian.org/bookworm/cryptsetup/crypttab.5
passphrase() {
  if has clevis-initramfs || has clevis-systemd; then return; fi
  {
    awk '$1 !~ /^(#|$)/ && $3 ~ /^(none|-|)$/ && $4 !~ /noauto|nofail|keyscript=|tpm2-device=|fido2-device=|pkcs11-uri=|try-empty-password/ { print $1 }' /etc/crypttab 2>/dev/null || :
    zfs list -H -o name,keylocation 2>/dev/null | awk '$2 == "prompt" { print $1 }' || :
  } | tr '\n' ' ' | sed 's/ $//'
}

# Whether unattended-upgrades restarts the machine by itself.
restarts() {
  if ! has unattended-upgrades; then return; fi
  value=
  eval "$(apt-config shell value Unattended-Upgrade::Automatic-Reboot/b 2>/dev/null)"
  if [ "$value" = true ]; then printf yes; fi
}

foreign_keepalived() {
  file=/etc/keepalived/keepalived.conf
  if [ -e "$file" ] && ! grep -qsxF "$file" "$state/files"; then printf present; fi
}
