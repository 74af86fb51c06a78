# shellcheck shell=sh
# Beginning of every script: the plugin sends variables, this file and one phase to `sudo -n sh -s`.
# A phase says what it does on standard error; its last line on standard output is one JSON object.
# What it runs goes to the log, never to the session: tokens and keys are in no argument and in no message.
# shellcheck disable=SC2034 # the phases read it
SCRIPTS_VERSION=4
set -eu
umask 022
export LC_ALL=C PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
# kubeadm copies proxies of its session into the control plane's pods, and kubectl asks them for the API server:
# https://github.com/kubernetes/kubernetes/issues/103489. apt, containerd and curl get theirs by name.
session_proxy=${https_proxy:-${HTTPS_PROXY:-${http_proxy:-${HTTP_PROXY:-${all_proxy:-${ALL_PROXY:-}}}}}}
unset KUBECONFIG http_proxy HTTP_PROXY https_proxy HTTPS_PROXY ftp_proxy FTP_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
unset TMPDIR GNUPGHOME LD_PRELOAD LD_LIBRARY_PATH GREP_OPTIONS CDPATH ENV APT_CONFIG
state=/var/lib/gpucluster-machines
log=/var/log/gpucluster-machines.log
admin=/etc/kubernetes/admin.conf
sources_list=/etc/apt/sources.list
apt_seconds=600
registries=/etc/containerd/certs.d
# The session may be lost while a phase runs: it goes on to its end, and the next one waits for it.
trap '' PIPE HUP

say() { printf '%s\n' "$*" >&2 || :; }

# A value as a JSON string.
quote() { printf '"%s"' "$(printf '%s' "$1" | tr '\n\t' '  ' | sed 's/[\\"]/\\&/g' | tr -d '\000-\037')"; }

# Members of the answer; `answer` prints it.
members=''
member() { members="$members${members:+,}$(quote "$1"):$(quote "$2")"; }
raw_member() { members="$members${members:+,}$(quote "$1"):$2"; }
answer() { printf '{%s}\n' "$members" || :; }

fail() {
  members=''
  member error "$*"
  answer
  exit 1
}

redact() { sed -E 's/[a-z0-9]{6}\.[a-z0-9]{16}/(token)/g'; }

# Only one writing phase at a time on a machine, also of a session that was lost.
lock() {
  mkdir -p "$state"
  chmod 700 "$state"
  touch "$log"
  chmod 600 "$log"
  # Not in /run/lock, where every user can hold it.
  exec 9>"$state/lock"
  flock -w 900 9 || fail "another phase has been running on this machine for 15 minutes; see $log there"
}

# A command whose output belongs into the log; if it fails, its last lines are $lines.
attempt() {
  printf '+ %s\n' "$*" >>"$log"
  output=$(mktemp)
  code=0
  "$@" >"$output" 2>&1 </dev/null 9>&- || code=$?
  redact <"$output" >>"$log"
  lines=$(grep -v '^ *$' "$output" | tail -n 12 | redact | cut -c1-300 || :)
  rm -f "$output"
  return "$code"
}
run() { attempt "$@" || failed "$@"; }
failed() { fail "\`$(printf '%s' "$*" | cut -c1-120)\` failed: $lines"; }

# A file from before is kept once, so that restore can give it back.
remember() {
  if ! grep -qsxF "$1" "$state/files"; then
    if [ -e "$1" ]; then
      mkdir -p "$state/before$(dirname "$1")"
      cp -p "$1" "$state/before$1"
    fi
    printf '%s\n' "$1" >>"$state/files"
  fi
}

# put PATH MODE: standard input becomes the file; sets $changed if it was another. Its checksum is kept for `facts`.
put() {
  folder=$(dirname "$1")
  while [ ! -d "$folder" ]; do
    printf '%s\n' "$folder" >>"$state/folders"
    folder=$(dirname "$folder")
  done
  mkdir -p "$(dirname "$1")"
  remember "$1"
  cat >"$1.gpucluster-new"
  chmod "$2" "$1.gpucluster-new"
  if cmp -s "$1.gpucluster-new" "$1"; then
    rm -f "$1.gpucluster-new"
  else
    mv -f "$1.gpucluster-new" "$1"
    changed=yes
  fi
  touch "$state/sums"
  { grep -vF "  $1" "$state/sums" || :; sha256sum "$1"; } >"$state/sums.new"
  mv -f "$state/sums.new" "$state/sums"
}

