"""The browser for assistants: the real @playwright/mcp and Chromium, and a site that leads where it may not."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

import psutil
import pytest
from trespass import FORBIDDEN, HEAD
from tool_workshop import Workshop

from almanac.tool_servers import leash
from tasks.outside.tools.connection import Connection, Times
from tasks.outside.tools.executor import Executor, Turn
from tasks.outside.tools.toolbox import Curated, Toolbox
from tasks.outside.tools.transport import over_stdio
from tasks.web.assistant_browser import AssistantBrowser, program
from tasks.web.background import Background
from tasks.web.guarded_tools import BY_DEFAULT, GuardedTools
from tasks.web.policy import Policy
