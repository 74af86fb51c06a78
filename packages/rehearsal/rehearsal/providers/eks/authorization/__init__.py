"""IAM: roles, callers, and the permissions that each request needs, after AWS's Service Authorization Reference.

https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
"""
