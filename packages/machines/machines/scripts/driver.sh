# shellcheck shell=sh disable=SC2154
# NVIDIA's driver of one branch and the container toolkit. Answers reboot=yes if the module cannot be loaded without.
# Packages: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (version locking for APT)
main() {
  lock
  record_packages
  members=''
  changed=no
  nouveau_changed=no
  if [ "$AFTER_REBOOT" = yes ] && [ -n "$(swap)" ]; then fail "swap is on again after the reboot ($(swap)), with which kubelet does not start; $swap_remedy"; fi
  say "package sources of NVIDIA"
  apt_source toolkit "$TOOLKIT_URL" "$TOOLKIT_SUITE" "$TOOLKIT_COMPONENTS" "$TOOLKIT_KEY" "$TOOLKIT_KEY_URL" "$TOOLKIT_KEY_FINGERPRINT"
  foreign=$(foreign_driver)
  case $foreign in
    '') driver ;;
    "$DRIVER_BRANCH".*) say "NVIDIA driver $foreign was here before: it stays as it is" ;;
    *) fail "the machine has the NVIDIA driver $foreign, which was not installed from here: remove it, or write drivers: none to keep it" ;;
  esac
  if ! has nvidia-container-toolkit; then
    say "container toolkit"
    apt update
    install_packages nvidia-container-toolkit
  fi
  if [ "$nouveau_changed" = yes ] && command -v update-initramfs >/dev/null; then run update-initramfs -u; fi
  for unit in nvidia-persistenced nvidia-fabricmanager nvidia-cdi-refresh; do
    if systemctl cat "$unit.service" >/dev/null 2>&1; then systemctl enable "$unit" >>"$log" 2>&1 || :; fi
  done
  say "kernel module"
  modprobe nvidia >>"$log" 2>&1 || :
  count=$(nvidia-smi -L 2>>"$log" | grep -c '^GPU' || :)
  running=$(driver_version)
  case $running in "$DRIVER_BRANCH".*) ;; *) count=0 ;; esac
  if [ "$count" = 0 ]; then
    [ "$AFTER_REBOOT" = no ] || fail "the NVIDIA driver does not run after a reboot: $(dmesg 2>/dev/null | grep -iE 'nvrm|nvidia|nouveau' | tail -n 3)"
    member reboot yes
    answer
    return
  fi
  [ "$count" -ge "$GPUS" ] || fail "nvidia-smi lists $count GPUs, $GPUS are declared (gpusPerNode); correct the stack file, or check the machine"
  for unit in nvidia-persistenced nvidia-fabricmanager; do
    if systemctl cat "$unit.service" >/dev/null 2>&1; then run systemctl start "$unit"; fi
  done
  containerd_configuration
  start_containerd "$changed"
  # Toolkits from 1.18 on refresh the description of devices themselves (nvidia-cdi-refresh).
  if ! systemctl cat nvidia-cdi-refresh.service >/dev/null 2>&1 && nvidia-ctk cdi generate >"$state/cdi.yaml" 2>>"$log"; then
    put /etc/cdi/nvidia.yaml 644 <"$state/cdi.yaml"
  fi
  rm -f "$state/cdi.yaml"
  member driverVersion "$running"
  raw_member driverGpus "$count"
  answer
}

# NVSwitch needs the fabric manager of exactly the driver's version. NVIDIA's is called without the branch, or has that name as
# well; on Ubuntu the name with the branch is also Canonical's, of another version and with a driver of its own.
# https://packages.ubuntu.com/resolute/nvidia-fabricmanager-595, https://github.com/NVIDIA/gpu-driver-container/pull/451
fabric_manager() {
  if [ "$(nvlink5_managers)" != 0 ]; then subnet_manager; elif [ "$(nvswitches)" = 0 ]; then return; fi
  version=$(package_version "$DRIVER_PACKAGE" | cut -d- -f1)
  for package in nvidia-fabricmanager "nvidia-fabricmanager-$DRIVER_BRANCH"; do
    if [ "$(package_version "$package" | cut -d- -f1)" = "$version" ]; then return; fi
    exact=$(apt-cache madison "$package" | awk -v version="$version-" 'index($3, version) == 1 { print $3; exit }')
    if [ -z "$exact" ] || removes_others "$package=$exact"; then continue; fi
    say "fabric manager"
    install_packages "$package=$exact"
    return
  done
  fail "the machine has NVSwitches, and no package source offers an nvidia-fabricmanager $version, which fits the driver; check packages.driver.url"
}
# Whether its installation would take away more than a fabric manager of before.
removes_others() { apt-get -s -q install --no-install-recommends --allow-change-held-packages --allow-downgrades "$1" 2>>"$log" | grep '^Remv' | grep -qv '^Remv nvidia-fabricmanager'; }

