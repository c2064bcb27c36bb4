"""``make bench-ranking``: the questions that you have judged, replayed with other weights; nDCG@10 of both.

Mark results with ``almanac search --judge QUESTION`` first. Weights: ``WEIGHTS="topic=0.2 freshness=0.05"``.
"""

import sys

from almanac.client import connect


def weights_of(arguments: list[str]) -> dict[str, float]:
    pairs = (argument.partition("=") for argument in arguments)
    return {name: float(value) for name, _, value in pairs}


def main() -> None:
    told = connect().replay_judgments(weights=weights_of(sys.argv[1:]))
    if not told["questions"]:
        sys.exit("No question has a result that was judged good: `almanac search --judge QUESTION` marks them.")
    changed = {name: value for name, value in told["weights"]["after"].items()
               if value != told["weights"]["before"][name]}
    print(f"after: {changed or 'the same weights'}\n\n| question | good | before | after |\n|---|---|---|---|")
    for each in sorted(told["questions"], key=lambda each: each["after"] - each["before"]):
        print(f"| {each['query'][:80]} | {each['good']} | {each['before']:.3f} | {each['after']:.3f} |")
    mean = told["ndcg_at_10"]
    print(f"| **mean nDCG@10 of {len(told['questions'])}** | | {mean['before']:.3f} | {mean['after']:.3f} |")


if __name__ == "__main__":
    main()
