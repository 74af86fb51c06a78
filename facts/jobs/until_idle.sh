# shellcheck shell=sh
idle=0
while [ "$idle" -lt "$1" ]; do
  sleep 10 & wait $!
  idle=$((idle + 10))
  for process in /proc/[0-9]*; do
    name=$(cat "$process/comm" 2>/dev/null) || continue
    case $name in sh|bash|dash|zsh|fish|busybox|sleep|tee|cat) ;; *) idle=0 ;; esac
  done
  # A terminal's times change with what is typed and printed.
  if [ -n "$(find /dev/pts -name '[0-9]*' -mmin -1 2>/dev/null)" ]; then idle=0; fi
done
