"""Who may make which call: each request as the rights that it needs, after AWS's Service Authorization Reference.

https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
One module per group of services says what a request needs; ``judge`` holds that against the caller's policies. A
request that no module knows is refused: a right that nobody wrote down is a right that nobody checked.

Not here: service control policies, session policies, resource policies (a queue's, a key's).
"""
