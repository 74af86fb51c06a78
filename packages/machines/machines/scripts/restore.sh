# shellcheck shell=sh disable=SC2154
# Packages, holds, files, units and firewall as they were before the first phase. Without a snapshot there is nothing to do.
main() {
  lock
  members=''
  if [ ! -e "$state/snapshot/done" ]; then
    rm -rf "$state"
    answer
    return
  fi
  record_packages
  # First: while a repository has two sources with different keys, apt removes no packages either.
  give_back /etc/apt/
  say "packages"
  if [ -s "$state/ufw" ]; then
    while read -r line; do
      # shellcheck disable=SC2086
      ufw_delete $line
    done <"$state/ufw"
  fi
  for package in kubelet kubeadm kubectl $(cat "$state/holds" 2>/dev/null || :); do
    if ! grep -qx "$package" "$state/snapshot/holds"; then apt-mark unhold "$package" >>"$log" 2>&1 || :; fi
  done
  remove=''
  for package in $(sort -u "$state/installed" | comm -23 - "$state/snapshot/packages"); do if has "$package"; then remove="$remove $package"; fi; done
  keep_what_others_need
  # shellcheck disable=SC2086
  if [ -n "$remove" ]; then apt purge --allow-change-held-packages $remove; fi
  if ! grep -qxE 'containerd(-[a-z0-9]+)?' "$state/snapshot/packages"; then
    awk 'index($2, "/var/lib/containerd/") == 1 || index($2, "/run/containerd/") == 1 { print $2 }' /proc/mounts | sort -r | while read -r mounted; do umount -l "$mounted" || :; done
    for folder in /var/lib/containerd /run/containerd /opt/cni /opt/containerd; do
      if grep -qsxF "$folder" "$state/snapshot/folders"; then continue; fi # of a containerd that no package brought
      if [ -d "$folder" ]; then find "$folder" -xdev -mindepth 1 -delete 2>>"$log" || :; rmdir "$folder" 2>/dev/null || :; fi
    done
  fi
  say "files"
  give_back /
  if [ -e "$state/folders" ]; then sort -r "$state/folders" | while read -r folder; do rmdir "$folder" 2>/dev/null || :; done; fi
  run systemctl daemon-reload
  while read -r unit enabled active; do
    case $enabled in disabled) systemctl disable "$unit" ;; enabled) systemctl enable "$unit" ;; esac >>"$log" 2>&1 || :
    case $active in inactive) systemctl stop "$unit" ;; active) systemctl restart "$unit" ;; esac >>"$log" 2>&1 || :
  done <"$state/snapshot/units"
  cat "$state/snapshot/ip_forward" >/proc/sys/net/ipv4/ip_forward
  if [ -e "$state/swap" ]; then run swapon -a; fi
  apt update
  if grep -q '^nvidia ' /proc/modules 2>/dev/null; then say "the NVIDIA module stays loaded until the next boot"; fi
  rm -rf "$state"
  answer
}

# apt takes away what depends on a package of ours as well. What the owner installed since needs those: they stay.
keep_what_others_need() {
  while [ -n "$remove" ] && [ -n "$(others_removed "$remove")" ]; do
    kept=no
    for package in $remove; do
      others=$(others_removed "$package")
      if [ -z "$others" ]; then continue; fi
      say "$package stays, because it is needed by $others"
      kept=yes
      # shellcheck disable=SC2086
      remove=$(printf '%s\n' $remove | grep -vxF "$package" | tr '\n' ' ' || :)
    done
    if [ "$kept" = no ]; then fail "apt would also remove $(others_removed "$remove"); remove these packages, or those of $state/installed, yourself"; fi
  done
}
# Packages of others that go with these.
others_removed() {
  # shellcheck disable=SC2086
  simulated=$(apt-get -s -q purge --allow-change-held-packages $1 2>>"$log" || :)
  printf '%s\n' "$simulated" | awk '$1 == "Remv" || $1 == "Purg" { print $2 }' | sort -u >"$state/removed"
  # shellcheck disable=SC2086
  printf '%s\n' $remove | sort | comm -13 - "$state/removed" | tr '\n' ' ' | sed 's/ $//'
}
