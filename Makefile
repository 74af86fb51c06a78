# GNU make 3.81 or newer. `make` alone lists the targets.

PYTHON ?= python3
STACK ?= dev
KEEP ?=
PLUGINS ?=
CASE ?=
BASE ?= origin/main
ARGS ?=
WORKERS ?= 2

VENV := .venv/bin
REHEARSAL := $(VENV)/python -m rehearsal
# Installs the binaries if need be (progress on stderr) and hands their folder to the command that follows.
WITH_TOOLS = tools="$$($(PYTHON) -m rehearsal.tools)" && GPUCLUSTER_TOOLS="$$tools"

.DEFAULT_GOAL := help
.PHONY: help setup tools rehearse rehearse-changed rehearse-stop preview gate-config stack-place sabotage test check bench docs lock format clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-14s %s\n", $$1, $$2 }'

setup: ## Virtual environment with the locked Python packages (.venv)
	@$(PYTHON) -m rehearsal.tools.environment

tools: ## Install or check the binaries; the last line is their folder
	@$(PYTHON) -m rehearsal.tools

rehearse: setup ## The whole stack on this machine: up, GPU jobs, back to zero, down (STACK=, KEEP=1, PLUGINS=DIR)
	@$(WITH_TOOLS) $(REHEARSAL) run --stack "$(STACK)" $(if $(filter-out 0 no false,$(KEEP)),--keep) $(if $(PLUGINS),--plugins "$(PLUGINS)")

rehearse-changed: setup ## Rehearse the stacks that a change since BASE= touches
	@stacks="$$($(VENV)/python -m rehearsal.changed_stacks "$(BASE)")" && echo "to rehearse: $${stacks:-none}" && \
	$(WITH_TOOLS) && export GPUCLUSTER_TOOLS && for stack in $$stacks; do $(REHEARSAL) run --stack "$$stack" || exit; done

rehearse-stop: setup ## Stop what KEEP=1 left running, or a killed rehearsal left behind (STACK=, by default all)
	@$(WITH_TOOLS) $(REHEARSAL) stop $(if $(filter command line,$(origin STACK)),--stack "$(STACK)")

preview: setup ## pulumi preview with the policy gate, no account needed (STACK=)
	@$(WITH_TOOLS) $(REHEARSAL) preview --stack "$(STACK)"

gate-config: setup ## Check the gate's configuration of a stack; the last line is its file (STACK=)
	@$(VENV)/python -m policies.config --stack "$(STACK)"

stack-place: setup ## Check a stack file and print its cloud and region (STACK=)
	@$(VENV)/python -m components.settings.where "Pulumi.$(STACK).yaml"

sabotage: setup ## Break the program on purpose and see it refused (CASE=, none lists them)
	@$(WITH_TOOLS) $(REHEARSAL) sabotage $(if $(CASE),--case "$(CASE)")

test: setup ## All tests, rehearsals included (WORKERS=2 at once, ARGS= goes to pytest)
	@echo "test: unit tests, then rehearsals on real binaries; some minutes in all"
	@$(WITH_TOOLS) $(VENV)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

check: setup ## Style, types, dead code, workflows, generated docs, file length; half a minute
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/basedpyright
	$(VENV)/vulture
	$(VENV)/python -m components.settings.docs --check
	$(VENV)/python -m policies.docs --check
	$(VENV)/python -m policies.config
	@awk 'FNR == 401 { print FILENAME ": more than 400 lines, split it"; bad = 1 } END { exit bad }' $$(git ls-files '*.py')
	@folder="$$($(PYTHON) -m rehearsal.tools actionlint)" && "$$folder/actionlint" -color
	$(VENV)/zizmor --offline --quiet .github/workflows

bench: setup ## Ratios: the gate, the number of pools, the rehearsal's stages, scheduling
	@$(WITH_TOOLS) $(REHEARSAL) bench

docs: setup ## Regenerate docs/configuration.md and docs/policies.md
	@$(VENV)/python -m components.settings.docs
	@$(VENV)/python -m policies.docs

format: setup ## Let ruff format and fix what it can
	@$(VENV)/ruff check --fix --quiet .
	@$(VENV)/ruff format .

lock: setup ## Resolve requirements.txt into requirements.lock
	@$(VENV)/uv pip compile requirements.txt --quiet --universal --generate-hashes --python-version 3.10 \
	  --no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock

clean: ## Delete .venv and build/ (the binaries stay in their cache)
	rm -rf .venv build
