#!/bin/sh
# Starts NVIDIA's device plugin on a node whose container runtime gives a container the GPUs that a variable of it names,
# also one that its image or its author sets to "all". From here on the runtime reads the list from mounts, which only the
# kubelet makes: https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details (DEVICE_LIST_STRATEGY).
# A container that starts again keeps what its pod was given, so a node with such pods stays as it is.
set -eu
PATH="$PATH:/busybox"
file=/etc/nvidia-container-runtime/config.toml
by_mounts() {
  grep -q '^accept-nvidia-visible-devices-as-volume-mounts = true' "$file" &&
    grep -q '^accept-nvidia-visible-devices-envvar-when-unprivileged = false' "$file"
}
strategy=envvar
if [ -s "$file" ]; then
  # https://github.com/kubernetes/kubernetes/blob/v1.36.2/pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go
  if by_mounts; then
    :
  elif grep -qs '"ResourceName":"nvidia.com/' /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint; then
    echo "pods with GPUs are on this node: until it ends, a variable names a container's GPUs, also one of its image" >&2
  else
    # Keys of no table stand first in a file of TOML.
    if {
      echo 'accept-nvidia-visible-devices-as-volume-mounts = true'
      echo 'accept-nvidia-visible-devices-envvar-when-unprivileged = false'
      grep -v '^[# ]*accept-nvidia-visible-devices-' "$file"
    } >"$file.new"; then mv "$file.new" "$file"; else echo "$file cannot be written: a variable names a container's GPUs" >&2; fi
  fi
  if by_mounts; then strategy=volume-mounts; fi
fi
exec nvidia-device-plugin --device-list-strategy="$strategy"
