# Almanac. `make` alone lists what can be made; two of these do everything: `make up` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ALMANAC := $(BIN)/almanac
PYTEST ?=

.DEFAULT_GOAL := help
.PHONY: $(shell awk -F: '/^[a-z-]+:.*## / { print $$1 }' $(firstword $(MAKEFILE_LIST)))

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/installed ## install and start everything, read the first sources, answer a sample question
	@$(ALMANAC) status --json 2>/dev/null | grep -q '"running": true' || $(ALMANAC) up --detach
	@$(ALMANAC) welcome

down: ## stop everything
	@if [ -x $(ALMANAC) ]; then $(ALMANAC) down; else echo "Almanac is not installed here"; fi

browser: $(VENV)/node/installed ## a browser for assistants: @playwright/mcp, where there are npm and a Chromium

test: $(VENV)/installed-for-tests ## install what the tests need and run them all
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory browser; fi
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder $(PYTEST)

test-kills: $(VENV)/installed-for-tests ## kill Almanac fifty times in an ingest and rebuilds, and its indexing fifty times more
	ALMANAC_KILLS=50 ALMANAC_AWAY=120 $(BIN)/python -m pytest tests/index/test_index_kills.py tests/e2e/test_kills.py $(PYTEST)

check: $(VENV)/installed-for-tests ## lint, types, and which package may import which
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/installed-for-tests ## measure it beside the bare libraries; writes benchmarks/RESULTS.md
	$(BIN)/python benchmarks/run.py

bench-analysis: $(VENV)/installed-for-tests ## the built-in analyser on the labelled articles; writes benchmarks/ANALYSIS.md
	$(BIN)/python benchmarks/analysis.py

bench-keep: $(VENV)/installed-for-tests ## 1,000 known notes kept again, beside bare hashing and one query
	$(BIN)/python benchmarks/keep.py

bench-scopes: $(VENV)/installed-for-tests ## what row-level security costs a retrieval
	$(BIN)/python benchmarks/scopes.py

bench-sitemaps: $(VENV)/installed-for-tests ## the pages of the sitemaps in CORPUS=folder against its facts
	$(BIN)/python benchmarks/sitemaps.py $(CORPUS)

bench-orchestration: $(VENV)/installed-for-tests ## what Prefect costs; writes benchmarks/ORCHESTRATION.md, takes half an hour
	$(BIN)/python benchmarks/orchestration.py

bench-door: $(VENV)/installed-for-tests ## the door to the web beside bare httpx, and its memory over 3,000 pages
	$(BIN)/python benchmarks/door.py

bench-extraction: $(VENV)/installed-for-tests ## the text of the articles in CORPUS=folder beside the bare libraries'
	$(BIN)/python benchmarks/extraction.py $(CORPUS)

bench-feeds: $(VENV)/installed-for-tests ## entries and links of the feeds in CORPUS=folder beside feedparser alone
	$(BIN)/python benchmarks/feeds.py $(CORPUS)

bench-retrieval: $(VENV)/installed-for-tests ## what is found in the judged collections in DATA=folder beside dense, BM25 and a hybrid
	$(BIN)/python benchmarks/retrieval.py $(DATA)

bench-interest: $(VENV)/installed-for-tests ## what the mode "interesting" would read of items labelled by hand
	$(BIN)/python benchmarks/interest.py

bench-index: $(VENV)/installed-for-tests ## a rebuild of CHUNKS=200000 beside the bare engine, searches, memory, one changed paragraph
	$(BIN)/python benchmarks/index.py

bench-screens: $(VENV)/installed-for-tests ## what the first paint of each screen asks of DOCUMENTS=100000; writes benchmarks/SCREENS.md
	$(BIN)/python benchmarks/screens.py

bench-gates: $(VENV)/installed-for-tests ## what the quality gates cost for 500 versions
	$(BIN)/python benchmarks/gates.py

bench-scheduler: $(VENV)/installed-for-tests ## a pass over 1,000 sources beside bare conditional requests
	$(BIN)/python benchmarks/scheduler.py

bench-ranking: $(VENV)/installed ## nDCG@10 of the questions you have judged, before and after WEIGHTS="topic=0.2 …"
	$(BIN)/python benchmarks/ranking.py $(WEIGHTS)

conformance: $(VENV)/installed-for-tests ## hold addresses, URLs and robots.txt to the facts in CORPUS=folder
	$(BIN)/python benchmarks/conformance.py $(CORPUS)

# The environment is made once, and anew installed into only when pyproject.toml says something else.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Almanac needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip  # older ones cannot resolve this set
	@touch $@

$(VENV)/installed: pyproject.toml $(VENV)/made
	@echo "Installing: 2 GB, some minutes the first time"
	$(BIN)/python -m pip install --editable .
	@touch $@

# Pinned with their hashes; no script of theirs is run, and no browser downloaded.
$(VENV)/node/installed: docker/browser/package.json docker/browser/package-lock.json $(VENV)/made
	mkdir -p $(@D) && cp docker/browser/package.json docker/browser/package-lock.json $(@D)
	npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml $(VENV)/made
	@echo "Installing what the tests need: 2 GB, some minutes the first time"
	$(BIN)/python -m pip install --editable '.[dev]'
	@touch $(VENV)/installed $@
