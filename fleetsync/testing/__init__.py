"""What tests and demonstrations of fleetsync, ours or others', may use."""
