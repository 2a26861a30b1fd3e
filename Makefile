# make demo        measure HDD against SSD with real Hadoop on an emulated cluster, and write a report
# make test        every test, the lab's with real daemons among them
# make test-fast   what needs Python alone, under a minute: no root, daemons, browser or network
# make check       lint, types, import directions, Rust's lint and form
# make wheel       dist/assay-….whl: installs without a source tree, Rust and Maven
# make bench       what assay itself costs, beside the bare job
.PHONY: demo test test-fast check wheel bench setup setup-test setup-fast format
.DEFAULT_GOAL := help

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

# First what measures devices and links, by itself; then the rest, where labs stand one after the other in one process
# and the other has what needs none.
test: setup-test
	@status=0; \
	.venv/bin/python -m pytest -m alone --durations=20 || status=$$?; \
	.venv/bin/python -m pytest -m "not alone" -n 2 --dist loadgroup --durations=20 || status=$$?; \
	exit $$status

test-fast: setup-fast
	@.venv/bin/python -m pytest --fast -n auto --dist loadgroup

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

format: setup-test
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

bench: setup-test
	@for file in benchmarks/*.py; do echo "== $$file"; .venv/bin/python $$file || exit 1; done
