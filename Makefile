# GNU make 3.81 or newer. `make` alone lists the targets.

PYTHON ?= python3
STACK ?= dev
STACKS ?=
KEEP ?=
PLUGINS ?=
PROGRAM ?=
CHARTS ?=
APPLY ?=
SEED ?=
DAYTWO ?=
FROM ?=
CASE ?=
N ?=
UPDATE ?=
BASE ?= origin/main
ARGS ?=
EVENTS ?=
PACK ?= build/policy-pack
VERSION ?=
REFRESH ?=
SECRETS ?=
# On 2 cores: rehearsals wait for much of their time.
WORKERS ?= 3

VENV := .venv/bin
comma := ,
# Runs before .venv exists, on the standard library alone.
TOOLS = PYTHONPATH=packages/rehearsal $(PYTHON) -m rehearsal.tools
# The component package starts in the same environment (components/package/PulumiPlugin.yaml).
LINK = ln -sfn ../../.venv components/package/venv
REHEARSAL := $(if $(CHARTS),GPUCLUSTER_CHARTS="$(abspath $(CHARTS))") $(VENV)/python -m rehearsal
PYTEST = $(VENV)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Installs all binaries if need be (progress on stderr) and hands their folder to the command that follows.
WITH_TOOLS = tools="$$($(TOOLS))" && GPUCLUSTER_TOOLS="$$tools"

# With modules compiled once, each of the many Python processes starts sooner.
unexport PYTHONDONTWRITEBYTECODE

# A misspelt variable or value would be ignored in silence: refused before anything runs.
VARIABLES := ACCOUNT ALL APPLY ARGS BASE CASE CHARTS CLIENT CLUSTER_AUTOSCALER DAYTWO EVENTS FROM JOBS KEEP N NODES OBJECTS PACK PLUGINS PROGRAM PYTHON REFRESH SECONDS SECRETS SEED STACK STACKS TRACE UPDATE VERSION WORKERS
from_command_line = $(filter command,$(origin $(1)))
$(foreach name,$(.VARIABLES),$(if $(call from_command_line,$(name)),$(if $(filter $(VARIABLES) VENV GPUCLUSTER_% SHELL MAKE%,$(name)),,\
  $(error no variable is called $(name). Write one of $(VARIABLES)))))
# One name, its value, the values that it may have (none is also one).
only = $(if $(filter-out $(3),$(2))$(word 2,$(2)),$(error $(1)=$(2): write one of $(3)))
SWITCH := 1 yes true 0 no false
$(call only,KEEP,$(KEEP),$(SWITCH))
$(call only,UPDATE,$(UPDATE),$(SWITCH))
$(call only,OBJECTS,$(OBJECTS),$(SWITCH))
$(call only,REFRESH,$(REFRESH),$(SWITCH))
$(call only,SECRETS,$(SECRETS),$(SWITCH))
$(call only,ALL,$(ALL),$(SWITCH))
$(call only,DAYTWO,$(DAYTWO),0 no false 1 yes true brief all)

.DEFAULT_GOAL := help
.PHONY: help setup setup-rehearsal setup-dev tools rehearse rehearse-changed report compare rehearse-stop preview pr-report scan plan deploy drift engine gate-config gate-diff policy-pack stack-place moving-in quota faults mutants sabotage quick test clients checkov test-clients test-all check bench bench-load bench-trace docs site picture facts schemas lock format release clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ n = split($$2, words, " "); \
	  line = sprintf("make %-16s", $$1); for (i = 1; i <= n; i++) { if (length(line " " words[i]) > 80) { print line; \
	  line = sprintf("%21s", "") } line = line " " words[i] } print line }'

setup: ## Virtual environment (.venv) with what the program and the gate need; other targets add what they need
	@$(TOOLS).environment program && $(LINK)

setup-rehearsal: ## The same, and what the rehearsal, .venv/bin/gpucluster and .venv/bin/gpu need
	@$(TOOLS).environment rehearsal && $(LINK)

setup-dev: ## The same, and what checks and tests need
	@$(TOOLS).environment dev && $(LINK)

