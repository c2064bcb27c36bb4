"""Keep what is kept of the past small, and true."""

from prefect import flow

from flows.parameters import Count
from tasks import steps


@flow(persist_result=False)
async def maintain(
    run_days: Count | None = None, runs: Count | None = None, poll_days: Count | None = None,
    analyses: Count = 100,
) -> None:
    """Delete old runs with all that belongs to them, old looks at sources, and bytes that lead nowhere;
    analyse what an upgrade left.

    Args:
        run_days: days that a run is kept after its end; none: ALMANAC_KEEP_RUNS_DAYS
        runs: runs of a deployment that are kept at most; none: ALMANAC_KEEP_RUNS
        poll_days: days that a look at a source is kept; none: ALMANAC_KEEP_POLLS_DAYS
        analyses: versions that are analysed at most, of those that nobody has, or only an earlier release
    """
    await steps.prune_polls(poll_days)
    await steps.sweep_originals()
    await steps.prune_runs(run_days, runs)
    await steps.catch_up_analyses(analyses)
