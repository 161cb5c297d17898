"""What turns context into output."""
