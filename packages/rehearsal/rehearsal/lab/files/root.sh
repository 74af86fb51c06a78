#!/bin/sh
# mmdebstrap's customize hook: $1 is the new root. A minimal server with one administrator, and nothing of one machine.
set -eu
chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 ubuntu
printf 'ubuntu ALL=(ALL) NOPASSWD:ALL\n' > "$1/etc/sudoers.d/90-ubuntu"
chmod 0440 "$1/etc/sudoers.d/90-ubuntu"
chroot "$1" systemctl --quiet enable systemd-networkd.service ssh.service
# Each machine gets its own keys, identity, name and package sources.
rm -f "$1"/etc/ssh/ssh_host_* "$1/etc/machine-id" "$1/var/lib/dbus/machine-id" "$1/etc/hostname"
rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*
