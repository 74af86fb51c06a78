#!/bin/sh
# A machine's power supply: runs its PID 1, again after a reboot, until it is powered off or loses power.
# Started in the LAN's network namespace, with the variables that boot.sh names. $1: boot.sh.
set -u
LAN="/proc/$$/ns/net"
export LAN
while :; do
  unshare --mount --pid --uts --ipc --net --propagation private --fork --kill-child -- sh "$1" outside
  code=$?
  # reboot(2) in a PID namespace ends its PID 1 by SIGHUP for a restart, by SIGINT for power off
  # (https://man7.org/linux/man-pages/man2/reboot.2.html).
  [ "$code" -eq 129 ] || exit "$code"
  echo "--- reboot"
  echo "$CGROUPS" | while read -r folder _; do
    find "$folder" -mindepth 1 -depth -type d -exec rmdir {} +
  done
done
