"""EC2 instances that join the cluster on their own: started by Karpenter or others, outside of a node group.

``node_joiner.py`` watches the account's instances. What one boots is in its image (``images.py``) and user data
(``user_data.py``), whether it gets to the API server and is let in in ``joining.py``, and what its kubelet then
registers in ``node.py``. Each asks EC2 and IAM as they are, never the NodePool that an instance was made for.
"""
