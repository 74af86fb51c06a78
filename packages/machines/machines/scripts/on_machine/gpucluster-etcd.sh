#!/bin/sh
# Snapshots of etcd on a control plane, of which the newest are kept: gpucluster-etcd save | list | restore FILE
# Members of etcd, where there are several: gpucluster-etcd members | remove NAME ADDRESS
# Restoring stops the control plane for a minute; pods go on. https://etcd.io/docs/v3.6/op-guide/recovery/
set -eu
umask 077
PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY # kubectl and curl would ask it
folder=/var/lib/gpucluster-machines/etcd keep=7
manifests=/etc/kubernetes/manifests stopped=/etc/kubernetes/gpucluster-stopped data=/var/lib/etcd
pods='etcd kube-apiserver kube-controller-manager kube-scheduler'

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
runtime() { crictl --timeout 60s --runtime-endpoint unix:///run/containerd/containerd.sock "$@"; }
running() { runtime ps -q --name "^$1\$"; }
argument() { sed -n "s/^ *- --$1=//p" "$manifests/etcd.yaml"; }

etcdctl() {
  container=$(running etcd | head -n 1)
  [ -n "$container" ] || fail "etcd does not run here; look at: crictl ps -a, journalctl -u kubelet"
  runtime exec "$container" etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt \
    --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key "$@"
}

# One that was added and never started has no name yet.
remove() {
  members=$(etcdctl member list)
  id=$(printf '%s\n' "$members" | awk -F', ' -v name="$1" -v peer="https://$2:2380" '$3 == name || $4 == peer { print $1; exit }')
  [ -n "$id" ] || return 0
  until=$(($(date +%s) + 60))
  # Refused while another member has just left.
  until etcdctl member remove "$id" >&2; do
    [ "$(date +%s)" -lt "$until" ] || fail "etcd does not remove its member $1; look at: gpucluster-etcd members"
    sleep 3
  done
}

# Other members of etcd that answer: they would go on with what a restore takes back.
others() {
  if [ -z "$(running etcd)" ]; then return; fi
  etcdctl member list --consistency=s | awk -F', ' -v own="$(argument name)" '$3 != own { print $4 }' | while read -r each; do
    code=0
    curl --silent --insecure --connect-timeout 3 --max-time 5 --output /dev/null "$each" || code=$?
    case $code in 7 | 28) ;; *) printf '%s ' "$each" ;; esac
  done
}

save() {
  mkdir -p "$folder"
  name=$(date -u +%Y%m%dT%H%M%SZ).db
  rm -f "$data"/*.db "$data"/*.db.part
  etcdctl snapshot save "$data/$name" >&2
  chmod 600 "$data/$name"
  mv "$data/$name" "$folder/$name"
  find "$folder" -name '*.db' | sort -r | tail -n +$((keep + 1)) | while read -r old; do rm -f "$old"; done
  printf '%s\n' "$folder/$name"
}

start() {
  if [ -d "$stopped" ]; then
    find "$stopped" -name '*.yaml' -exec mv {} "$manifests/" \;
    rmdir "$stopped"
  fi
}

restore() {
  [ -s "$1" ] || fail "$1 is no snapshot; gpucluster-etcd list shows them"
  others=$(others)
  [ -z "$others" ] || fail "etcd also answers at $others: a restore is for one control plane. Write the first alone in adminPool.machines and run pulumi up, or switch the others off; then try again"
  exec 9>/var/lib/gpucluster-machines/lock
  flock -w 900 9 || fail "a phase of the program runs on this machine; try again later"
  trap start EXIT
  start # what an interrupted restore has stopped
  rm -rf "$data/restored" "$data"/*.db
  cp "$1" "$data/restore.db"
  say "making etcd's data from $1"
  ctr --namespace k8s.io run --rm --mount "type=bind,src=$data,dst=$data,options=rbind:rw" \
    "$(sed -n 's/^ *image: //p' "$manifests/etcd.yaml")" "gpucluster-restore-$$" \
    etcdutl snapshot restore "$data/restore.db" --data-dir "$data/restored" --name "$(argument name)" \
    --initial-cluster "$(argument name)=$(argument initial-advertise-peer-urls)" \
    --initial-advertise-peer-urls "$(argument initial-advertise-peer-urls)" \
    --bump-revision 1000000000 --mark-compacted >&2 9>&- # so that nobody goes on from what no longer happened
  say "stopping the control plane"
  mkdir -p "$stopped"
  for pod in $pods; do mv "$manifests/$pod.yaml" "$stopped/"; done
  for pod in $pods; do
    until=$(($(date +%s) + 120))
    while [ -n "$(running "$pod")" ]; do
      [ "$(date +%s)" -lt "$until" ] || fail "$pod does not stop; is kubelet running? Nothing has been replaced"
      sleep 1
    done
  done
  rm -rf "$folder/member-before-restore"
  mv "$data/member" "$folder/member-before-restore"
  mv "$data/restored/member" "$data/member"
  rm -rf "$data/restored" "$data/restore.db"
  say "starting it"
  start
  until=$(($(date +%s) + 300))
  until kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || fail "the API server does not answer; what was there is in $folder/member-before-restore"
    sleep 2
  done
  say "restored from $1; what was there before is in $folder/member-before-restore"
}

case "${1:-} $#" in
  'save 1') save ;;
  'list 1') find "$folder" -name '*.db' 2>/dev/null | sort ;;
  'restore 2') restore "$2" ;;
  'members 1') etcdctl member list ;;
  'remove 3') remove "$2" "$3" ;;
  *) fail "usage: gpucluster-etcd save | list | restore FILE | members | remove NAME ADDRESS" ;;
esac
