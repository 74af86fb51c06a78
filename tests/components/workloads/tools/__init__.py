"""What runs on the admin pool for people, on each cloud."""
