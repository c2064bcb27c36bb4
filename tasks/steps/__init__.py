"""Each stage as a Prefect task: load, work, save. Ids go in, counts come out, the rest stays in PostgreSQL.

A batch is one task, and what became of each row is a table of the run; a source has a task of its own.
"""

from tasks.steps.answering import answer
from tasks.steps.converting import convert_files
from tasks.steps.handover import hand_over, hand_to_index
from tasks.steps.indexing import catch_up_analyses, index_versions, reanalyse_versions, rebuild_index
from tasks.steps.polling import poll_sources
from tasks.steps.pruning import prune_polls, prune_runs, sweep_originals
from tasks.steps.reading import read_documents

__all__ = [
    "answer", "catch_up_analyses", "convert_files", "hand_over", "hand_to_index", "index_versions",
    "poll_sources", "prune_polls", "prune_runs", "read_documents", "reanalyse_versions", "rebuild_index",
    "sweep_originals",
]
