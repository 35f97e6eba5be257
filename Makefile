# The few commands of the project. `make help` lists them.
GO      ?= go
MODULES := . cmd/lockstep

.DEFAULT_GOAL := help
.PHONY: help demo build test

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

demo: build ## find, shrink, explain and draw the papers' bug
	./bin/lockstep demo

build: ## bin/lockstep
	cd cmd/lockstep && $(GO) build -o ../../bin/lockstep .

test: ## everything that CI runs
	@set -e; for m in $(MODULES); do echo "== $$m"; (cd $$m && $(GO) vet ./... && $(GO) test ./...); done
