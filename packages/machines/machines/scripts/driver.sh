# shellcheck shell=sh disable=SC2154
# NVIDIA's driver of one branch and the container toolkit. Answers reboot=yes if the module cannot be loaded without.
# Packages: https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/ (version locking for APT)
main() {
  lock
  record_packages
  members=''
  changed=no
  say "package sources of NVIDIA"
  apt_source nvidia "$NVIDIA_URL" "$NVIDIA_SUITE" "$NVIDIA_COMPONENTS" "$NVIDIA_KEY" "$NVIDIA_KEY_URL" "$NVIDIA_KEY_FINGERPRINT"
  apt_source toolkit "$TOOLKIT_URL" "$TOOLKIT_SUITE" "$TOOLKIT_COMPONENTS" "$TOOLKIT_KEY" "$TOOLKIT_KEY_URL" "$TOOLKIT_KEY_FINGERPRINT"
  # The branch: the repository has all of them, and names its packages without it since 590. By source as NVIDIA's own pin,
  # because some of a driver's packages (libcuda1) do not have its name:
  # https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/version-locking.html
  put /etc/apt/preferences.d/gpucluster-nvidia 644 <<EOF
Package: src:*nvidia*:any src:cuda-drivers:any src:cuda-compat:any
Pin: version $DRIVER_BRANCH.*
Pin-Priority: 1001
EOF
  sources_changed=$changed changed=no
  put /etc/modprobe.d/gpucluster-nouveau.conf 644 <<EOF
blacklist nouveau
options nouveau modeset=0
EOF
  nouveau_changed=$changed
  case $KERNEL_MODULES in proprietary) package=cuda-drivers ;; *) package=nvidia-open ;; esac
  version=$(package_version "$package")
  case $version in
    "$DRIVER_BRANCH".*) ;;
    *) version='' ;;
  esac
  if [ -z "$version" ] || ! has nvidia-container-toolkit || [ "$sources_changed" = yes ]; then apt update; fi
  if [ -z "$version" ]; then
    if [ "$(secure_boot_off)" = no ]; then fail "Secure Boot is on and no machine owner key (MOK) is enrolled; enrol one (mokutil --import), or switch Secure Boot off in the firmware"; fi
    case $(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p') in
      "$DRIVER_BRANCH".*) ;;
      *) fail "$NVIDIA_URL offers no $package of the branch $DRIVER_BRANCH for $(distribution); choose another nvidia.driver" ;;
    esac
    say "NVIDIA driver $DRIVER_BRANCH"
    if [ ! -e "/lib/modules/$(uname -r)/build" ]; then install_packages "linux-headers-$(uname -r)"; fi
    install_packages "$package"
  fi
  if ! has nvidia-container-toolkit; then say "container toolkit"; install_packages nvidia-container-toolkit; fi
  fabric_manager
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
    [ "$AFTER_REBOOT" = no ] || fail "the NVIDIA driver does not run after a reboot: $(dmesg 2>/dev/null | grep -iE 'nvrm|nvidia|nouveau' | tail -n 3); an old GPU (before Turing) needs nvidia.kernelModules: proprietary"
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

# NVSwitch needs the fabric manager of exactly the driver's version.
fabric_manager() {
  for device in /sys/bus/pci/devices/*; do
    if [ "$(cat "$device/vendor" 2>/dev/null)" = 0x10de ] && grep -q '^0x0680' "$device/class"; then
      for package in "nvidia-fabricmanager-$DRIVER_BRANCH" nvidia-fabricmanager; do
        if has "$package"; then return; fi
        case $(apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: //p') in "$DRIVER_BRANCH".*) say "fabric manager"; install_packages "$package"; return ;; esac
      done
      fail "the machine has NVSwitches, and $NVIDIA_URL offers no nvidia-fabricmanager of the branch $DRIVER_BRANCH"
    fi
  done
}

secure_boot_off() {
  for file in /sys/firmware/efi/efivars/SecureBoot-*; do
    if [ -e "$file" ] && [ "$(od -An -t u1 "$file" | awk '{ last = $NF } END { print last }')" = 1 ]; then
      for key in /var/lib/shim-signed/mok/MOK.der /var/lib/dkms/mok.pub; do
        if [ -e "$key" ] && mokutil --test-key "$key" 2>/dev/null | grep -q 'already enrolled'; then printf yes; return; fi
      done
      printf no
      return
    fi
  done
  printf yes
}
