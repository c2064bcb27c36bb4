"""Pages that answer 200 and are no article: shells of scripts, error pages, forms, walls, lists of others.

Each rule but the last looks at a page of little text only: an article about any of these is never refused.
"""

import re

from lxml.etree import XPath

from tasks.errors import NeedsBrowser, Permanent
from tasks.extract.listing import is_listing
from tasks.extract.markup import Page

SHORT = 1500  # characters of extracted text; a longer page is an article, whatever its title
BARE = 600  # characters on the whole page, menus included
SHELL = 200  # the same, of an app before it has run

# A headline made of these words alone, one of TROUBLE among them, is that of an error page; so is one word
# of ALONE.
ALONE = re.compile(r"[45]\d\d|error|forbidden|unauthori[sz]ed|unavailable")
TROUBLE = re.compile(
    r"[45]\d\d|denied|down|error|exist|failed|forbidden|found|gateway|gone|maintenance|offline|requests|timeout"
    r"|unauthori[sz]ed|unavailable|wrong|gefunden|introuvable|encontrada|trovata|gevonden"
)
AROUND = re.compile(
    r"a|access|an|at|available|back|bad|be|been|can|cannot|code|couldn?|currently|doesn?|doesnt|don|exists|for"
    r"|has|have|http|i|internal|isn?|it|looking|many|moment|moved|no|not|occurred|of|oops|our|out|page|please|re"
    r"|request|requested|right|s|scheduled|server|service|site|something|soon|sorry|status|t|temporarily|that"
    r"|the|this|time|to|too|try|under|url|very|was|we|website|went|which|you|your"
    r"|nicht|seite|página|pagina|non|niet"
)
SITE_NAME = re.compile(r"\s+[-\u2013\u2014|\u00b7\u00bb]\s+")  # what parts a title from it
ROBOT_CHECK = re.compile(
    r"(?:just a moment|attention required|are you (?:a robot|human)|checking your browser.*|robot check"
    r"|security check|pardon our interruption|verify(?:ing)? (?:that )?you are (?:a )?human.*)\W*",
    re.IGNORECASE,
)
SIGN_IN = re.compile(
    r"(?:please )?(?:sign|log)[ -]?(?:in|on)\b|authentication required|anmelden|anmeldung|einloggen|connexion"
    r"|se connecter|s.identifier|iniciar sesi|acceder|accedi\b|entrar\b|inloggen|logga in",
    re.IGNORECASE,
)
CONSENT = re.compile(
    r"\bcookies?\b|\bconsent|\bprivacy|\bpersonal data|datenschutz|einwilligung|confidentialit|consentement"
    r"|privacidad|consentimiento",
    re.IGNORECASE,
)
AGREE = re.compile(
    r"(?:i |yes,? i )?(?:accept|agree|allow|consent)\b.{0,30}|(?:alle )?akzeptieren|zustimmen"
    r"|(?:tout )?accepter|j.accepte|aceptar(?: todo)?|accett[ao](?: tutto)?",
    re.IGNORECASE,
)
PAYWALL = re.compile(
    r"(?:subscribe|sign up|register|log in|sign in|become a member|join)(?: now| today| here)?"
    r" to (?:continue reading|keep reading|read (?:the (?:full|rest|whole)|this|more of this))"
    r"|to (?:continue|keep) reading(?: this \w+)?,? (?:please )?(?:subscribe|register|sign|log|become)"
    r"|(?:this|the) (?:article|story|content|post) is (?:only )?(?:available |reserved )?(?:exclusively )?"
    r"(?:for|to) (?:paying |paid )?(?:subscribers|members)"
    r"|you have (?:reached|used|read) (?:your|all your|all of your|the) .{0,30}(?:free|articles?)"
    r"|jetzt (?:abonnieren|weiterlesen mit)|weiterlesen mit .{0,20}(?:abo|plus)|nur f\u00fcr abonnenten"
    r"|r\u00e9serv\u00e9 (?:\u00e0 nos|aux) abonn\u00e9s|solo para suscriptores|riservato agli abbonati",
    re.IGNORECASE,
)
HEADLINES = XPath("//title | //h1")
PASSWORD = XPath("boolean(//input[translate(@type, 'PASWORD', 'pasword') = 'password'])")
FORM = XPath("boolean(//form[.//input])")
CONTROLS = XPath("//button | //a | //input[@type = 'submit' or @type = 'button']")
MOUNTS = XPath(
    "boolean(//*[@id = 'root' or @id = 'app' or @id = '__next' or @id = '__nuxt' or @id = '___gatsby'"
    " or @id = 'svelte' or @ng-app or @data-reactroot] | //app-root)"
)


