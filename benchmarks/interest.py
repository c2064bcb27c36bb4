"""``make bench-interest``: what the mode "interesting" would read of items labelled by hand, for five owners.

For each threshold: how many of the items that an owner wants are read, and how many of those that are read are wanted;
without the share that is kept for exploration. Beside it the average precision of the order, and that of words alone.
"""

import json
import statistics
from pathlib import Path

from tasks.discover import interest
from tasks.discover.interest import Interest, judge, share, words
from tasks.embed.minilm import MiniLM

SET = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
THRESHOLDS = (0.20, 0.25, 0.30, 0.35, 0.40)


def average_precision(scores: list[float], wanted: list[bool]) -> float:
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    hits = [place for place, at in enumerate(order, 1) if wanted[at]]
    return statistics.mean(number / place for number, place in enumerate(hits, 1))


def main() -> None:
    model, texts = MiniLM(), [f"{title}. {summary}" for _, title, summary in SET["items"]]
    scores, wanted, orders, by_words = [], [], [], []
    for profile in SET["profiles"]:
        interests = [Interest(topic, weight) for topic, weight in profile["interests"]]
        own = [judgement.score for judgement in judge(texts, interests, model)]
        mine = [label in profile["wants"] for label, _, _ in SET["items"]]
        alone = [max(share(words(it.topic), words(text)) for it in interests) for text in texts]
        orders.append(average_precision(own, mine))
        by_words.append(average_precision(alone, mine))
        scores += own
        wanted += mine
    print(f"{len(texts)} items, {len(orders)} owners, {sum(wanted)} wanted; mean average precision "
          f"{statistics.mean(orders):.3f}, of words alone {statistics.mean(by_words):.3f}")
    for threshold in THRESHOLDS:
        read = [want for score, want in zip(scores, wanted, strict=True) if score >= threshold]
        mark = "  (in force)" if threshold == interest.NEAR else ""
        print(f"  from {threshold:.2f}: reads {sum(read) / sum(wanted):.0%} of the wanted; of what it reads "
              f"{sum(read) / len(read):.0%} are; {len(read) / len(scores):.0%} of all items{mark}")


if __name__ == "__main__":
    main()
