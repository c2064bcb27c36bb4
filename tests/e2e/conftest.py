"""The whole of Almanac, started by its own command on a data folder and ports of its own."""

from collections.abc import Iterator

import pytest
from command import Almanac
from gazette import Site, serve


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture(scope="session")
def almanac(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Almanac]:
    """Almanac with the site allowed, started; stopped at the end."""
    running = Almanac(
        tmp_path_factory.mktemp("e2e") / "home",
        ALMANAC_ALLOWED_NETWORKS=f"127.0.0.1:{site.port}", ALMANAC_FETCH_TIMEOUT="4",
    )
    started = running.run("up", "--detach", timeout=240)
    assert started.returncode == 0, started.stderr + started.stdout
    yield running
    running.run("down")
