#!/bin/sh
# Prints the credentials with which Google's libraries exchange an OIDC token in the file $1 for a service account's, by
# GCP_WORKLOAD_IDENTITY_PROVIDER and GCP_SERVICE_ACCOUNT. For pipelines without google-github-actions/auth. The format:
# https://cloud.google.com/iam/docs/workload-identity-federation-with-deployment-pipelines
set -eu

cat << END
{
  "type": "external_account",
  "audience": "//iam.googleapis.com/$GCP_WORKLOAD_IDENTITY_PROVIDER",
  "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
  "token_url": "https://sts.googleapis.com/v1/token",
  "service_account_impersonation_url":
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/$GCP_SERVICE_ACCOUNT:generateAccessToken",
  "credential_source": {"file": "$1"}
}
END