# Delete a file that a former version wrote.
forget() {
  rm -f "$1"
  if [ -e "$state/sums" ]; then
    { grep -vF "  $1" "$state/sums" || :; } >"$state/sums.new"
    mv -f "$state/sums.new" "$state/sums"
  fi
}

# Files whose path starts with $1 as they were before; those that were not there are deleted.
give_back() {
  grep "^$1" "$state/files" | while read -r file; do
    if [ -e "$state/before$file" ]; then
      mkdir -p "$(dirname "$file")"
      cp -p "$state/before$file" "$file"
    else
      rm -f "$file"
    fi
  done
}

installed() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u; }
has() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || :)" = installed ]; }

# The version that would be installed.
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -vxF '(none)' || :; }

# apt waits for dpkg's locks only; another apt holds those of the lists and the downloads as well (apt-daily, cloud-init).
# A transaction that a power cut ended is finished first, without which apt refuses every other.
apt() {
  until=$(($(date +%s) + apt_seconds)) configured=no
  until attempt apt-get -q -y -o DPkg::Lock::Timeout="$apt_seconds" -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; do
    case $lines in
      *'dpkg was interrupted'*)
        [ "$configured" = no ] || failed apt-get "$@"
        configured=yes
        run dpkg --force-confdef --force-confold --configure -a
        ;;
      *'Could not get lock'* | *'Unable to lock directory'*)
        [ "$(date +%s)" -lt "$until" ] || failed apt-get "$@"
        say "waiting for another apt: $(printf '%s' "$lines" | grep -m 1 -e 'Could not get lock' -e 'Unable to lock')"
        sleep 5
        ;;
      *) failed apt-get "$@" ;;
    esac
  done
}

# Packages that come with ours are listed, so that restore removes these and no others.
install_packages() {
  # While apt waits, or after it failed, the owner may install others: ours are those that this transaction has.
  apt-get -s -q install --no-install-recommends --allow-change-held-packages --allow-downgrades "$@" >"$state/simulated" 2>>"$log" || :
  sed -n 's/^Inst \([^ ]*\).*/\1/p' "$state/simulated" | sort -u >"$state/packages.wanted"
  # With -y apt also takes away what stands in the way. Of that, only what came from here may go.
  lost=$(awk '$1 == "Remv" || $1 == "Purg" { print $2 }' "$state/simulated" | sort -u | grep -vxFf "$state/installed" | tr '\n' ' ' || :)
  rm -f "$state/simulated"
  [ -z "$lost" ] || fail "to install $*, apt would remove packages that were here before: ${lost% }. If nobody needs them, remove them yourself (sudo apt-get remove ${lost% }) and run the command again"
  installed >"$state/packages.before"
  printf '%s\n' "$*" >>"$log"
  apt install --no-install-recommends --allow-change-held-packages --allow-downgrades "$@"
  record_packages
}
# Also for a transaction that a power cut ended.
record_packages() {
  [ -e "$state/packages.before" ] || return 0
  installed | comm -13 "$state/packages.before" - | comm -12 - "$state/packages.wanted" >>"$state/installed"
  rm -f "$state/packages.before" "$state/packages.wanted"
}

is_control_plane() { [ -e "$state/init" ] || [ -e "$state/initialised" ]; }

# It deletes /var/lib/etcd as well. On a worker another etcd may have its data there.
kubeadm_reset() {
  phases=''
  if ! is_control_plane; then phases=--skip-phases=remove-etcd-member; fi
  # shellcheck disable=SC2086
  run kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock $phases
}

distribution() {
  # shellcheck disable=SC1091
  (. /etc/os-release && printf '%s%s' "$ID" "$VERSION_ID" | tr -d .)
}

# A repository's address on this machine.
where() {
  case $(uname -m) in aarch64) other=sbsa ;; *) other=$(uname -m) ;; esac
  printf '%s' "$1" | sed -e "s/{distribution}/$(distribution)/g" -e "s/{architecture}/$other/g" -e "s/{debArchitecture}/$(dpkg --print-architecture)/g"
}

