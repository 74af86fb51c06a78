"""Day two: settings change while a job runs on a GPU node."""
