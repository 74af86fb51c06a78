"""IAM: roles, callers, and the permissions that each request needs, after AWS's Service Authorization Reference.

https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
One module per group of services lists what a request needs; ``evaluation`` checks the caller's policies. A
request that no module knows is refused, because its permissions cannot be checked.

Not here: service control policies, session policies, resource policies (a queue's, a key's).
"""