tools: ## Install all the binaries (each command installs what it needs); the last line is their folder (GPUCLUSTER_TOOLS_FROM=archives, or source to compile all; GPUCLUSTER_TOOLS_MIRROR=URL)
	@$(TOOLS)

rehearse: setup-rehearsal ## Run the whole stack on this machine against a simulated cloud: up, GPU jobs, back to zero, destroy (STACK=, KEEP=1, APPLY=DIR, ACCOUNT=FILE, DAYTWO=0 or all, FROM=inside, SEED=1, PLUGINS=DIR, CHARTS=DIR, CLUSTER_AUTOSCALER=PROGRAM; BASE=commit that is deployed: the update from it while a job runs; PROGRAM=DIR: a Pulumi program of yours)
	@$(REHEARSAL) rehearse "$(STACK)" $(if $(PROGRAM),--program "$(PROGRAM)") $(if $(filter-out 0 no false,$(KEEP)),--keep) $(if $(APPLY),--apply "$(APPLY)") $(if $(ACCOUNT),--account "$(ACCOUNT)") \
	  $(if $(DAYTWO),--day-two "$(if $(filter 0 no false,$(DAYTWO)),none,$(if $(filter all,$(DAYTWO)),all,brief))") $(if $(FROM),--from "$(FROM)") $(if $(SEED),--seed "$(SEED)") $(if $(PLUGINS),--plugins "$(PLUGINS)") $(if $(call from_command_line,BASE),--base "$(BASE)")

rehearse-changed: setup-rehearsal ## Rehearse the stacks that differ from BASE=
	@stacks="$$($(VENV)/python -m rehearsal.engine.changed_stacks "$(BASE)")" && echo "to rehearse: $${stacks:-none}" && \
	for stack in $$stacks; do $(REHEARSAL) rehearse "$$stack" || exit; done

report: setup-rehearsal ## Write the HTML report of the last rehearsal again: build/rehearsal/<stack>/report.html (STACK=)
	@$(REHEARSAL) report "$(STACK)"

compare: setup-rehearsal ## The last rehearsals of several stacks on one page (STACKS=dev,prod)
	@$(REHEARSAL) compare $(subst $(comma), ,$(STACKS))

rehearse-stop: setup-rehearsal ## Stop what KEEP=1 left running, or a killed rehearsal left behind (STACK=, by default all)
	@$(REHEARSAL) stop $(if $(filter command line,$(origin STACK)),"$(STACK)")

preview: setup-rehearsal ## pulumi preview with the policy gate, pools, prices and quotas; no account needed (STACK=, BASE=commit to compare with)
	@$(REHEARSAL) preview "$(STACK)" $(if $(filter command line,$(origin BASE)),--base "$(BASE)")

pr-report: setup-rehearsal ## What a change does to pools, jobs, prices and quotas, as a comment for a pull request (STACK=, a list, by default those that differ from BASE=; EVENTS=log of a real preview); the last line is its file
	@$(REHEARSAL) pr-report $(if $(filter command line,$(origin STACK)),"$(STACK)") --base "$(BASE)" $(if $(EVENTS),--events "$(EVENTS)")

scan: setup-rehearsal ## The gate's findings as SARIF for code scanning, in build/gate.sarif; no account needed (STACK=)
	@mkdir -p build && rm -f build/gate.sarif
	@GPUCLUSTER_GATE_RESULT="$(abspath build/gate.sarif)" $(REHEARSAL) preview "$(STACK)"; code=$$?; \
	  $(VENV)/python -m policies.scan build/gate.sarif "$(STACK)" && exit $$code

# What needs an account runs the `pulumi` on PATH, which is logged in: https://www.pulumi.com/docs/iac/guides/basics/update-plans/
WITH_GATE = config="$$($(VENV)/python -m policies.config --stack "$(STACK)")" && pulumi --non-interactive --color never
# Helm has each release in a Secret, and lists all Secrets of the namespace to find it, which a reader may not.
IN_SECRETS = '**helm.sh/v3:Release::**' '**core/v1:Secret::**'
REFRESH_FLAGS = --refresh $(if $(filter-out 0 no false,$(SECRETS)),,$(addprefix --exclude=,$(IN_SECRETS)))
UPDATE_FLAGS = --stack "$(STACK)" $(if $(filter-out 0 no false,$(REFRESH)),$(REFRESH_FLAGS)) --policy-pack policies --policy-pack-config "$$config"

