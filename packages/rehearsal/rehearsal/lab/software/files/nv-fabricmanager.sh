#!/bin/sh
# Simulated. Like the real one it ends at once where the machine has no NVSwitch (a PCI bridge of NVIDIA, class 0x0680).
set -eu
for device in /sys/bus/pci/devices/*; do
  if [ "$(cat "$device/vendor")" = 0x10de ]; then
    case "$(cat "$device/class")" in
      0x0680*) exec sleep infinity ;;
    esac
  fi
done
echo "NV_WARN_NOTHING_TO_DO: no NVSwitch on this machine" >&2
exit 1
