"""One document's freshness: what its scores were, and what its age will make of them."""

from markupsafe import Markup

from almanac.client import Json
from dashboards.charts import stack
from dashboards.connection import library, trouble_told
from dashboards.curves import curve, dot, draw
from dashboards.states import GOOD, PARTS, QUIET, TYPES, spoken, swatch, toned
from dashboards.words import ago, counted, day, joined, lasting, link, markup, shown, to_screen


def show(document_id: str) -> None:
    """What this document's scores were, and how fresh it will be."""
    with trouble_told():
        it = library().life(document_id)
        shown(head(it))
        moments = [dot(it["type"], it["age"], it["freshness"], "today", it["source"])]
        moments += [dot(it["type"], asked["age"], asked["score"]["freshness"], asked["query"],
                        f"score {asked['score']['total']:.3f}") for asked in it["asked"]]
        days = max(it["age"] + 3 * (it["half_life"] or 0), 1.5 * it["age"], 30)
        draw(curve(it["type"], it["half_life"], days), moments,
             "Its freshness by age; dots are today and when it was found for a question")
        shown(markup("{}{}", will_be(it), was(it)))
    shown(to_screen("freshness", "All documents"))


def head(it: Json) -> Markup:
    ageing = (f"halves every {lasting(it['half_life'] * 86400)}" if it["half_life"] else "does not age")
    return markup(
        '<section class="life"><h2 dir="auto">{}</h2><p class="quiet"><bdi>{}</bdi> · {}{}, {} · {}</p>'
        '<p>Today: <b class="number">{:.3f}</b>, which makes <b class="number">{:.3f}</b> of a score</p>'
        "</section>",
        link(it["url"], it["title"] or it["url"]), it["source"], swatch(TYPES[it["type"]]),
        spoken(it["type"]), ageing, dated(it), it["freshness"], it["weight"] * it["freshness"])


def will_be(it: Json) -> Markup:
    ahead = joined(
        markup('<tr><th scope="row">in {}</th><td>{}</td><td class="number">{:.3f}</td>'
               '<td class="number">{:.3f}</td></tr>', counted(round(step["days"]), "day"),
               stack([(step["freshness"], PARTS["freshness"], "")]), step["freshness"],
               it["weight"] * step["freshness"]) for step in it["ahead"])
    return markup('<table class="order"><thead><tr><th scope="col">It will be</th><th scope="col"></th>'
                  '<th scope="col">Freshness</th><th scope="col">Makes</th></tr></thead>'
                  "<tbody>{}</tbody></table>", ahead)


def was(it: Json) -> Markup:
    """What its scores were when it was found, and what its age alone makes of them now."""
    if not it["asked"]:
        return markup('<p class="quiet">No question has found it yet, so it has had no score.</p>')
    rows = joined(
        markup('<tr><th scope="row" dir="auto">{}<small>{} · {}</small></th><td class="number">{:.3f}</td>'
               '<td class="number">{:.3f}</td><td class="number">{:.3f}</td></tr>',
               to_screen("search", asked["query"], q=asked["query"]), ago(asked["at"]),
               toned(GOOD if asked["used"] else QUIET, "used" if asked["used"] else "dropped"),
               asked["score"]["freshness"], asked["score"]["total"], asked["now"]) for asked in it["asked"])
    return markup('<table class="order"><thead><tr><th scope="col">It was found for</th>'
                  '<th scope="col">Fresh then</th><th scope="col">Score then</th>'
                  '<th scope="col">At its age today</th></tr></thead><tbody>{}</tbody></table>', rows)


def dated(it: Json) -> str:
    return day(it["dated"]) if it["is_published"] else f"{day(it['dated'])}, first seen"