plan: setup ## pulumi preview with the gate against the cloud account: build/plan.json for `make deploy`, build/plan.md to read, build/plan.events.jsonl for `make pr-report` (STACK=, REFRESH=1: undo drift, SECRETS=1: of charts and Secrets, too)
	@mkdir -p build && rm -f build/plan.*
	@export PULUMI_DEBUG_COMMANDS=true && $(WITH_GATE) preview --diff --save-plan build/plan.json $(UPDATE_FLAGS) \
	  --event-log "$(abspath build/plan.events.jsonl)" > build/plan.txt 2>&1; code=$$?; cat build/plan.txt; \
	  { echo "### Update of stack $(STACK)" && { [ "$$(wc -c < build/plan.txt)" -le 900000 ] || echo "Shortened: read the whole in this job's log."; } && \
	  echo '~~~~~~diff' && head -c 900000 build/plan.txt | sed 's/^ *~~~/    ~~~/' && echo && echo '~~~~~~'; } > build/plan.md && exit $$code

deploy: setup ## pulumi up with the gate, limited to the changes in build/plan.json (STACK=, REFRESH= and SECRETS= as for the plan)
	@$(WITH_GATE) up --yes --plan build/plan.json $(UPDATE_FLAGS)

drift: setup ## What differs between the program, the state and the cloud, in build/drift.md; empty if nothing (STACK=, SECRETS=1: also of charts and Secrets)
	@mkdir -p build && rm -f build/drift.*
	@PULUMI_DEBUG_COMMANDS=true pulumi --non-interactive --color never preview $(REFRESH_FLAGS) --suppress-progress \
	  --stack "$(STACK)" --event-log build/drift.events.jsonl
	@PYTHONPATH=packages/rehearsal $(VENV)/python -m rehearsal.report.drift build/drift.events.jsonl > build/drift.md
	@cat build/drift.md

engine: ## Install the Pulumi CLI that the program is tested with; the last line is its folder
	@$(TOOLS) pulumi pulumi-python

gate-config: setup ## Check the gate's configuration of a stack; the last line is its file (STACK=)
	@$(VENV)/python -m policies.config --stack "$(STACK)"

gate-diff: setup ## Fail if the changes since BASE= loosen the gate, and list what they loosen
	@$(VENV)/python -m policies.gate_diff "$(BASE)"

policy-pack: setup ## Export the gate as a folder for other programs, to run or to publish; the last line is the folder (PACK=)
	@$(VENV)/python -m policies.bundle "$(PACK)"

stack-place: setup ## Check a stack file and print its cloud and region (STACK=)
	@$(VENV)/python -m components.settings "Pulumi.$(STACK).yaml"

moving-in:
	@echo "make moving-in is now a page with the keys to write: docs/moving-in.md" >&2; exit 2

quota: setup-rehearsal ## Quotas that a stack at its maximum needs and where to ask, on GKE also APIs and roles; no account needed (STACK=)
	@$(REHEARSAL) quota "$(STACK)"

faults: setup-rehearsal ## Faults of clouds and engine while a stack is updated (STACK=, SEED=1, N=20: fewer calls, ALL=1: each call in every way), or a fault of the program that the gate refuses (CASE=; without any, list them)
	@$(REHEARSAL) $(if $(or $(call from_command_line,STACK),$(SEED),$(N),$(ALL)),faults "$(STACK)" $(if $(SEED),--seed "$(SEED)") $(if $(N),--n "$(N)") \
	  $(if $(filter-out 0 no false,$(ALL)),--all),fault $(if $(CASE),"$(CASE)"))

