"""The inside of the examiner: a process that imports Great Expectations and judges until its pipe closes.

Each question is one line of JSON with the ``expectations`` (kind and arguments) and the ``columns``; each
answer one line with the ``refused`` rows of each, or with ``failed``.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

ROW = "row"
FORMAT = {"result_format": "COMPLETE", "unexpected_index_column_names": [ROW],
          "return_unexpected_index_query": False}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        examination = Examination()
    except Exception as error:
        tell(answers, {"failed": f"{type(error).__name__}: {error}"})
        raise SystemExit(1) from error
    tell(answers, {"ready": True})
    for line in sys.stdin:
        question = json.loads(line)
        try:
            told: dict[str, Any] = {
                "refused": examination.refused(question["expectations"], question["columns"])}
        except Exception as error:
            told = {"failed": f"{type(error).__name__}: {error}"}
        tell(answers, told)


def tell(answers: Any, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class Examination:
    """One ephemeral context, used by one thread: shared ones name wrong rows."""

    def __init__(self) -> None:
        import great_expectations as gx
        import pandas as pd
        from great_expectations.data_context.types.base import ProgressBarsConfig
        from great_expectations.expectations.registry import get_expectation_impl

        self._frame, self._suite, self._kind = pd.DataFrame, gx.ExpectationSuite, get_expectation_impl
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
        asset = context.data_sources.add_pandas("almanac").add_dataframe_asset("batch")
        self._batch = asset.add_batch_definition_whole_dataframe("batch")

    def refused(
        self, expectations: Sequence[tuple[str, Mapping[str, Any]]], columns: Mapping[str, Sequence[Any]]
    ) -> list[list[int]]:
        """The rows that do not meet each expectation. Raises when one of them could not be judged at all."""
        frame = self._frame(columns)
        frame[ROW] = range(len(frame))
        suite = self._suite(name="batch", expectations=[
            self._kind(kind)(**arguments, meta={"at": at})
            for at, (kind, arguments) in enumerate(expectations)])
        result = self._batch.get_batch({"dataframe": frame}).validate(suite, result_format=FORMAT)
        found: dict[int, list[int]] = {}
        for each in result.results:
            asked: Any = each.expectation_config
            rows = each.result.get("unexpected_index_list", [] if each.success else None)
            if rows is None:
                raise ValueError(f"{asked.type} of the column {asked.kwargs['column']}")
            found[asked.meta["at"]] = [int(row[ROW]) for row in rows]
        return [found[at] for at in range(len(expectations))]


if __name__ == "__main__":
    main()
