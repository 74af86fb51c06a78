#!/bin/sh
# UNIT is enabled, and started if systemd runs here; without GPUs it fails, which is no reason to fail the package.
set -eu
if [ "$1" = configure ]; then
  systemctl --quiet enable UNIT
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl start UNIT || echo "UNIT did not start" >&2
  fi
fi
