#!/bin/sh
# One power-on: enters the machine's cgroups, plugs in its network cable, mounts its disk and becomes systemd.
# Variables: NAME; FOLDER, the machine's folder; CONSOLE, a terminal; LOWER, overlay's lower folders; CGROUPS, lines "folder name options" of
# the machine's own cgroups; PORT, MAC and BRIDGE of the cable; LAN, the network namespace of the bridge.
set -eu

outside() {
  # The shell itself opens this file, so the first field is its process id outside of the machine.
  read -r pid _ < /proc/self/stat
  echo "$pid" > "$FOLDER/pid"
  # No pipe into the loop: it is this shell that enters.
  while read -r group _; do
    echo 0 > "$group/cgroup.procs"
  done <<EOF
$CGROUPS
EOF
  # What a power cut left of the old network namespace may live on for a moment.
  nsenter --net="$LAN" ip link delete "$PORT" 2>/dev/null || true
  ip link add eth0 address "$MAC" type veth peer name "$PORT" netns "$LAN"
  nsenter --net="$LAN" ip link set "$PORT" master "$BRIDGE" up
  hostname "$NAME"
  exec unshare --cgroup -- sh "$0" inside
}

inside() {
  root="$FOLDER/root"
  mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$FOLDER/upper,workdir=$FOLDER/work" "$root"
  cd "$root"
  mount -t proc proc proc
  kernel_settings
  mount -t sysfs sysfs sys
  mount --bind "$FOLDER/pci" sys/bus/pci/devices
  mount -o remount,bind,ro sys
  cgroups
  devices
  mount -t tmpfs -o mode=755 tmpfs run
  # containerd's overlays need a real file system below them; mounts of kubelet must reach the containers.
  mkdir -p var/lib/containerd var/lib/kubelet lab/images
  mount --bind "$FOLDER/containerd" var/lib/containerd
  mount --bind "$FOLDER/kubelet" var/lib/kubelet
  mkdir -p .outside
  pivot_root . .outside
  umount -l /.outside
  mount --make-rshared /
  exec env -i container=lab TERM=dumb SYSTEMD_COLORS=0 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --log-target=console --show-status=yes
}

# Settings of the one kernel are files of the machine, fresh at each boot: what it writes stays its own. /proc/sys/net is
# real, as it belongs to the machine's network namespace.
kernel_settings() {
  for each in abi debug dev fs kernel vm; do
    [ -d "/proc/sys/$each" ] || continue
    mount -t tmpfs -o mode=755 tmpfs "proc/sys/$each"
    cp -r "/proc/sys/$each/." "proc/sys/$each" 2>/dev/null || true # some can only be written
  done
  cat /proc/sys/kernel/random/uuid > proc/sys/kernel/random/boot_id
  echo "$NAME" > proc/sys/kernel/hostname
  [ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
  echo 0 > /proc/sys/net/ipv4/ip_forward # a new namespace may inherit the host's
}

cgroups() {
  if [ "$(echo "$CGROUPS" | wc -l)" -eq 1 ]; then
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    return
  fi
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  echo "$CGROUPS" | while read -r _ hierarchy options; do
    mkdir "sys/fs/cgroup/$hierarchy"
    if [ "$options" = cgroup2 ]; then
      mount -t cgroup2 cgroup2 "sys/fs/cgroup/$hierarchy"
    else
      mount -t cgroup -o "$options" cgroup "sys/fs/cgroup/$hierarchy"
    fi
  done
}

devices() {
  mount -t tmpfs -o mode=755 tmpfs dev
  for each in null zero full random urandom tty kmsg; do
    touch "dev/$each"
    mount --bind "/dev/$each" "dev/$each"
  done
  touch dev/console
  mount --bind "$CONSOLE" dev/console
  mkdir dev/pts dev/shm dev/mqueue
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
  mount -t tmpfs tmpfs dev/shm
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  ln -s /proc/self/fd/0 dev/stdin
  ln -s /proc/self/fd/1 dev/stdout
  ln -s /proc/self/fd/2 dev/stderr
}

"$1"
