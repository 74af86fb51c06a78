# GNU make 3.81 or newer. A target sets up what its command needs and calls it: `gpucluster` (packages/cli) reads the
# variables, and refuses one that it does not know. `make` alone lists the targets.

PYTHON ?= python3
# Runs before .venv exists, on the standard library alone.
BEFORE = @PYTHONPATH=packages/cli:packages/rehearsal $(PYTHON) -m
GPUCLUSTER = @.venv/bin/gpucluster

# With modules compiled once, each of the many Python processes starts sooner.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup setup-account setup-rehearsal setup-dev tools engine rehearse rehearse-changed report compare rehearse-stop preview pr-report scan quota pins plan deploy drift account prove stack-place gate-config gate-diff policy-pack facts faults mutants checkov bench bench-load bench-trace check quick test test-clients test-all clients docs site picture schemas format lock release clean moving-in sabotage

help: ## List the targets
	$(BEFORE) gpucluster.make

setup: ## Virtual environment (.venv) with what the program and the gate need; other targets add what they need
	$(BEFORE) gpucluster.environment program

setup-account: ## The same, and what `make account` and `make prove` need
	$(BEFORE) gpucluster.environment account

setup-rehearsal: ## The same, and what the rehearsal and .venv/bin/gpu need
	$(BEFORE) gpucluster.environment rehearsal

setup-dev: ## The same, and what checks and tests need
	$(BEFORE) gpucluster.environment dev

tools: ## Install all the binaries (each command installs what it needs); the last line is their folder (GPUCLUSTER_TOOLS_FROM=archives, or source to compile all; GPUCLUSTER_TOOLS_MIRROR=URL)
	$(BEFORE) rehearsal.tools

engine: ## Install the Pulumi CLI that the program is tested with; the last line is its folder
	$(BEFORE) rehearsal.tools pulumi pulumi-python

rehearse: setup-rehearsal ## Run the whole stack on this machine against a simulated cloud: up, GPU jobs, back to zero, destroy (STACK=, KEEP=1, APPLY=DIR, ACCOUNT=FILE, CLUSTER=DIR, DAYTWO=0 or all, FROM=inside, SEED=1, PLUGINS=DIR, CHARTS=DIR, CLUSTER_AUTOSCALER=PROGRAM; BASE=commit that is deployed: the update from it while a job runs; PROGRAM=DIR: a Pulumi program of yours)
	$(GPUCLUSTER) rehearse

rehearse-changed: setup-rehearsal ## Rehearse the stacks that differ from BASE=
	$(GPUCLUSTER) rehearse-changed

report: setup-rehearsal ## Write the HTML report of the last rehearsal again: build/rehearsal/<stack>/report.html (STACK=)
	$(GPUCLUSTER) report

compare: setup-rehearsal ## The last rehearsals of several stacks on one page (STACKS=dev,prod)
	$(GPUCLUSTER) compare

rehearse-stop: setup-rehearsal ## Stop what KEEP=1 left running, or a killed rehearsal left behind (STACK=, by default all)
	$(GPUCLUSTER) stop

preview: setup-rehearsal ## pulumi preview with the policy gate, pools, prices and quotas; no account needed (STACK=, BASE=commit to compare with, CLUSTER=DIR)
	$(GPUCLUSTER) preview

pr-report: setup-rehearsal ## What a change does to pools, jobs, prices and quotas, as a comment for a pull request (STACK=, a list, by default those that differ from BASE=; EVENTS=log of a real preview); the last line is its file
	$(GPUCLUSTER) pr-report

scan: setup-rehearsal ## The gate's findings as SARIF for code scanning, in build/gate.sarif; no account needed (STACK=)
	$(GPUCLUSTER) scan

quota: setup-rehearsal ## Quotas that a stack at its maximum needs and where to ask, on GKE also APIs and roles; no account needed (STACK=)
	$(GPUCLUSTER) quota

pins: setup-rehearsal ## List every image, chart and plugin that a stack installs, with its digest or "not pinned" (STACK=, CHARTS=DIR: also of charts, UPDATE=1: ask the registries and write what is missing)
	$(GPUCLUSTER) pins

plan: setup ## pulumi preview with the gate against the cloud account: build/plan.json for `make deploy`, build/plan.md to read, build/plan.events.jsonl for `make pr-report` (STACK=, REFRESH=1: undo drift, SECRETS=1: of charts and Secrets, too)
	$(GPUCLUSTER) plan

deploy: setup ## pulumi up with the gate, limited to the changes in build/plan.json (STACK=, REFRESH= and SECRETS= as for the plan)
	$(GPUCLUSTER) deploy