# Files with a source of somebody else for one of the repositories: apt refuses a second key (Signed-By) for it.
foreign_sources() {
  for url in "$@"; do
    url=$(where "$url")
    for file in "$sources_list" "$sources_list.d"/*.list "$sources_list.d"/*.sources; do
      case $file in */gpucluster-*) continue ;; esac
      if sed -e 's/#.*//' -e "s/\$(ARCH)/$(dpkg --print-architecture)/g" "$file" 2>/dev/null | tr -s ' \t' '\n' | grep -qxF -e "${url%/}" -e "${url%/}/"; then printf '%s\n' "$file"; fi
    done
  done | sort -u | tr '\n' ' ' | sed 's/ $//'
}

# apt_source NAME URL SUITE COMPONENTS KEY KEY_URL FINGERPRINT: a repository whose key is ours and has that fingerprint.
apt_source() {
  url=$(where "$2")
  setting=$1
  [ "$setting" != nvidia ] || setting=driver
  armored=$(mktemp)
  if [ -n "$5" ]; then
    printf '%s\n' "$5" >"$armored"
  else
    key_url=$(where "$6")
    curl -fsSL --retry 3 --connect-timeout 20 ${PROXY:+--proxy "$PROXY"} ${PROXY_EXCEPT:+--noproxy "$PROXY_EXCEPT"} -o "$armored" "$key_url" 2>>"$log" ||
      fail "the signing key $key_url cannot be downloaded; check packages.$setting, the proxy and the machine's way out"
  fi
  if [ -n "$7" ]; then
    # Only the pinned key becomes trusted, whatever else the file brings.
    keys=$(mktemp -d)
    gpg --homedir "$keys" --batch --quiet --import "$armored" 2>>"$log" || :
    gpg --homedir "$keys" --batch --quiet --export "$7" >"$armored.gpg" 2>>"$log" || :
    rm -rf "$keys"
    [ -s "$armored.gpg" ] ||
      fail "the signing key of $url does not have the fingerprint $7; if the vendor changed it, set packages.$setting.fingerprint to the one that the vendor publishes"
  elif grep -q 'BEGIN PGP' "$armored"; then
    gpg --dearmor <"$armored" >"$armored.gpg" 2>>"$log"
  else
    cp "$armored" "$armored.gpg"
  fi
  put "/etc/apt/keyrings/gpucluster-$1.gpg" 644 <"$armored.gpg"
  rm -f "$armored" "$armored.gpg"
  put "/etc/apt/sources.list.d/gpucluster-$1.list" 644 <<EOF
deb [signed-by=/etc/apt/keyrings/gpucluster-$1.gpg] $url $3 $4
EOF
}

# A rule as the list has it: `allow …` or `route allow …`.
ufw_delete() { if [ "$1" = route ]; then shift; run ufw route delete "$@"; else run ufw delete "$@"; fi; }

# The certificate's public key as kubeadm pins it: SHA-256.
ca_hash() {
  [ -s "$1" ] || return 0
  printf 'sha256:%s' "$(openssl x509 -pubkey -noout -in "$1" | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | sed 's/.* //')"
}

swap_remedy='switch it off: swapoff -a, and for good its line in /etc/fstab, or the package or unit that makes it (zram: sudo apt-get purge zram-tools systemd-zram-generator zram-config; others: sudo systemctl mask UNIT)'
# What has switched swap on: units of systemd, such as dev-zram0.swap; without one, the files and devices.
swap() {
  in_use=$(awk 'NR > 1 { print $1 }' /proc/swaps | tr '\n' ' ' | sed 's/ $//')
  if [ -z "$in_use" ]; then return; fi
  units=$(systemctl list-units --type swap --state active --plain --no-legend 2>/dev/null | awk '{ print $1 }' | tr '\n' ' ' | sed 's/ $//' || :)
  printf '%s' "$in_use${units:+, unit $units}"
}