# NVLink 5: the fabric manager starts the subnet manager (nvlsm) and talks to the switches over InfiniBand.
# https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html (P6-B200: packages)
subnet_manager() {
  say "NVLink subnet manager"
  put /etc/modules-load.d/gpucluster-nvlink.conf 644 <<EOF
mlx5_ib
ib_umad
EOF
  extra=linux-modules-extra-$(uname -r)
  if ! infiniband && [ -n "$(candidate "$extra")" ]; then install_packages "$extra"; fi
  infiniband || fail "the kernel has no modules mlx5_ib and ib_umad, by which NVLink 5 is managed; install another kernel"
  for package in infiniband-diags nvlsm; do
    if has "$package"; then continue; fi
    [ -n "$(candidate "$package")" ] || fail "the machine has NVLink 5 switches, and no package source offers $package; check packages.driver.url"
    install_packages "$package"
  done
}
infiniband() { modprobe -a mlx5_ib ib_umad >>"$log" 2>&1; }

driver() {
  apt_source nvidia "$NVIDIA_URL" "$NVIDIA_SUITE" "$NVIDIA_COMPONENTS" "$NVIDIA_KEY" "$NVIDIA_KEY_URL" "$NVIDIA_KEY_FINGERPRINT"
  # The branch: the repository has all of them, and names its packages without it since 590. By source as NVIDIA's own pin,
  # because some of a driver's packages (libcuda1) do not have its name; the fabric manager has another source:
  # https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking.html
  # https://github.com/NVIDIA/apt-packaging-fabric-manager/blob/main/debian/templates/control.in
  put /etc/apt/preferences.d/gpucluster-nvidia 644 <<EOF
Package: src:*nvidia*:any src:cuda-drivers:any src:cuda-compat:any nvidia-fabricmanager*
Pin: version $DRIVER_BRANCH.*
Pin-Priority: 1001
EOF
  sources_changed=$changed changed=no
  put /etc/modprobe.d/gpucluster-nouveau.conf 644 <<EOF
blacklist nouveau
options nouveau modeset=0
EOF
  nouveau_changed=$changed
  case $(package_version "$DRIVER_PACKAGE") in "$DRIVER_BRANCH".*) missing=no ;; *) missing=yes ;; esac
  if [ "$missing" = yes ] || [ "$sources_changed" = yes ]; then apt update; fi
  kernel_headers
  if [ "$missing" = yes ]; then
    case $(candidate "$DRIVER_PACKAGE") in
      "$DRIVER_BRANCH".*) ;;
      *) fail "$NVIDIA_URL offers no $DRIVER_PACKAGE of the branch $DRIVER_BRANCH for $(distribution); write another driverVersion" ;;
    esac
    say "NVIDIA driver $DRIVER_BRANCH"
    touch "$state/driver"
    # apt changes no held package that it was not told by name.
    for package in $(driver_packages); do run apt-mark unhold "$package"; done
    unmet=$(apt-get -s -q install --no-install-recommends --allow-change-held-packages --allow-downgrades "$DRIVER_PACKAGE" 2>&1) ||
      fail "the driver needs packages that no source of this machine has: $(printf '%s' "$unmet" | grep Depends: | tail -n 4); on Debian add the component contrib to the machine's apt sources, then run the command again"
    install_packages "$DRIVER_PACKAGE"
  fi
  fabric_manager
  # shellcheck disable=SC2046
  hold $(driver_packages)
}

# All of the installed driver's version: upgraded under its loaded module, its libraries would refuse to work with it.
driver_packages() {
  version=$(package_version "$DRIVER_PACKAGE")
  if [ -z "$version" ]; then return; fi
  dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' | awk -v version="${version%%-*}" '$1 == "installed" && index($3, version) == 1 { print $2 }'
}

# Of the running kernel, and the metapackages that bring those of every later one, so that DKMS compiles the module for it.
kernel_headers() {
  headers=''
  if [ ! -e "/lib/modules/$(uname -r)/build" ]; then headers="linux-headers-$(uname -r)"; fi
  for flavour in $(installed | sed -n 's/^linux-image-\([a-z].*\)/\1/p'); do
    package=linux-headers-$flavour
    if ! has "$package" && [ -n "$(candidate "$package")" ]; then headers="$headers $package"; fi
  done
  # shellcheck disable=SC2086
  if [ -n "$headers" ]; then install_packages $headers; fi
}
