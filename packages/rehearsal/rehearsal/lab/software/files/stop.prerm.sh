#!/bin/sh
set -eu
if [ "$1" = remove ]; then
  systemctl --quiet disable UNIT
  if [ -d /run/systemd/system ]; then
    systemctl stop UNIT
  fi
fi
