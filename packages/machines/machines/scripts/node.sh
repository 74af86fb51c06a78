# shellcheck shell=sh disable=SC2154
# On the control plane: the Node object of a machine. ACTION get (answers the object), set, drain,
# remove (drained), forget (not drained, for a machine that is off). MEMBER: no, or the address of the member of etcd that
# the last two remove as well; with one that nobody has, it is known by its name.
cordoned=gpucluster-machines/cordoned
main() {
  members=''
  if [ ! -e "$admin" ]; then
    member controlPlane no
    case $ACTION in remove | forget) answer; return ;; *) fail "the machine is no control plane (any more)" ;; esac
  fi
  # An address that several control planes share takes some seconds to move.
  until=$(($(date +%s) + 60))
  until kubectl --kubeconfig "$admin" get --raw /readyz >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || fail "the API server does not answer; look at it with: crictl ps -a, journalctl -u kubelet"
    sleep 2
  done
  case $ACTION in
    get)
      object=$(kubectl --kubeconfig "$admin" get node "$NODE_NAME" -o json --ignore-not-found | tr -d '\n')
      raw_member node "${object:-null}"
      ;;
    set)
      lock
      # shellcheck disable=SC2086
      if [ -n "$LABELS" ]; then run kubectl --kubeconfig "$admin" label node "$NODE_NAME" --overwrite $LABELS; fi
      for taint in $TAINTS; do run kubectl --kubeconfig "$admin" taint node "$NODE_NAME" --overwrite "$taint"; done
      for taint in $TAINTS_REMOVED; do kubectl --kubeconfig "$admin" taint node "$NODE_NAME" "$taint-" >>"$log" 2>&1 || :; done
      # Only what `drain` cordoned: somebody else may have done so for reasons of their own.
      if [ "$UNCORDON" = yes ] && [ -n "$(kubectl --kubeconfig "$admin" get node "$NODE_NAME" -o "jsonpath={.metadata.annotations['$cordoned']}")" ]; then
        run kubectl --kubeconfig "$admin" wait --for=condition=Ready --timeout=300s "node/$NODE_NAME"
        run kubectl --kubeconfig "$admin" uncordon "$NODE_NAME"
        run kubectl --kubeconfig "$admin" annotate node "$NODE_NAME" "$cordoned-"
      fi
      ;;
    forget) kubectl --kubeconfig "$admin" delete node "$NODE_NAME" --ignore-not-found >/dev/null ;;
    drain | remove)
      if [ -n "$(kubectl --kubeconfig "$admin" get node "$NODE_NAME" -o name --ignore-not-found)" ]; then
        drain
        if [ "$ACTION" = remove ]; then kubectl --kubeconfig "$admin" delete node "$NODE_NAME" --ignore-not-found >/dev/null; fi
      fi
      ;;
  esac
  case $MEMBER-$ACTION in
    no-* | *-get | *-set | *-drain) ;;
    *)
      lock
      run gpucluster-etcd remove "$NODE_NAME" "$MEMBER"
      ;;
  esac
  answer
}

# Unfinished pods on the node, with the kinds of their owners; the arguments select among them.
pods_here() {
  kubectl --kubeconfig "$admin" get pods -A --field-selector "spec.nodeName=$NODE_NAME,status.phase!=Succeeded,status.phase!=Failed" "$@" \
    -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.ownerReferences[*].kind}{"\n"}{end}'
}

# Notebook servers, by the labels that JupyterHub gives them; others without an owner are somebody's own.
# https://jupyterhub-kubespawner.readthedocs.io/en/latest/spawner.html
notebooks() { pods_here -l app=jupyterhub,component=singleuser-server | awk '{ printf "%s ", $1 }'; }
ownerless() { pods_here -l 'component!=singleuser-server' | awk 'NF == 1 { printf "%s ", $1 }'; }

# New pods go elsewhere; jobs that run end by themselves, and are never evicted.
drain() {
  pods=$(ownerless)
  [ -z "$pods" ] || fail "pods that no controller would start again run on $NODE_NAME: $pods; save what they have, delete them (kubectl delete pod), then run the command again"
  pods=$(notebooks)
  if [ -n "$pods" ]; then say "notebooks on $NODE_NAME are stopped once its jobs have ended: $pods"; fi
  if [ -z "$(kubectl --kubeconfig "$admin" get node "$NODE_NAME" -o 'jsonpath={.spec.unschedulable}')" ]; then
    kubectl --kubeconfig "$admin" annotate node "$NODE_NAME" --overwrite "$cordoned=yes" >/dev/null
    kubectl --kubeconfig "$admin" cordon "$NODE_NAME" >/dev/null
  fi
  until=$(($(date +%s) + DRAIN_SECONDS))
  while :; do
    jobs=$(kubectl --kubeconfig "$admin" get pods -A --field-selector "spec.nodeName=$NODE_NAME,status.phase=Running" -o 'jsonpath={range .items[?(@.metadata.ownerReferences[0].kind=="Job")]}{.metadata.namespace}/{.metadata.name} {end}')
    if [ -z "$jobs" ]; then break; fi
    [ "$(date +%s)" -lt "$until" ] || fail "jobs still run on $NODE_NAME: $jobs; wait for them or delete them, then run the command again (the node stays cordoned)"
    say "waiting for jobs: $jobs"
    sleep 10
  done
  # Their disruption budget refuses evictions, which autoscalers and upgrades of clouds ask for; this is an order.
  for pod in $(notebooks); do
    say "stopping the notebook $pod"
    kubectl --kubeconfig "$admin" -n "${pod%/*}" delete pod "${pod#*/}" --ignore-not-found --timeout="${DRAIN_SECONDS}s" >/dev/null ||
      fail "the notebook $pod does not stop; look at it with: kubectl -n ${pod%/*} describe pod ${pod#*/}"
  done
  output=$(kubectl --kubeconfig "$admin" drain "$NODE_NAME" --ignore-daemonsets --delete-emptydir-data --timeout="${DRAIN_SECONDS}s" 2>&1 9>&-) ||
    fail "$NODE_NAME cannot be drained: $(printf '%s' "$output" | grep -iE 'error|cannot|budget' | tail -n 5)"
}
