"""In which language a text is written, found from the text itself."""

from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

ENOUGH = 60  # characters; of less, a name or a quotation decides
SAMPLE = 5_000
SURE = 0.9


def language_of(text: str) -> str | None:
    """Two letters (ISO 639-1), or none where the text is too short or might be in several."""
    if len(text) < ENOUGH:
        return None
    language, probability = identifier().classify(text[:SAMPLE])
    return str(language) if probability >= SURE else None


@cache
def identifier() -> LanguageIdentifier:
    """The model, half a second to load."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