mutants: setup-rehearsal ## Change inputs of the program one by one and count which checks notice (STACK=, N=100, SEED=1, UPDATE=1, OBJECTS=1: of objects in the cluster)
	@$(REHEARSAL) mutants "$(STACK)" $(if $(N),--n "$(N)") $(if $(SEED),--seed "$(SEED)") \
	  $(if $(filter-out 0 no false,$(UPDATE)),--update) $(if $(filter-out 0 no false,$(OBJECTS)),--objects)

sabotage:
	@echo "make sabotage is now: make faults" >&2; exit 2

quick: setup-dev ## Fast tests that need no built program (WORKERS=3 at once, ARGS= goes to pytest)
	@$(PYTEST) -m "not rehearsal and not exhaustive and not slow" $(ARGS)

test: setup-dev ## The tests required to merge: quick, the real engine and gate, a rehearsal per cloud and autoscaler
	@echo "test: unit tests, then rehearsals on real binaries; about 15 minutes in all"
	@$(WITH_TOOLS) $(PYTEST) -m "not exhaustive" $(ARGS)

clients: setup-dev ## Install Checkov, JupyterHub and SkyPilot from their lock files, each in build/clients (CLIENT=: only one)
	@for lock in packages/rehearsal/tests/clients/$(or $(CLIENT),*)/requirements.lock; do \
	  home="build/clients/$$(basename "$$(dirname "$$lock")")" && { cmp -s "$$lock" "$$home/installed.lock" || { \
	  $(VENV)/uv venv --quiet --clear --python "$(VENV)/python" "$$home" && \
	  VIRTUAL_ENV="$$home" $(VENV)/uv pip sync --quiet --require-hashes "$$lock" && cp "$$lock" "$$home/installed.lock"; }; } || exit; \
	done

checkov: CLIENT = checkov
checkov: clients ## What Checkov, another project's scanner, reports on the resources that a stack declares (STACK=)
	@tools="$$($(TOOLS) pulumi pulumi-python)" && $(VENV)/python -m rehearsal.second_opinion "$(STACK)" build/clients/checkov/bin/checkov "$$tools"

test-clients: clients ## A real JupyterHub and a real SkyPilot on a rehearsed cluster
	@$(WITH_TOOLS) $(VENV)/python -m pytest packages/rehearsal/tests/clients $(ARGS)

test-all: clients ## Everything: test, every stack, every fault, test-clients
	@echo "test-all: every stack and every fault on real binaries"
	@$(WITH_TOOLS) $(PYTEST) $(ARGS)

check: setup-dev ## Style, types, dead code, layers, workflows, shell scripts, generated docs; about a minute
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/basedpyright
	$(VENV)/vulture
	$(VENV)/python -m components.settings.docs --check
	$(VENV)/python -m policies.docs --check
	$(VENV)/python -m rehearsal.day_two.docs --check
	$(VENV)/python -m rehearsal.picture --check
	$(VENV)/python -m policies.config
	$(VENV)/python -m pytest -q tests/test_architecture.py
	$(VENV)/python -m schemas.generate --check
	@$(VENV)/python docs/site/build.py
	$(VENV)/shellcheck -e SC2034 packages/machines/pulumi-resource-gpucluster-machines $$(git ls-files '*.sh')
	@folder="$$($(TOOLS) actionlint)" && "$$folder/actionlint" -color
	$(VENV)/zizmor --offline --quiet .github
	$(VENV)/check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci examples/ci/gitlab.yml

bench: setup-rehearsal ## Benchmark the gate, the number of pools, the rehearsal's stages and scheduling, as ratios
	@$(REHEARSAL) bench

bench-load: setup-rehearsal ## How late pods start and end in a large simulated fleet: one-GPU jobs fill nodes (NODES=50, JOBS=500, SECONDS=120 to submit them)
	@$(VENV)/python -m rehearsal.bench.load $(if $(call from_command_line,NODES),--nodes "$(NODES)") \
	  $(if $(call from_command_line,JOBS),--jobs "$(JOBS)") $(if $(call from_command_line,SECONDS),--seconds "$(SECONDS)")

