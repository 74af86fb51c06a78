"""What every part of the simulated AWS account works with: the account itself, its errors, requests and rows."""
