#!/bin/sh
# Prints the section of CHANGELOG.md on a version, as in `.ci/changelog.sh v1.2.3`, without its heading.
set -eu

version="${1#v}"
section="$(awk -v heading="## [$version]" '
  /^## / { inside = index($0, heading) == 1; next }
  inside { print }' CHANGELOG.md)"
if [ -z "$section" ]; then
  echo "CHANGELOG.md: no section \"## [$version]\"; write it before you tag" >&2
  exit 1
fi
printf '%s\n' "$section"
