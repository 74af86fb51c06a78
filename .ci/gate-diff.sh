#!/usr/bin/env bash
# Fails if a pull request loosens the gate, unless an owner labelled it after its last push. For checks.yml, with BASE, NUMBER,
# GH_TOKEN, GITHUB_REPOSITORY and GITHUB_RUN_ID.
set -euo pipefail

label=gate-loosened-on-purpose
if looser="$(make --silent gate-diff BASE="$BASE")"; then
  echo "The gate is as strict as on $BASE."
  exit 0
fi
[ -n "$looser" ] || exit 1 # the comparison itself failed
printf 'This pull request loosens the gate:\n%s\n' "$looser"

last="$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$NUMBER/events" --jq \
  ".[] | select(.label.name == \"$label\") | if .event == \"labeled\" then \"\(.actor.login) \(.created_at)\" else \"\" end" \
  | tail -n 1)"
read -r actor labelled <<< "$last"
if [ -z "$actor" ]; then
  echo "If that is on purpose, an owner adds the label $label and runs this job again."
  exit 1
fi
# A run is created by a push, and running it again leaves that time as it is. Both times are in UTC, as in 2026-01-31T12:00:00Z.
pushed="$(gh api "repos/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID" --jq .created_at)"
if [[ "$labelled" < "$pushed" ]]; then
  echo "The label $label is older than the last push: an owner removes it, adds it again and runs this job again."
  exit 1
fi
role="$(gh api "repos/$GITHUB_REPOSITORY/collaborators/$actor/permission" --jq .role_name)"
case "$role" in
  admin | maintain) echo "$actor ($role) agreed with the label $label." ;;
  *)
    echo "$actor added the label $label and is no owner: the role is $role, and has to be admin or maintain."
    exit 1
    ;;
esac