containerd_version() { containerd --version 2>/dev/null | sed -n 's/.* v\{0,1\}\([0-9][0-9.]*[0-9]\).*/\1/p' | head -n 1; }
kubelet_version() { kubelet --version 2>/dev/null | sed 's/.* //'; }
# Of the driver that runs; what nvidia-smi says of a failure goes to standard output as well.
driver_version() { nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1 | grep -xE '[0-9]+(\.[0-9]+)+' || :; }
# Of a driver that was not installed from here, also of one that waits for a reboot.
foreign_driver() {
  if [ -e "$state/driver" ] || grep -qsxE 'nvidia-open|cuda-drivers' "$state/installed"; then return; fi
  version=$(driver_version)
  printf '%s' "${version:-$(modinfo -F version nvidia 2>/dev/null || :)}"
}
# Its kernel modules: open, proprietary or, without a driver, nothing.
kernel_modules() {
  case $(modinfo -F license nvidia 2>/dev/null || :) in *MIT*) printf open ;; NVIDIA) printf proprietary ;; esac
}
# NVSwitches of NVLink 4 and older: NVIDIA's bridges (class 0680) on PCI.
nvswitches() {
  count=0
  for device in /sys/bus/pci/devices/*; do
    case $(cat "$device/vendor" "$device/class" 2>/dev/null | tr '\n' ' ') in 0x10de\ 0x0680*) count=$((count + 1)) ;; esac
  done
  printf %s "$count"
}
# NVLink 5 (HGX B200, B300) shows no switch, but InfiniBand functions whose product data has SW_MNG; network cards have not:
# https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ (systems using fourth generation NVSwitches)
nvlink5_managers() {
  count=0
  for device in /sys/bus/pci/devices/*; do
    case $(cat "$device/vendor" "$device/class" 2>/dev/null | tr '\n' ' ') in
      0x15b3\ 0x0207*) if grep -aq SW_MNG "$device/vpd" 2>/dev/null; then count=$((count + 1)); fi ;;
    esac
  done
  printf %s "$count"
}
package_version() { dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'; }

kubernetes_source() { apt_source kubernetes "$KUBERNETES_URL" "$KUBERNETES_SUITE" "$KUBERNETES_COMPONENTS" "$KUBERNETES_KEY" "$KUBERNETES_KEY_URL" "$KUBERNETES_KEY_FINGERPRINT"; }
# Whether a package's version is of KUBERNETES_VERSION, such as 1.34 or 1.34.4.
wanted() { case $1 in "$KUBERNETES_VERSION".* | "$KUBERNETES_VERSION"-*) ;; *) return 1 ;; esac; }
# The newest that the package source has of it.
offered() { apt-cache madison kubeadm | awk '{ print $3 }' | sort -V | while read -r each; do if wanted "$each"; then printf '%s\n' "$each"; fi; done | tail -n 1; }
not_offered() { fail "$KUBERNETES_URL offers no kubeadm $KUBERNETES_VERSION; check kubernetes.version and packages.kubernetes.url"; }
# Upgraded by a change of the stack file only, machine by machine: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
hold() {
  run apt-mark hold "$@"
  touch "$state/holds"
  printf '%s\n' "$@" | sort -u -o "$state/holds" - "$state/holds"
}

api_ready() {
  until=$(($(date +%s) + 300))
  # This machine's own, also where the kubeconfig has an address that several share.
  until kubectl --kubeconfig "$admin" --server https://127.0.0.1:6443 --tls-server-name kubernetes get --raw /readyz >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || fail "the API server does not answer; look at it with: crictl ps -a, journalctl -u kubelet"
    sleep 2
  done
}

# A control plane's certificates that end within 30 days; CAs live for 10 years, kubelet renews its own.
ending_certificates() {
  for file in /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt /etc/kubernetes/*.conf; do
    case $file in *ca.crt | *kubelet.conf) continue ;; esac
    [ -e "$file" ] || continue
    case $file in *.conf) sed -n 's/^ *client-certificate-data: //p' "$file" | base64 -d ;; *) cat "$file" ;; esac |
      openssl x509 -noout -checkend 2592000 >/dev/null 2>&1 || printf '%s ' "${file##*/}"
  done
}

# A snapshot of etcd every day, and the command for it.
etcd_snapshots() {
  changed=no
  put /usr/local/sbin/gpucluster-etcd 755 <<EOF
$ETCD_SCRIPT
EOF
  put /etc/systemd/system/gpucluster-etcd.service 644 <<EOF
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/gpucluster-etcd save
EOF
  put /etc/systemd/system/gpucluster-etcd.timer 644 <<EOF
[Timer]
OnCalendar=daily
Persistent=true
[Install]
WantedBy=timers.target
EOF
  if [ "$changed" = yes ]; then run systemctl daemon-reload; fi
  run systemctl enable --now gpucluster-etcd.timer
}

