"""EC2 instances that become nodes by themselves: what Karpenter, or anybody else, starts outside of a node group.

``bridge.py`` watches the account's instances. What one would boot is in its image (``images.py``) and user data
(``user_data.py``), whether it gets to the API server and is let in in ``joining.py``, and what its kubelet then
registers in ``node.py``. Each asks EC2 and IAM as they are, never the NodePool that an instance was made for.
"""
