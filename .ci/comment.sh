#!/usr/bin/env bash
# Posts the reports of a pull request's run as one comment, or edits that comment. For .github/workflows/comment.yml, with
# GH_TOKEN, GITHUB_REPOSITORY, and RUN_ID and HEAD_SHA from its event. The reports may be anybody's: they are checked text.
set -euo pipefail

marker='<!-- gpucluster-preview -->'
most=60000 # bytes of the comment; GitHub refuses more than 65,536 characters
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "comment: $1" >&2
  exit 1
}

size="$(gh api "repos/$GITHUB_REPOSITORY/actions/runs/$RUN_ID/artifacts?per_page=100" \
  --jq '[.artifacts[] | select(.name | startswith("pr-")) | .size_in_bytes] | add // 0')"
if [ "$size" -eq 0 ]; then
  echo "comment: the run left no report"
  exit 0
fi
[ "$size" -le 1000000 ] || fail "the reports have $size bytes, at most 1000000 are downloaded"
gh run download "$RUN_ID" --repo "$GITHUB_REPOSITORY" --pattern 'pr-*' --dir "$folder/run"
[ -z "$(find "$folder/run" -type l)" ] || fail "a report is a link"
compgen -G "$folder/run/*/*.md" > /dev/null || fail "the run failed before it wrote a report"

number="$(head -q -c 20 "$folder"/run/*/pr-number | sort -u)"
[[ "$number" =~ ^[1-9][0-9]{0,8}$ ]] || fail "the run names no pull request by its number"
head="$(gh api "repos/$GITHUB_REPOSITORY/pulls/$number" --jq .head.sha)"
[ "$head" = "$HEAD_SHA" ] || fail "pull request $number is at $head, and the run was of $HEAD_SHA"

{
  printf '%s\n' "$marker"
  printf 'Reports on %s, written by the code of this pull request.\n' "$HEAD_SHA"
  for report in "$folder"/run/*/*.md; do
    printf '\n'
    # No report can notify people; an HTML entity of @ would: https://github.com/github/cmark-gfm/issues/181
    head -c "$most" "$report" | iconv -c -f utf-8 -t utf-8 | sed 's/&\(#\|commat\)/\&amp;\1/g; s/@/@\xe2\x80\x8b/g'
  done
} > "$folder/whole"
if [ "$(wc -c < "$folder/whole")" -gt "$most" ]; then
  { head -c "$most" "$folder/whole" | iconv -c -f utf-8 -t utf-8; printf '\n\n… shortened\n'; } > "$folder/body"
else
  mv "$folder/whole" "$folder/body"
fi

comments="repos/$GITHUB_REPOSITORY/issues/$number/comments"
id="$(gh api --paginate "$comments" --jq \
  ".[] | select(.user.login == \"github-actions[bot]\" and (.body | startswith(\"$marker\"))) | .id" | sed -n 1p)"
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" -F "body=@$folder/body" --silent
else
  gh api --method POST "$comments" -F "body=@$folder/body" --silent
fi
