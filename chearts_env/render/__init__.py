"""Pictures of a table, drawn from what one seat knows and from nothing else."""
