# Everything runs in .venv, which is made on the first call and refreshed whenever
# pyproject.toml or the native engine changes. Nothing is needed but Python >= 3.11, pip,
# make and, for the engine, a C++20 compiler.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.stamp
comma  := ,

# Python keeps what it compiles of the modules that are imported (pip would compile all
# of them): without that every start takes seconds longer.
unexport PYTHONDONTWRITEBYTECODE

PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Two workers: the suite is bound by compilation, which uses several threads
# itself. `make test PYTEST_WORKERS=0` runs all tests in one process.
PYTEST_WORKERS ?= 2
PYTEST_ARGS    ?=
# loadfile: tests of one file share a worker, and what it has compiled
PYTEST_FLAGS    = -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: help demo test test-native test-slow fuzz mutants lint format settings docs bench clean

help:
	@echo "make demo         evolve XOR with EMR-HyperNEAT and write a report"
	@echo "make test         lint, types, import direction, and the fast tests"
	@echo "make test-native  the native engine under the compiler's sanitizers"
	@echo "make test-slow    the tests marked slow"
	@echo "make fuzz         hostile input for some minutes (MINUTES=30 SEED=7)"
	@echo "make mutants      faults put into the program: do the tests notice? (EACH=5)"
	@echo "make lint         ruff, pyright, import-linter"
	@echo "make format       let ruff rewrite the files"
	@echo "make settings     write down which settings there are (after a change of their classes)"
	@echo "make docs         build the documentation into site/"
	@echo "make bench        run the benchmarks and write results/bench.md (BENCH_ARGS=--full)"
	@echo "make clean        remove the environment and everything built"

# An environment that was copied from elsewhere, or whose Python is gone, would run
# other code than this: it is made anew.
ifneq ($(wildcard $(VENV)/.created),)
ifneq ($(shell cat $(VENV)/.created && $(BIN)/python -c "print('works')" 2>&1),$(CURDIR) works)
VENV_FLAGS := --clear
.PHONY: $(VENV)/.created
endif
endif

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "substrax needs Python 3.11 or newer, but $(PYTHON) is %d.%d; try `make PYTHON=python3.12`" % v[:2])'
	$(PYTHON) -m venv $(VENV_FLAGS) $(VENV)
	@echo '$(CURDIR)' > $@

# What builds the engine; in .venv, so that a change compiles only what it touches.
$(STAMP)-build: pyproject.toml $(VENV)/.created
	@$(PIP_INSTALL) cmake jaxlib nanobind ninja scikit-build-core
	@touch $@

# One stamp per set of extras, so that the demo does not wait for the linters.
$(STAMP)-%: pyproject.toml CMakeLists.txt $(wildcard src/native/*) $(STAMP)-build
	@echo "Installing substrax[$(subst +,$(comma),$*)] into $(VENV) and compiling its engine, which takes a minute (only when they change) ..."
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP_INSTALL) --no-build-isolation --editable '.[$(subst +,$(comma),$*)]'
	@$(BIN)/python -c 'import substrax._engine' 2>/dev/null || { \
	    echo "The native engine was not built (is there a C++20 compiler?): JAX serves instead, many times more slowly."; \
	    echo "When there is one, run \`make clean\` first. SUBSTRAX_REQUIRE_ENGINE=1 makes it an error, and shows what failed."; }
	@touch $@

# All that checks need; the type checker reads the benchmarks, hence their requirements.
$(STAMP)-checks: $(STAMP)-lint+test benchmarks/requirements.txt
	@$(PIP_INSTALL) -r benchmarks/requirements.txt
	@touch $@

# What makes mutants. (A stamp like the others, but that is no extra of the package.)
$(STAMP)-faults: tests/mutants/requirements.txt $(STAMP)-checks
	@$(PIP_INSTALL) -r tests/mutants/requirements.txt
	@touch $@

demo: $(STAMP)-report
	$(BIN)/substrax run xor --report

lint: $(STAMP)-checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import_linter

# Which settings there are, as data: after a change of their classes.
settings: $(STAMP)-checks
	$(BIN)/python -m substrax.config

format: $(STAMP)-checks
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Numbers are tested as users get them. Where evolution's logic is tested, compiling it
# takes most of the time: hence less optimisation there. (test_doors.py compares bits:
# without optimisation XLA adds up in another way.) The longest files come first.
LOGIC_TESTS := tests/test_examples.py tests/test_notebooks.py tests/evolution/test_devices.py tests/neat tests/tensor tests/workers tests/decoders/test_on_device.py tests/evolution tests/front tests/report tests/paper tests/sweeps tests/settings tests/trackers \
    $(filter-out %/test_doors.py,$(wildcard tests/problems/test_*.py)) tests/test_cli.py tests/test_benchmarks.py tests/test_cli_run.py tests/test_cli_sweep.py tests/test_sweep_kills.py tests/test_sweep_dask.py

test: lint test-native
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_FLAGS) $(LOGIC_TESTS:%=--ignore=%)
	XLA_FLAGS=--xla_backend_optimization_level=0 \
	    $(BIN)/python -m pytest -m "not slow" $(PYTEST_FLAGS) $(LOGIC_TESTS)

# The engine without Python; a machine without a compiler says so and goes on.
test-native: $(STAMP)-build
	@PATH="$(CURDIR)/$(BIN):$$PATH" tests/native/run.sh

test-slow: $(STAMP)-checks
	$(BIN)/python -m pytest -m slow $(PYTEST_FLAGS)

# What it finds becomes a test in tests/fuzz/findings. Without SEED, another one each time.
MINUTES ?= 2
SEED    ?=
fuzz: $(STAMP)-checks
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(SEED:%=--seed %)

# EACH mutants of each module, in results/mutants.jsonl; none is tried twice.
EACH ?= 5
mutants: $(STAMP)-faults
	$(BIN)/python -m tests.mutants --each $(EACH)

docs: $(STAMP)-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# BENCH_ARGS=--full measures everything; without it, some minutes' worth.
BENCH_ARGS ?=
bench: $(STAMP)-checks
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

clean:
	rm -rf $(VENV) .cache .hypothesis site build dist