def check(page: Page, paragraphs: list[str]) -> None:
    """Raise NeedsBrowser or Permanent when the page is no article; ``paragraphs`` is what was extracted."""
    if sum(map(len, paragraphs)) <= SHORT:
        _check_short(page, paragraphs)
    if is_listing(page.tree, paragraphs):
        raise Permanent("the page lists others and is no article itself: add it as a source of kind listing")
    if not paragraphs:
        raise Permanent("there is nothing to read on the page")


def _check_short(page: Page, paragraphs: list[str]) -> None:
    check_answer(page, paragraphs)
    if _is_consent_wall(page, paragraphs):
        raise Permanent("the page is a wall that asks for consent, not an article")
    if PAYWALL.search(page.visible()):
        raise Permanent("the page shows only the beginning of an article to those who do not pay")


def check_answer(page: Page, paragraphs: list[str]) -> None:
    """Raise NeedsBrowser or Permanent when the page is none that was asked for, of whatever kind."""
    length = sum(map(len, paragraphs))
    visible = page.visible()
    headlines = [" ".join(element.text_content().split()) for element in HEADLINES(page.tree)]
    opening = [*headlines, *paragraphs[:1]] if len(visible) < BARE else headlines
    if named := next(filter(_names_an_error, opening), None):
        raise Permanent(f"the page is an error page that was sent as a good one: {named[:80]}")
    if any(ROBOT_CHECK.fullmatch(part) for line in headlines for part in SITE_NAME.split(line)):
        raise Permanent("the page is a check for robots, not an article")
    if length < SHELL and _is_shell(page, visible):
        raise NeedsBrowser("the page has no text until a browser renders it")
    if _is_sign_in(page, visible, any(SIGN_IN.match(line) for line in opening)):
        raise Permanent("the page is a sign-in form, not an article")


def _names_an_error(headline: str) -> bool:
    for part in SITE_NAME.split(headline):
        words = re.findall(r"\w+", part.lower())
        telling = [word for word in words if not AROUND.fullmatch(word)]
        enough = len(words) > 1 or ALONE.fullmatch("".join(words))
        if telling and enough and all(map(TROUBLE.fullmatch, telling)):
            return True
    return False


def _is_shell(page: Page, visible: str) -> bool:
    """Next to no text, and a sign that scripts would make it."""
    if not page.scripted or len(visible) >= SHELL:
        return False
    return not visible or MOUNTS(page.tree) or "javascript" in (page.noscript + visible).lower()


def _is_sign_in(page: Page, visible: str, named: bool) -> bool:
    """A password is asked for, or the page calls itself so and has a form; and there is little beside it."""
    if PASSWORD(page.tree):
        return named or len(visible) < BARE
    return named and len(visible) < BARE and bool(FORM(page.tree))


def _is_consent_wall(page: Page, paragraphs: list[str]) -> bool:
    """Most of the text is about cookies and consent, and there is a control to agree."""
    about = sum(len(paragraph) for paragraph in paragraphs if CONSENT.search(paragraph))
    if not about or about * 2 < sum(map(len, paragraphs)):
        return False
    labels = (element.get("value") or element.text_content() for element in CONTROLS(page.tree))
    return any(AGREE.fullmatch(" ".join(label.split())) for label in labels)
