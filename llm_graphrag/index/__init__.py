"""What is computed from the source tables to find things by: vectors of passages and names."""
