"""The dashboard beside a stand-in for the API: opened in process, or served to a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from stand_in import TOKEN, Api, Open, Read, Words
from streamlit.testing.v1 import AppTest

from almanac.settings import settings
from almanac.stack.dashboard import screen
from almanac.stack.processes import own_identity
from almanac.stack.state import PartState, Phase, StackState, write_state


@pytest.fixture
def api(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The stand-in, where the settings of this process say that the API is."""
    api = Api()
    (home / "run").mkdir(parents=True)
    library = PartState("library", "library.log", api.port, Phase.RUNNING, own_identity())
    write_state(home, StackState(own_identity(), ready=True, parts=[library]))
    (home / "token").write_text(TOKEN)
    monkeypatch.setenv("ALMANAC_HOME", str(home))
    monkeypatch.setenv("ALMANAC_API_PORT", str(api.port))
    forget()
    yield api
    api.close()
    forget()


def forget() -> None:
    settings.cache_clear()
    st.cache_resource.clear()


@pytest.fixture
def opened(api: Api) -> Open:
    """``opened("search.py", q="…")``: a screen as somebody finds it who comes by that address."""

    def open_screen(file: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(screen()), default_timeout=30)
        for name, value in query.items():
            app.query_params[name] = value
        if file != "today.py":
            app.switch_page(file)
        return app.run()

    return open_screen


@pytest.fixture
def words() -> Read:
    """What a screen says, and what is opened in front of it."""

    def read(app: AppTest) -> Words:
        assert not app.exception
        markup = [element.proto.body for element in app.get("html")]
        return Words("".join(each for each in markup if not each.startswith("<style")))

    return read
