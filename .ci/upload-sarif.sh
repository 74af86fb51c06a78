#!/usr/bin/env bash
# Uploads a SARIF file to code scanning, with GH_TOKEN and what a GitHub runner sets:
# https://docs.github.com/en/rest/code-scanning/code-scanning#upload-an-analysis-as-sarif-data
set -euo pipefail

gzip --stdout "$1" | base64 --wrap 0 > "$1.base64"
gh api --method POST "repos/$GITHUB_REPOSITORY/code-scanning/sarifs" --silent \
  -f "commit_sha=$GITHUB_SHA" -f "ref=$GITHUB_REF" -F "sarif=@$1.base64"
