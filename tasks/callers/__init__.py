"""Who may come in, and what they may read and write."""
