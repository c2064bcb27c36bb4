"""What a model must answer: the schema that it is told, and the checks that its answer must pass."""

import json
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from models.states import ContentType
from tasks.analyse.topics import categories, category_of

THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
LINK = re.compile(r"https?://|www\.", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def storable(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("it holds control characters")
    return text


def without_links(text: str) -> str:
    if LINK.search(text):
        raise ValueError("it holds a link")
    return text


def known_topic(topic: str) -> str:
    if topic not in category_of():
        raise ValueError("it is none of the topics listed")
    return topic


def known_category(category: str) -> str:
    if category not in categories():
        raise ValueError("it is none of the categories listed")
    return category


def up_to(longest: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=longest)


Phrase = Annotated[str, up_to(100), AfterValidator(storable)]
Summary = Annotated[str, up_to(800), AfterValidator(storable), AfterValidator(without_links)]
Topic = Annotated[
    str, AfterValidator(known_topic), Field(json_schema_extra={"enum": list(category_of())})]
Category = Annotated[
    str, AfterValidator(known_category), Field(json_schema_extra={"enum": list(categories())})]


class Judgement(BaseModel):
    """A model's analysis of one article."""

    model_config = ConfigDict(extra="forbid")

    content_type: ContentType
    confidence: float = Field(ge=0, le=1)
    category: Category
    topics: list[Topic] = Field(min_length=1, max_length=3)
    keywords: list[Phrase] = Field(max_length=12)
    entities: list[Phrase] = Field(max_length=20)
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]
    summary: Summary


SCHEMA: dict[str, Any] = Judgement.model_json_schema()


def parse(answer: str) -> Judgement:
    """The judgement in a model's answer, fences and thoughts around it left out.

    Raises ValueError, which says what is wrong with it, and does not repeat it.
    """
    said = THOUGHTS.sub("", answer)
    try:
        return Judgement.model_validate(json.loads(said[said.find("{") : said.rfind("}") + 1]))
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, it['loc'])) or 'the object'}: {it['msg']}" for it in error.errors()[:8])
        raise ValueError("; ".join(wrong)) from error
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not one JSON object") from error
