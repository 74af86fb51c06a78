"""AWS as controllers in the cluster see it: one server on this machine, with moto's state behind it."""
