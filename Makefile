# The front door. Every target sets up what it needs: a virtual environment in .venv, with the locked dependencies.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Tests start many programs: if bytecode could not be cached, each of them would compile all its modules again.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode

.PHONY: demo test test-processors test-slow test-wheel test-installed test-r chromium check format bench bench-check docs nottinghamshire messages screenshots pages lock licences sbom audit reliability clean

demo: $(READY)  ## serve a finished study on Chicago's 77 areas, fitted and clustered, and an open one to try
	$(BIN)/judgemap demo

test: $(READY)  ## everything that takes seconds: unit, statistical and documentation tests
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=20

# OpenBLAS chooses its code by processor, and rounds differently in each; a test that depends on the last digits fails.
PROCESSORS ?= Haswell Nehalem Zen
THREADS ?= 1 2
NUMERICAL ?= tests/core tests/study tests/report docs README.md src
test-processors: $(READY)  ## the numerical tests as other processors would compute them, with one thread and two; all must agree
	for processor in $(PROCESSORS); do for threads in $(THREADS); do echo "$$processor, threads: $$threads"; \
	  OPENBLAS_CORETYPE=$$processor OPENBLAS_NUM_THREADS=$$threads $(BIN)/python -m pytest -q -n 2 --dist worksteal $(NUMERICAL) \
	  || exit 1; done; done
	$(BIN)/python -m pytest -q -n 2 -m "slow or not slow" tests/core/samplers/test_processors.py

test-slow: $(READY) chromium  ## the tests that take minutes: simulation-based calibration, Geweke tests, long agreement runs
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "slow and not installed"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "hypothesis and not slow" --hypothesis-profile many
	JUDGEMAP_TEST_POSTGRES=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/web

test-wheel: $(READY)  ## build the wheel, install it in an empty environment, and fit and serve there
	$(BIN)/python -m pytest -q -m "installed and not slow" tests/installed

test-installed: $(READY)  ## the same with the whole demonstration, a core install, and a user without write access
	$(BIN)/python -m pytest -q -m installed tests/installed

test-r:  ## check the R package; skipped, with a message, if R is not installed
	@command -v R >/dev/null || { echo "R is not installed, so the R package is not checked: apt-get install r-base-core r-cran-sf r-cran-testthat r-cran-posterior r-cran-jsonlite"; exit 0; }; \
	$(MAKE) $(READY) && folder=$$(mktemp -d) && R CMD build r >/dev/null && mv judgemap_*.tar.gz $$folder && cd $$folder && \
	JUDGEMAP_COMMAND=$(CURDIR)/$(BIN)/judgemap _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual judgemap_*.tar.gz && \
	! grep -E "^Status: .*(ERROR|WARNING)" judgemap.Rcheck/00check.log; status=$$?; rm -rf $$folder; exit $$status

chromium:  # for the browser tests, which are skipped without it
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } \
	  || echo "There is no Chromium, so browser tests are skipped: apt-get install chromium"

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --lint --quiet src/judgemap/web
	JUDGEMAP_URL=https://example.org $(BIN)/django-admin check --deploy --fail-level WARNING --settings judgemap.web.settings
	$(BIN)/django-admin makemigrations --check --settings judgemap.web.settings

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Timings, side by side in one run on one thread; written to benchmarks/results/, with the previous ones kept in
# results/last.
BENCHMARKS ?= samplers shell judges panels clusters schedules experiments explaining judging dashboard fitting
bench: $(READY)  ## run the benchmarks and write docs/measurements.md
	$(BIN)/python benchmarks/page.py keep
	for name in $(BENCHMARKS); do \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/$$name.py || exit 1; \
	done
	$(BIN)/python benchmarks/page.py write

bench-check:  ## the benchmarks that compare two things in one run; fails if a ratio has fallen by more than a third
	$(MAKE) bench BENCHMARKS="samplers judges clusters"
	$(BIN)/python benchmarks/page.py check

docs: $(READY)  ## write the references from the commands themselves, and build the site into site/, with warnings as errors
	$(BIN)/typer judgemap.cli.main utils docs --name judgemap --output docs/cli.md
	$(BIN)/python docs/api_reference.py docs/api-reference.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

DATA ?= nottinghamshire
nottinghamshire: $(READY)  ## run the notebook on Nottinghamshire where its tables are, and keep what it shows: DATA=folder
	JUDGEMAP_NOTTINGHAMSHIRE=$(abspath $(DATA)) $(BIN)/jupyter execute --inplace docs/notebooks/nottinghamshire.ipynb

TO ?= fr
messages: $(READY)  ## add what is not translated yet to a language's catalogue: make messages TO=fr (needs gettext)
	cd src/judgemap/web && JUDGEMAP_DATA=$$(mktemp -d) $(CURDIR)/$(BIN)/django-admin makemessages --locale $(TO) --no-location --settings judgemap.web.settings

screenshots: $(READY) chromium  ## play the tutorial's story in Chromium and take its screenshots
	mkdir -p docs/images/tutorial
	JUDGEMAP_SCREENSHOTS=$(CURDIR)/docs/images/tutorial $(BIN)/python -m pytest -m slow tests/web/live/test_story.py

PAGES ?= pages
pages: $(READY) chromium  ## take screenshots of every page of the demonstration, 390 and 1280 pixels wide, into the folder pages
	PYTHONPATH=tests/browser $(BIN)/python tests/browser/every_page.py $(PAGES)

lock: $(READY)  ## rewrite requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --no-emit-index-url --no-header --generate-hashes --all-extras --group dev --group docs pyproject.toml -o requirements.lock

licences: $(READY)  ## write the list of licences from the packages' own metadata
	$(BIN)/python docs/licences.py docs/licences.md

sbom: $(READY)  ## write a software bill of materials, CycloneDX, to dist/sbom.json
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --of JSON -o dist/sbom.json

audit: $(READY)  ## ask OSV for known vulnerabilities in the locked packages; without a network, say so and pass
	@if $(BIN)/python -c 'import socket; socket.create_connection(("api.osv.dev", 443), 5)' 2>/dev/null; then \
	  $(BIN)/pip-audit --vulnerability-service osv --disable-pip --require-hashes -r requirements.lock; \
	else echo "api.osv.dev cannot be reached: pip-audit was not run"; fi

reliability: $(READY)  ## stress the server over loopback, for about three hours; QUICK=--quick for a few minutes
	$(BIN)/python benchmarks/reliability $(QUICK)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache demo

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "judgemap needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --editable .
	$(BIN)/python -m judgemap.core.samplers.compiled  # the samplers, so that neither tests nor the demonstration wait for it
	@touch $(READY)
