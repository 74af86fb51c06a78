"""Reads Amazon's resources: EKS, EC2, Auto Scaling, and the roles that IAM gives to pods."""
