#!/usr/bin/env bash
# Opens or updates the issue on a stack's drift, build/drift.md, and closes it when that is empty. For drift.yml, with GH_TOKEN,
# GITHUB_REPOSITORY, STACK and RUN, the address of the run.
set -euo pipefail

title="Drift of stack $STACK"
issue() { gh issue "$@" --repo "$GITHUB_REPOSITORY"; }

listed="$(issue list --state all --label drift --limit 200 --json number,state,title \
  --jq ".[] | select(.title == \"$title\") | \"\(.number) \(.state)\"" | sed -n 1p)"
read -r number state <<< "$listed"
if [ ! -s build/drift.md ]; then
  if [ "$state" = OPEN ]; then
    issue close "$number" --comment "The stack and its cloud agree again: $RUN"
  fi
  exit 0
fi

{
  printf 'The next update of stack %s would change:\n\n' "$STACK"
  head -c 60000 build/drift.md
  printf '\nWhat to do: docs/ci.md#drift. Run: %s\n' "$RUN"
} > build/drift-issue.md
if [ -z "$number" ]; then
  gh label create drift --repo "$GITHUB_REPOSITORY" --force --description "A stack and its cloud differ"
  issue create --title "$title" --label drift --body-file build/drift-issue.md
else
  issue edit "$number" --body-file build/drift-issue.md
  if [ "$state" != OPEN ]; then
    issue reopen "$number"
  fi
fi
