"""Other weights tried on an answer: how its order would change, what judged questions say, and saving."""

from collections.abc import Mapping

import streamlit as st
from markupsafe import Markup

from almanac.client import Json
from dashboards.connection import library, trouble_told
from dashboards.excerpt import MEANINGS, legend, pieces
from dashboards.states import BAD, GOOD, PARTS, QUIET, spoken, toned
from dashboards.words import counted, joined, markup, shown

STEP = 0.05
SAVED = "weights-saved"


def show(found: Json, number: int) -> None:
    """Sliders, in the address as ``?w-similarity=…``; nothing is kept before the button is pressed."""
    base = dict(found["weights"])
    if found["recent"]:
        base["freshness"] /= 2  # as it is for other questions
    if saved := st.session_state.pop(SAVED, None):
        shown(markup('<p role="status">{}</p>', toned(GOOD, saved)))
    with st.expander("Try other weights", key="weights", on_change="rerun") as opened:
        if not opened.open:
            return
        shown(markup('<p class="quiet">Move a weight and see how these excerpts would stand. '
                     "Answers go on being ranked as before until you save.</p>"))
        tried = sliders(base)
        changes = {name: weight for name, weight in tried.items() if abs(weight - base[name]) > 1e-6}
        shown(order(found, tried, number))
        decide(changes)


def sliders(base: Mapping[str, float]) -> dict[str, float]:
    places = [column for _ in range(2) for column in st.columns(3)]
    return {
        name: place.slider(
            spoken(name).capitalize(), 0.0, 1.0, round(base[name], 2), STEP, key=f"w-{name}",
            bind="query-params", help=MEANINGS[name])
        for place, name in zip(places, MEANINGS, strict=True)
    }


def order(found: Json, tried: Mapping[str, float], number: int) -> Markup:
    """The excerpts and those that were passed over, as the tried weights would order them."""
    now = found["weights"]
    weights = dict(tried) | ({"freshness": 2 * tried["freshness"]} if found["recent"] else {})
    everyone = [*found["excerpts"], *found["dropped"]]
    scores = {it["label"]: rescored(it["score"], now, weights) for it in everyone}
    ranked = sorted(everyone, key=lambda it: -scores[it["label"]]["total"])
    before = {it["label"]: place for place, it in enumerate(
        sorted(everyone, key=lambda it: -it["score"]["total"]), 1)}
    rows = joined(
        markup('<tr class="{}"><td class="number">{}</td><td>{}</td><th scope="row" dir="auto">{}'
               "<small>{} <bdi>{}</bdi></small></th><td>{}</td><td class=\"number\">{:.3f}</td></tr>",
               "in" if place <= number else "out", place, moved(before[it["label"]] - place),
               it["citation"]["title"] or it["citation"]["url"], it["label"], it["citation"]["source"],
               pieces(scores[it["label"]], weights), scores[it["label"]]["total"])
        for place, it in enumerate(ranked, 1))
    return markup(
        '<table class="order"><thead><tr><th scope="col">Place</th><th scope="col">Moves</th>'
        '<th scope="col">Excerpt</th><th scope="col">{}</th><th scope="col">Score</th></tr></thead>'
        "<tbody>{}</tbody></table>", legend(), rows)


def rescored(parts: Mapping[str, float], now: Mapping[str, float],
             weights: Mapping[str, float]) -> dict[str, float]:
    """The parts with the total that other weights make of them."""
    was = now["recently_used"]
    off = parts["recently_used"] * (weights["recently_used"] / was if was else 0.0)
    total = sum(weights[name] * parts[name] for name in PARTS if name != "recently_used") - off
    return dict(parts) | {"recently_used": off, "total": max(total, 0.0)}


def moved(places: int) -> Markup:
    if not places:
        return toned(QUIET, "stays")
    return toned(GOOD if places > 0 else BAD, f"{'up' if places > 0 else 'down'} {abs(places)}")


def decide(changes: Mapping[str, float]) -> None:
    """Whether the judged questions get better answers with them; and the click that keeps them."""
    with st.container(horizontal=True, gap="small"):
        replay = st.button("Replay the judged questions", key="replay", disabled=not changes)
        st.button("Save these weights", key="save-weights", type="primary", disabled=not changes,
                  on_click=save, args=(dict(changes),))
    if replay:
        with trouble_told(), st.spinner("Asking the judged questions again …"):
            shown(replayed(library().replay_judgments(weights=dict(changes))))


def save(changes: dict[str, float]) -> None:
    with trouble_told():
        library().set_ranking(weights=changes)
        st.session_state[SAVED] = "The weights are saved: every answer is ranked so from now on."


def replayed(told: Json) -> Markup:
    """The mean before and after, then each question that changed."""
    if not told["questions"]:
        return markup('<p class="quiet">No question has an excerpt that was judged to answer it: press '
                      "“It answers” below one, here and for other questions.</p>")
    before, after = told["ndcg_at_10"]["before"], told["ndcg_at_10"]["after"]
    tone, words = ((QUIET, "as good as now") if abs(after - before) < 5e-4 else
                   (GOOD, "better than now") if after > before else (BAD, "worse than now"))
    changed = [it for it in told["questions"] if abs(it["after"] - it["before"]) >= 5e-4]
    return markup('<div class="replay" role="status"><p>{} nDCG@10 over {}: <b class="number">{:.3f}</b>, '
                  'now <b class="number">{:.3f}</b> (1 is perfect)</p>{}</div>', toned(tone, words),
                  counted(len(told["questions"]), "judged question"), after, before,
                  questions(changed) if changed else "")


def questions(changed: list[Json]) -> Markup:
    """Those that lose first."""
    rows = joined(
        markup('<tr><th scope="row" dir="auto">{}</th><td class="number">{:.3f}</td>'
               '<td class="number">{:.3f}</td></tr>', it["query"], it["before"], it["after"])
        for it in sorted(changed, key=lambda it: it["after"] - it["before"]))
    return markup('<table class="ranks"><thead><tr><th scope="col">Question that changes</th>'
                  '<th scope="col">Now</th><th scope="col">Then</th></tr></thead>'
                  "<tbody>{}</tbody></table>", rows)
