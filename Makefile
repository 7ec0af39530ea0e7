# Each target sets up what it needs: a fresh machine wants only Python, pip and make.
PYTHON ?= python3
BIN := .venv/bin
# the tests of a file run in one process, so that the servers and models that they share are made once
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
STAMP := .stamps/installed

.PHONY: demo demo-serve docs dist test test-slow coverage fuzz lint bench install clean
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes, and compiling takes long in each

$(STAMP): pyproject.toml constraints.txt
	@mkdir -p .stamps
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[compare,dask,demo,dev,docs,embeddings,excel,serve,zarr]'
	@touch $@

install: $(STAMP)

demo: $(STAMP)
	$(BIN)/simlabel demo

# a tagging desk on made-up programmes, in a folder that goes when it ends
demo-serve: $(STAMP)
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(BIN)/python examples/programmes.py "$$folder/programmes.csv" && \
	$(BIN)/simlabel serve "$$folder/desk" --import "$$folder/programmes.csv" --label-column genres --id id

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest $(PARALLEL) -m 'not slow'

test-slow: lint
	$(BIN)/pytest $(PARALLEL) -m slow --timeout 3600

# branch coverage of src; compiled loops run outside of Python and are not counted
coverage: $(STAMP)
	$(BIN)/pytest $(PARALLEL) -m 'not slow' --cov=simlabel --cov-branch --cov-report=term:skip-covered

# the site, in docs/_build/html: the examples run, warnings are errors, and then links, addresses and spelling are checked
docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# what it finds is printed and kept in tests/fuzz/found.txt; give another SEED for other cases
MINUTES ?= 60
SEED ?= 0
fuzz: $(STAMP)
	$(BIN)/python tests/fuzz/run.py --minutes $(MINUTES) --seed $(SEED)

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/run.py speed

clean:
	rm -rf .venv .stamps dist docs/_build docs/gallery docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis
