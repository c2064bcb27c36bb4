"""What runs may be given: Prefect refuses the rest, with its reason, before any work is done."""

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1, le=100_000)]
