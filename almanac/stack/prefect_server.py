"""``python -m almanac.stack.prefect_server``: Prefect's own server and UI, for this machine's owner only.

Prefect takes requests under any host name and from any page's script: a web page that the owner looks at
could start and change flows, by a name of its own that is made to resolve to this machine (DNS rebinding), or
by a POST without a content type, which browsers send without asking first. Here only the names in
ALMANAC_HOSTS are answered, and only scripts from pages under them. Prefect's pages in turn may speak to this
server only: they would load the settings of an analytics service even where analytics are off.
"""

import uvicorn
from prefect.server.api.server import create_app

from almanac.settings import settings
from almanac.stack.early_end import EarlyEnd
from almanac.stack.own_names import OwnNamesOnly


def main() -> None:
    chosen = settings()
    app = OwnNamesOnly(EarlyEnd(create_app(final=True)), chosen.names)
    uvicorn.run(app, host=chosen.host, port=chosen.prefect_port, log_level="warning", access_log=False,
                timeout_graceful_shutdown=5)


if __name__ == "__main__":
    main()
