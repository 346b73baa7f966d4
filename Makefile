# Requires make and Python 3.11 or later; everything else is installed into .venv.
.SILENT:
.PHONY: demo up test bench scale matrix storm lint lock audit clean
MINUTES := 3
SEED := 1
ON := sqlite
REDIS := single
PYTHON := .venv/bin/python

demo: ## Run the site with demo data. PORT= (8000), DATA= a folder in goodbooks format
	.ci/venv requirements.txt
	$(PYTHON) -m tools.devserver demo

up: ## Run the site without demo data
	.ci/venv requirements.txt
	$(PYTHON) -m tools.devserver up

test: ## Run all tests on SQLite and PostgreSQL
	.ci/venv requirements-dev.txt
	.ci/test

bench: ## Measure every promise about speed as a ratio. ONLY= a word of its name
	.ci/venv requirements-dev.txt
	$(PYTHON) -m tests.bench --only "$(ONLY)"

scale: ## Compute memory, commands and the hottest node of large sites. READERS= numbers of readers, NODES= masters
	.ci/venv requirements-dev.txt
	$(PYTHON) -m tests.bench.scale $(if $(READERS),--readers "$(READERS)") $(if $(NODES),--nodes $(NODES))

matrix: ## Test mirror with the supported versions of Django, redis-py and Celery, and with Django's own tests. ONLY= one environment, or django-suite
	.ci/venv requirements-dev.txt
	$(PYTHON) -m nox --noxfile tools/noxfile.py $(if $(ONLY),--session $(ONLY))

storm: ## Use the whole site while its servers fail. MINUTES= (3), SEED= (1), ON= sqlite or postgres, REDIS= single or cluster
	.ci/venv requirements-dev.txt
	$(PYTHON) -m tests.storm --minutes $(MINUTES) --seed $(SEED) --on $(ON) --redis $(REDIS)

lint: ## Check format, rules, types, templates, migrations and message catalogues
	.ci/venv requirements-dev.txt
	.ci/lint

lock: ## Write the exact versions and hashes of all packages that requirements.txt and requirements-dev.txt need
	.ci/lock

audit: ## Compare the locked packages with known vulnerabilities; list them in var/sbom.json
	.ci/venv requirements-dev.txt
	.ci/audit

clean: ## Remove everything that can be generated again; the data under var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis var/static
	find . -path ./var -prune -o -name __pycache__ -type d -exec rm -rf {} +
	find . -path ./var -prune -o -path '*/locale/*' -name '*.mo' -exec rm -f {} +