drift: setup ## What differs between the program, the state and the cloud, in build/drift.md; empty if nothing (STACK=, SECRETS=1: also of charts and Secrets)
	$(GPUCLUSTER) drift

account: setup-account ## Ask your cloud account, read-only, what `pulumi up` will meet: quotas, machines, names, rights (STACK=)
	$(GPUCLUSTER) account

prove: setup-account ## Show on the cluster of your kubeconfig what a rehearsal shows: nodes as declared, a first job per GPU pool, back to zero; asks for the price first (STACK=)
	$(GPUCLUSTER) prove

stack-place: setup ## Check a stack file and print its cloud and region (STACK=)
	$(GPUCLUSTER) stack-place

gate-config: setup ## Check the gate's configuration of a stack; the last line is its file (STACK=)
	$(GPUCLUSTER) gate-config

gate-diff: setup ## Fail if the changes since BASE= loosen the gate, and list what they loosen
	$(GPUCLUSTER) gate-diff

policy-pack: setup ## Export the gate as a folder for other programs, to run or to publish; the last line is the folder (PACK=)
	$(GPUCLUSTER) policy-pack

facts: setup ## How old prices, machines, quotas and the clouds' rules are, and where they come from
	$(GPUCLUSTER) facts

faults: setup-rehearsal ## Faults of the program that the gate refuses (CASE=; without any, list them), or of clouds and engine while a stack is updated (STACK=, SEED=1, N=20: fewer calls, ALL=1: each call in every way)
	$(GPUCLUSTER) faults

mutants: setup-rehearsal ## Change inputs of the program one by one and count which checks notice (STACK=, N=100, SEED=1, UPDATE=1, OBJECTS=1: of objects in the cluster)
	$(GPUCLUSTER) mutants

checkov: setup-dev ## What Checkov, another project's scanner, reports on the resources that a stack declares (STACK=)
	$(GPUCLUSTER) checkov

bench: setup-rehearsal ## Benchmark the gate, the number of pools, the rehearsal's stages and scheduling, as ratios
	$(GPUCLUSTER) bench

bench-load: setup-rehearsal ## How late pods start and end in a large simulated fleet: one-GPU jobs fill nodes (NODES=50, JOBS=500, SECONDS=0.24 a job to submit them)
	$(GPUCLUSTER) bench-load

bench-trace: setup-rehearsal ## What a list of jobs costs on published designs, on a stack's pools and on those of `gpu plan`, and at least (STACK=, TRACE=file.csv or a generated one, SEED=1)
	$(GPUCLUSTER) bench-trace

check: setup-dev ## Style, types, dead code, layers, workflows, shell scripts, generated docs, locks; about a minute
	$(GPUCLUSTER) check

quick: setup-dev ## Fast tests that need no built program (WORKERS=3 at once, ARGS= goes to pytest)
	$(GPUCLUSTER) quick

test: setup-dev ## The tests required to merge: quick, longer ones, the gate in the real engine, a rehearsal; about 18 minutes
	$(GPUCLUSTER) test

test-clients: setup-dev ## A real JupyterHub and a real SkyPilot on a rehearsed cluster
	$(GPUCLUSTER) test-clients

test-all: setup-dev ## Everything: test, every stack and every fault on real binaries, test-clients
	$(GPUCLUSTER) test-all

clients: setup-dev ## Install Checkov, JupyterHub and SkyPilot from their lock files, each in build/clients (CLIENT=: only one)
	$(GPUCLUSTER) clients

docs: setup-dev ## Regenerate docs/configuration.md, docs/policies.md, the tables of docs/operations.md, the README's picture and the site
	$(GPUCLUSTER) docs

site: setup-dev ## The pages as a site that opens from disk; the last line is its first page
	$(GPUCLUSTER) site

picture: setup-rehearsal ## Redraw the README's picture from the last rehearsal (STACK=)
	$(GPUCLUSTER) picture

schemas: setup-rehearsal ## Regenerate schemas/ from the installed SDKs and the vendors' models
	$(GPUCLUSTER) schemas

format: setup-dev ## Let ruff format and fix what it can
	$(GPUCLUSTER) format

lock: setup-dev ## Resolve all requirements into uv.lock, and write the lists that are exported from it
	$(GPUCLUSTER) lock

release: setup-dev ## What the tag VERSION= publishes, in build/release: wheel of gpu, policy pack, changelog's section, hashes
	$(GPUCLUSTER) release

clean: ## Delete .venv and build/ (the binaries stay in their cache)
	rm -rf .venv build

# Kept for one version, to say what to use instead.
moving-in:
	@echo "make moving-in is now a page with the keys to write: docs/moving-in.md" >&2; exit 2

sabotage:
	@echo "make sabotage is now: make faults" >&2; exit 2
