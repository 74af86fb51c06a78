"""What AWS refuses, one named rule each."""
