"""What we do: plain functions by stage. No Prefect (but ``steps``), no settings, no "if embedded"."""
