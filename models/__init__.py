"""What we know: tables, values and the database session. Imports nothing of ours."""