bench-trace: setup-rehearsal ## What a list of jobs costs on published designs, on a stack's pools and on those of `gpu plan`, and at least (STACK=, TRACE=file.csv or a generated one, SEED=1)
	@$(VENV)/python -m rehearsal.bench.traces "$(STACK)" $(if $(TRACE),--trace "$(TRACE)") $(if $(SEED),--seed "$(SEED)")

docs: setup-dev ## Regenerate docs/configuration.md, docs/policies.md, the tables of docs/operations.md, the README's picture and the site
	@$(VENV)/python -m components.settings.docs
	@$(VENV)/python -m policies.docs
	@$(VENV)/python -m rehearsal.day_two.docs
	@$(VENV)/python -m rehearsal.picture
	@$(MAKE) --no-print-directory site

site: setup-dev ## The pages as a site that opens from disk; the last line is its first page
	@$(VENV)/python docs/site/build.py

picture: setup-rehearsal ## Redraw the README's picture from the last rehearsal (STACK=)
	@$(VENV)/python -m rehearsal.picture --from "build/rehearsal/$(STACK)/report.json"

facts: setup ## How old prices, machines, quotas and the clouds' rules are, and where they come from
	@$(VENV)/python -m facts.catalog.ages facts/catalog/data/sources.csv packages/rehearsal/rehearsal/providers/sources.csv

schemas: setup-rehearsal ## Regenerate schemas/ from the installed SDKs and the vendors' models
	@$(VENV)/python -m schemas.generate

format: setup-dev ## Let ruff format and fix what it can
	@$(VENV)/ruff check --fix --quiet .
	@$(VENV)/ruff format .

# All requirements are resolved together first, and each lock takes its part of that: a package has one version in all.
# Versions stay as they are in the committed locks unless a requirement asks for another.
LOCK = $(VENV)/uv pip compile --quiet --universal --generate-hashes --python-version 3.10 --no-emit-index-url \
  --custom-compile-command "make lock"
REQUIREMENTS = requirements.txt packages/gpu/pyproject.toml packages/rehearsal/pyproject.toml requirements-dev.txt

lock: setup-dev ## Resolve all requirements into their .lock files, those of packages/rehearsal/tests/clients too
	@cat requirements.lock packages/gpu/requirements.lock packages/rehearsal/requirements.lock requirements-dev.lock > build/all.lock
	@$(LOCK) $(REQUIREMENTS) --output-file build/all.lock
	@for list in $(REQUIREMENTS); do \
	  lock="$$(echo "$$list" | sed 's/pyproject.toml$$/requirements.lock/; s/txt$$/lock/')" && \
	  $(LOCK) "$$list" --constraints build/all.lock --output-file "$$lock" || exit; \
	done
	@for list in packages/rehearsal/tests/clients/*/requirements.txt; do \
	  $(LOCK) "$$list" --output-file "$${list%.txt}.lock" || exit; \
	done

release: setup-dev ## What the tag VERSION= publishes, in build/release: wheel of gpu, policy pack, changelog's section, hashes
	@rm -rf build/release build/release-pack && mkdir -p build/release
	@.ci/changelog.sh "$(VERSION)" > build/release/NOTES.md
	@cd packages/gpu && "$(abspath $(VENV))/python" -m hatchling build -t wheel -d "$(abspath build/release)"
	@test -f build/release/gpucluster_gpu-$(VERSION:v%=%)-*.whl || { echo "packages/gpu/gpu/__init__.py: write the version of the tag $(VERSION)" >&2; exit 1; }
	@$(VENV)/python -m policies.bundle build/release-pack/gpucluster-policy-pack
	@tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$$(git log -1 --format=%ct)" --exclude=__pycache__ \
	  -czf "build/release/gpucluster-policy-pack-$(VERSION).tar.gz" -C build/release-pack gpucluster-policy-pack
	@cd build/release && sha256sum -- *.whl *.tar.gz NOTES.md > SHA256SUMS && cat SHA256SUMS

clean: ## Delete .venv and build/ (the binaries stay in their cache)
	rm -rf .venv build
