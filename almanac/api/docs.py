"""``/docs``: the routes as a page to read and try (Swagger UI), every byte of it from this machine."""

import re
from base64 import b64encode
from hashlib import sha256

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

ASSETS = "/docs/assets"
NOTHING = "default-src 'none'; frame-ancestors 'none'"
ONLY_OURS = (NOTHING + "; base-uri 'none'; form-action 'none'; connect-src 'self'; img-src 'self' data:; "
             "style-src 'self' 'unsafe-inline'; script-src 'self' {scripts}")


def show_documentation(app: FastAPI) -> None:
    """Serve the page at ``/docs``; a browser may load nothing for it that is not ours."""
    page = bytes(get_swagger_ui_html(
        openapi_url=str(app.openapi_url), title=app.title,
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js", swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
        swagger_ui_parameters={"validatorUrl": None},  # else it sends our address to swagger.io
    ).body)
    scripts = re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)
    policy = ONLY_OURS.format(scripts=" ".join(map(source_of, scripts)))

    @app.get("/docs", include_in_schema=False)
    async def show_page() -> HTMLResponse:
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    app.mount(ASSETS, StaticFiles(packages=[("fastapi_offline", "static")]))


def source_of(script: bytes) -> str:
    """What lets a policy allow a script inside a page: its digest."""
    return f"'sha256-{b64encode(sha256(script).digest()).decode()}'"
