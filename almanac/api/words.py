"""What requests are made of: bounded text, and bodies that name nothing unknown."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Strict, StringConstraints

from models.addresses import check_address
from models.intervals import check_zone


class Body(BaseModel):
    """A request's body. What it does not know is refused, so that a misspelt field is not ignored."""

    model_config = ConfigDict(extra="forbid")


def up_to(longest: int) -> StringConstraints:
    """Not blank, trimmed, at most ``longest`` characters."""
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=longest)


def storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("it holds half a character (a lone surrogate)") from error
    return text


def time_zone(name: str) -> str:
    check_zone(name)
    return name


STORABLE = AfterValidator(storable)

Whole = Annotated[int, Strict()]  # JSON has numbers and booleans of its own: "6" is neither
Number = Annotated[float, Strict()]
Flag = Annotated[bool, Strict()]
Name = Annotated[str, up_to(200), STORABLE]
HeaderValue = Annotated[str, up_to(8192), STORABLE]
Pattern = Annotated[str, up_to(500), STORABLE]
Zone = Annotated[str, up_to(100), AfterValidator(time_zone)]
Address = Annotated[str, up_to(4096), AfterValidator(check_address)]