# The containerd of the distribution. In 1.x a file of `imports` replaces a whole plugin's table, so all of it is here.
containerd_configuration() {
  pause=$(kubeadm config images list --kubernetes-version "$(kubelet_version)" ${IMAGE_REPOSITORY:+--image-repository "$IMAGE_REPOSITORY"} 2>>"$log" | grep /pause:) ||
    fail "kubeadm names no pause image; see $log there"
  default=runc
  if [ -x /usr/bin/nvidia-container-runtime ]; then default=nvidia; fi
  case $(containerd_version) in
    1.*) version=2 cri=io.containerd.grpc.v1.cri images=io.containerd.grpc.v1.cri sandbox="sandbox_image = \"$pause\"" ;;
    *) version=3 cri=io.containerd.cri.v1.runtime images=io.containerd.cri.v1.images sandbox="pinned_images = { sandbox = \"$pause\" }" ;;
  esac
  # Before 1.7 there is none, and since 2.0 it is the default: https://github.com/containerd/containerd/pull/9621
  cdi=''
  case $(containerd_version) in 1.7.*) cdi='enable_cdi = true' ;; esac
  {
    printf 'version = %s\nimports = ["/etc/containerd/conf.d/*.toml"]\n' "$version"
    if [ "$images" != "$cri" ]; then printf '[plugins."%s"]\n  %s\n[plugins."%s"]\n' "$images" "$sandbox" "$cri"; else printf '[plugins."%s"]\n  %s\n' "$cri" "$sandbox"; fi
    if [ -n "$cdi" ]; then printf '  %s\n  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]\n' "$cdi"; fi
    if [ -s "$state/mirrors" ]; then printf '[plugins."%s".registry]\n  config_path = "%s"\n' "$images" "$registries"; fi
    if [ "$version" = 2 ]; then printf '  [plugins."%s".cni]\n    bin_dir = "/opt/cni/bin"\n' "$cri"; fi
    printf '  [plugins."%s".containerd]\n    default_runtime_name = "%s"\n' "$cri" "$default"
    for name in runc $([ "$default" = runc ] || printf nvidia); do
      printf '  [plugins."%s".containerd.runtimes.%s]\n    runtime_type = "io.containerd.runc.v2"\n' "$cri" "$name"
      printf '    [plugins."%s".containerd.runtimes.%s.options]\n      SystemdCgroup = true\n' "$cri" "$name"
      if [ "$name" = nvidia ]; then printf '      BinaryName = "/usr/bin/nvidia-container-runtime"\n'; fi
    done
  } >"$state/containerd.toml"
  if [ "$default" = nvidia ]; then toolkit_configuration; fi
  changed=no
  put /etc/containerd/config.toml 644 <"$state/containerd.toml"
  rm -f "$state/containerd.toml"
}

# A container gets the GPUs that the device plugin mounts, whatever its image or its author writes into NVIDIA_VISIBLE_DEVICES.
# https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details (DEVICE_LIST_STRATEGY: volume-mounts)
toolkit_configuration() {
  file=/etc/nvidia-container-runtime/config.toml
  # A package of ours brings it and takes it away.
  if grep -qsx nvidia-container-toolkit-base "$state/installed" && ! grep -qsxF "$file" "$state/files"; then printf '%s\n' "$file" >>"$state/files"; fi
  nvidia-ctk config --config-file="$file" --set=accept-nvidia-visible-devices-envvar-when-unprivileged=false \
    --set=accept-nvidia-visible-devices-as-volume-mounts=true >"$state/toolkit.toml" 2>>"$log" ||
    fail "nvidia-ctk cannot write the toolkit's configuration; install nvidia-container-toolkit 1.14 or newer (see $log there)"
  put "$file" 644 <"$state/toolkit.toml"
  rm -f "$state/toolkit.toml"
}

start_containerd() {
  # Enabled, not only started: otherwise a node is NotReady after its next boot.
  run systemctl enable containerd
  if [ "$1" = yes ]; then run systemctl restart containerd; else run systemctl start containerd; fi
}
