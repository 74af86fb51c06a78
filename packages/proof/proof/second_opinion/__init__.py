"""What Checkov, a scanner that nobody of this project wrote, says about the resources that a stack declares."""
