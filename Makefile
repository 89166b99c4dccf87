# `make help` lists what there is. Everything lives in .venv; nothing has to be installed by hand.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FILES_STAMP := $(VENV)/.installed-files
TOOLS_STAMP := $(VENV)/.installed-tools
PYTEST_WORKERS ?= 3
UNIT_WORKERS ?= 2
KILLS ?= 300
REWIND_KILLS ?= 100
HISTORIES ?= 5000
REWINDS ?= 1000
FROM ?= 1
VERSION ?= 18
JOBS ?= 1
PART ?= $(shell .ci/part 40)
# Every test that starts a process would compile the product anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo-announcement setup tools setup-pg15 setup-chromium dist demo test test-thorough test-ci test-readme unit lint bench chaos requirements mutations docs clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

setup: $(STAMP) ## make .venv with the locked versions, for channels and for the demo; quick when it is up to date

$(STAMP): setup.cfg pyproject.toml constraints.txt .ci/make-venv .ci/install
	@.ci/step "set-up, step 1 of 2: a virtual environment in $(VENV)" .ci/make-venv $(VENV)
	@.ci/step "set-up, step 2 of 2: pip installs Airflow, Spark, Java, PostgreSQL and what they need (minutes)" \
		.ci/install $(VENV) demo
	@touch $(STAMP)

$(FILES_STAMP): $(STAMP)
	@.ci/step "set-up: pip installs DuckDB and PyIceberg" .ci/install $(VENV) demo-files
	@touch $(FILES_STAMP)

tools: $(TOOLS_STAMP) ## add what the tests, the checks and the documentation need; they do it themselves

$(TOOLS_STAMP): $(STAMP)
	@.ci/step "tools, step 1 of 3: pip installs what tests, checks and documentation need (minutes)" \
		.ci/install $(VENV) test
	@# Files that can't be compiled are nothing new: pip would be silent, too.
	@.ci/step "tools, step 2 of 3: compiling the packages" \
		sh -c '$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true'
	@.ci/step "tools, step 3 of 3: an archive of Spark's classes, so that it starts faster" \
		$(BIN)/python -m airflow_ddlrepl.spark.session.class_archive
	@touch $(FILES_STAMP) $(TOOLS_STAMP)

setup-pg15: ## a second PostgreSQL version (15) for the tests, where the system has it
	@.ci/postgresql-15

setup-chromium: ## a browser for the tests of Airflow's UI, where the system has it
	@.ci/chromium

dist: ## the wheel and the constraints file to install it with, in dist/; needs pip alone
	@.ci/make-venv $(VENV)
	@rm -rf build dist
	$(BIN)/python -m pip wheel --disable-pip-version-check -q --no-deps -w dist .
	cp constraints.txt dist/

demo: demo-announcement $(if $(filter-out postgres,$(TARGET)),$(FILES_STAMP),setup) ## replicate Airflow's own database through all its migrations, compare, go back. QUICK=1: two minutes. PAGE=1: then an Airflow to look at. TARGET=duckdb: into a file, iceberg: into a lake
	@$(BIN)/python -m airflow_ddlrepl.demo $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(PAGE)),--page) $(if $(TARGET),--target $(TARGET))

demo-announcement:
	@.ci/demo-announcement $(STAMP)

test: lint setup-pg15 setup-chromium ## lint and the tests: under 20 minutes
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup --durations=20 -m "not thorough"

test-thorough: tools setup-pg15 setup-chromium ## the other tests: long ones, further cases, kills, random histories, PostgreSQL 15, Airflow and Spark in processes of their own, the demo, the README
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup --durations=20 -m thorough

test-ci: lint setup-pg15 setup-chromium ## what a commit has to pass, in half an hour: lint, the tests, and PART=k/n of the thorough ones, by the commit
	DDLREPL_THOROUGH_PART=$(PART) $(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist loadgroup --durations=20

unit: tools ## the tests that start no server and no process of Airflow or Spark, and are quick: a minute
	$(BIN)/python -m pytest -n $(UNIT_WORKERS) --dist loadgroup -m "not server and not thorough and not long" --hypothesis-profile=quick -q

test-readme: tools ## the README's way into Airflow, with a wheel that pip installs with all that it needs; minutes
	DDLREPL_FRESH_INSTALL=1 $(BIN)/python -m pytest -n 0 tests/airflow/test_readme.py

lint: tools ## ruff, mypy, import contracts
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: tools ## the benchmarks
	@$(BIN)/python -m benchmarks

chaos: tools ## kill runs at all fail points and at KILLS=300 random moments, rewinds at REWIND_KILLS=100, play HISTORIES=5000, go back through REWINDS=1000; hours
	@$(BIN)/python -m tests.chaos $(VERSION) --points --kills $(KILLS) --rewind-kills $(REWIND_KILLS) \
		--histories $(HISTORIES) --rewinds $(REWINDS) --from $(FROM)

requirements: tools ## which requirements are live, pure, modelled or open, each with its tests (of the last `make test`)
	@$(BIN)/python -m tests.requirements_report

mutations: tools setup-pg15 ## switch off each behaviour of tests/mutations, or those of ONLY=chapter or ID, and see that its tests fail; hours
	@JOBS=$(JOBS) $(BIN)/python -m tests.mutations $(ONLY)

docs: tools ## the documentation as a site, in site/: links, anchors and names are checked, nothing comes from elsewhere
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html; with search: $(BIN)/python -m http.server -d site"

clean: ## remove .venv and what tests and builds leave
	rm -rf $(VENV) build dist site var *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
