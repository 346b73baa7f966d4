# Needs Python 3.11 or later and make; everything else is fetched into .venv.
.SILENT:
.PHONY: demo up test bench lint clean
PYTHON := .venv/bin/python

demo: ## The site with demo data. PORT= (8000), DATA= a folder in goodbooks format
	.ci/venv requirements.txt
	$(PYTHON) -m config.devserver demo

up: ## The site without demo data
	.ci/venv requirements.txt
	$(PYTHON) -m config.devserver up

test: ## All tests, on SQLite and on PostgreSQL
	.ci/venv requirements-dev.txt
	.ci/test

bench: ## Every promise of speed as a ratio. ONLY= a word of its name
	.ci/venv requirements-dev.txt
	$(PYTHON) -m tests.bench --only "$(ONLY)"

lint: ## Format, rules, types, templates, migrations, message catalogues
	.ci/venv requirements-dev.txt
	.ci/lint

clean: ## What can be made again; the data under var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis var/static
	find . -path ./var -prune -o -name __pycache__ -type d -exec rm -rf {} +
	find . -path ./var -prune -o -path '*/locale/*' -name '*.mo' -exec rm -f {} +
