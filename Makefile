# make demo        measure HDD against SSD with real Hadoop on an emulated cluster, and write a report
# make test        the tests, the lab's with real daemons among them
# make test-long   tests that take minutes each and that `make test` skips: Spark's losses on a lab, a cluster that restarts
# make faults      faults injected into campaigns on labs, within an hour: the tables of docs/measurements/reliability.md
# make fuzz        1,000 damaged copies a sample, then each parser and the reader of packages by coverage, a minute each (SECONDS=180: three)
# make test-fast   what needs Python alone, about a minute: no root, daemons, browser or network
# make check       lint, types, import directions, Rust's lint and form
# make wheel       dist/assay-….whl: installs without a source tree, Rust and Maven
# make docs        the documentation as a site with offline search: build/docs/index.html
# make bench       what assay itself costs, beside the bare job
.PHONY: demo test test-long faults fuzz test-fast check wheel docs bench setup setup-test setup-fast format
.DEFAULT_GOAL := help
# Images for containers often set this. Without stored bytecode, every start of assay compiles all of its modules again.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^# //p' Makefile

setup:
	@tools/setup.sh run

setup-test:
	@tools/setup.sh test

setup-fast:
	@tools/setup.sh fast

demo: setup
	@.venv/bin/assay demo --repository demo/repository -o demo/report.html

test: setup-test
	@.venv/bin/python tools/test.py

test-long: setup-test
	@ASSAY_LONG=1 .venv/bin/python -m pytest -m long --durations=20

faults: setup-test
	@.venv/bin/python tools/faults.py --at-once 2 --minutes 55

fuzz: setup-test
	@ASSAY_FUZZ=1000 .venv/bin/python -m pytest -q -n 2 -k damaged -p no:schemathesis tests/store/formats
	@.venv/bin/python tools/fuzz.py --seconds $(or $(SECONDS),60)

test-fast: setup-fast
	@.venv/bin/python -m pytest --fast -n 2 --dist loadfile -p no:schemathesis

check: setup-test
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@tools/check-rust.sh

wheel: setup-test
	@rm -f dist/assay-*.whl
	@.venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	@ls dist/assay-*.whl

docs: setup-fast
	@.venv/bin/python tools/docs.py

format: setup-test
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

bench: setup-test
	@for file in benchmarks/*.py; do echo "== $$file"; .venv/bin/python $$file || exit 1; done
