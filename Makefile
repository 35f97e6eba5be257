# The few commands of the project; `make` alone lists them.
GO      ?= go
# Modules with heavy dependencies are modules of their own, so that `go get` of the library is light.
PLAIN   := . fleet internal/integration internal/lint internal/paper remote target/bftsmart target/etcdraft target/kafka target/zookeeper
# Go programs in virtual time are tested with the overlay, as users run them. Those of UNKNOWN have no target.
UNKNOWN := internal/unknown/dragonboattest internal/unknown/mqtttest internal/unknown/redsynctest internal/unknown/serftest
VIRTUAL := target/tendermint target/etcdserver target/nats target/hashicorpraft target/memberlist $(UNKNOWN)
ALL     := $(PLAIN) $(VIRTUAL)
# So many modules are tested at once.
JOBS    ?= 2
# A package that takes longer hangs; a busy machine is no reason to fail.
TIMEOUT := 40m
SIDE_BY_SIDE := $(MAKE) --no-print-directory -j$(JOBS) -Otarget
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0
GOVULN   := golang.org/x/vuln/cmd/govulncheck@v1.8.0

# Without cgo the C compiler is not run for packages of the standard library that have C in them, and the command, the
# analyzers and the tests share their builds.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help reference demo build setup setup-all test test-all clients/java FORCE install-test docs site overlay race exact versions older systems papers reports fleet fleet-speed vet properties mutants bench fuzz release lint vuln tidy

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /:/' | column -t -s:

demo: build ## find, shrink, explain and draw the papers' bug
	./bin/lockstep demo

# The command is in the root module: nothing is fetched for the others.
build: export GOWORK = off
build: ## build bin/lockstep
	$(GO) build -o bin/lockstep ./cmd/lockstep

setup: ## install what `make test` needs beside Go: spin, gcc, python3, Redis
	@sh scripts/setup.sh

setup-all: ## install what `make test-all` needs, too: chromium, a JDK, Maven
	@sh scripts/setup.sh all

test: setup build bin/lint ## what to run before a commit: vet, the determinism analyzer and small instances of all tests; installs what they need
	@$(SIDE_BY_SIDE) $(VIRTUAL:%=virtual/%) overlay $(PLAIN:%=plain/%)

test-all: export LOCKSTEP_FULL = 1
test-all: setup-all build bin/lint site ## everything, in full: also JVM systems, browsers, the site, the race detector, installation without a checkout, the linters, each fuzz target for 5 s
	@$(SIDE_BY_SIDE) $(ALL:%=plain/%) clients/java
	@$(SIDE_BY_SIDE) $(VIRTUAL:%=virtual/%) overlay
	@$(MAKE) --no-print-directory race install-test tidy lint
	@$(MAKE) --no-print-directory fuzz FUZZTIME=5s

plain/%: # a module as it is
	@echo "== $*"
	@$(GO) -C $* vet -vettool=$(CURDIR)/bin/lint ./...
	@LOCKSTEP_STRICT=1 $(GO) -C $* test -timeout $(TIMEOUT) -vet=off ./...

virtual/%: # a module with the overlay
	@echo "== $* with the overlay"
	@cd $* && $(CURDIR)/bin/lockstep go vet -vettool=$(CURDIR)/bin/lint ./...
	@cd $* && LOCKSTEP_STRICT=1 $(CURDIR)/bin/lockstep go test -timeout $(TIMEOUT) -vet=off ./...

clients/java: # the client in Java, with its own tests
	@echo "== clients/java"; mvn -q -B -f clients/java verify

bin/lint: FORCE
	@$(GO) build -o bin/lint ./internal/lint

FORCE:

install-test: ## what a user without a checkout does, from a module proxy made from this one
	LOCKSTEP_INSTALL=1 LOCKSTEP_STRICT=1 $(GO) -C internal/integration test -count=1 -timeout 1h ./installtest

REFERENCE := . fleet target/bftsmart target/etcdraft target/etcdserver target/hashicorpraft target/kafka target/memberlist \
	target/nats target/tendermint target/zookeeper
reference: $(REFERENCE:%=reference/%) ## generate the parts of the reference pages that come from the code

reference/%: # the parts from one module
	LOCKSTEP_REWRITE=1 $(GO) -C $* test -run 'TestReference' $(if $(filter .,$*),./internal/reference,./...)

docs: .cache/site/bin/mkdocs ## the pages as a site in out/site, with all links and anchors checked
	.cache/site/bin/mkdocs build --clean
	@echo "open out/site/index.html"

site: # as docs; without the tools, which need PyPI, the tests learn why there is no site
	@rm -rf out/site out/no-site
	@if $(MAKE) --no-print-directory .cache/site/bin/mkdocs; then $(MAKE) --no-print-directory docs; else \
		mkdir -p out && echo "the tools of the site could not be installed from PyPI" | tee out/no-site; fi

.cache/site/bin/mkdocs: scripts/site.txt # from PyPI; needs python3 with venv
	python3 -m venv --clear .cache/site
	.cache/site/bin/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r scripts/site.txt
	@touch $@

overlay: build ## packages of goroutine systems with the overlay: exact runs, sockets in memory
	./bin/lockstep go test ./bubble ./bubble/sockettest ./examples/textbook
	./bin/lockstep go test -preempt ./bubble/preempttest ./bubble/preempttest
	cd internal/integration && ../../bin/lockstep go test ./bbolttest ./grpctest

race: export CGO_ENABLED = 1
race: export LOCKSTEP_FULL =
race: build ## the race detector: packages that start goroutines, and goroutine systems with the overlay
	$(GO) test -timeout $(TIMEOUT) -race . ./cli/... ./internal/pool/... ./process/...
	$(GO) -C fleet test -timeout $(TIMEOUT) -race .
	$(GO) -C remote test -timeout $(TIMEOUT) -race ./...
	./bin/lockstep go test -timeout $(TIMEOUT) -race ./examples/textbook
	cd target/hashicorpraft && ../../bin/lockstep go test -timeout $(TIMEOUT) -race -run 'TCP|First' .

exact: build ## a table: how many of 100 seeds are the same, byte for byte, in 10 processes at once, without the overlay and with it
	cd target/hashicorpraft && LOCKSTEP_PROCESSES=10 $(GO) test -count=1 -timeout 1h -v -run Exactly .
	cd target/hashicorpraft && LOCKSTEP_PROCESSES=10 ../../bin/lockstep go test -count=1 -timeout 1h -v -run Exactly .
	cd target/memberlist && LOCKSTEP_PROCESSES=10 ../../bin/lockstep go test -count=1 -timeout 1h -v -run Exactly .
	cd target/tendermint && LOCKSTEP_PROCESSES=10 ../../bin/lockstep go test -count=1 -timeout 1h -v -run Exactly .
	cd target/etcdserver && LOCKSTEP_PROCESSES=10 ../../bin/lockstep go test -count=1 -timeout 1h -v -run Exactly .
	cd target/nats && LOCKSTEP_PROCESSES=10 ../../bin/lockstep go test -count=1 -timeout 1h -v -run Exactly .

versions: build older ## known bugs of hashicorp/raft and CometBFT, in the versions that had them and in those that fixed them, and etcd 3.4
	@set -e; cd target/hashicorpraft; for v in v1.7.0 v1.7.1 v1.8.0; do GOWORK=off $(GO) test -modfile $$($(GO) run ../../internal/modules modfile $$v) -run KnownBugs .; done; \
	for v in v1.3.10 v1.3.11; do GOWORK=off $(GO) test -modfile $$($(GO) run ../../internal/modules modfile $$v) -tags v1.3 -run KnownBugs .; done
	@set -e; cd target/tendermint; for v in v0.34 v1.0; do GOWORK=off $(GO) test -modfile $$($(GO) run ../../internal/modules modfile $$v) -tags $$v ./...; done; \
	for v in v0.38.16 v0.38.17; do GOWORK=off $(GO) test -modfile $$($(GO) run ../../internal/modules modfile $$v) -run KnownBugs .; done; \
	for v in v0.30.0 v0.30.1; do GOWORK=off ../../bin/lockstep go test -modfile $$($(GO) run ../../internal/modules modfile $$v) -tags v0.30 -timeout 1h -run Halts . -halts 300; done

older: build ## the tests of etcd's servers with a release of 3.4, whose known bugs are reported and do not fail
	cd target/etcdserver && GOWORK=off ../../bin/lockstep go test -modfile $$($(GO) run ../../internal/modules modfile v0.5) -timeout 30m .

# Time is real there: nothing else should run. EACH is the time for a row of a table.
EACH ?= 1h
LONG := $(GO) test -count=1 -timeout 0 -v .
systems: build reports ## days of campaigns on servers in processes: the tables of the papers, published runs, campaigns that are killed at any moment (EACH=1h a row)
	cd target/cassandra && $(LONG) -run 'Published|Agrees|Alone|Newer|Killed' -long
	cd target/ratis && $(LONG) -run 'Heartbeat|Deadlock|Killed' -long
	cd target/zookeeper && $(LONG) -run 'Reported|DivergesOtherwise|Agrees|Foretold|Killed' -long
	./bin/lockstep paper cassandra --each $(EACH)
	./bin/lockstep paper ratis --each $(EACH)
	./bin/lockstep paper zookeeper --each $(EACH)
	./bin/lockstep paper zookeeper --release 3.9.5 --each $(EACH)
	./bin/lockstep paper bftsmart --runs 100
	cd target/kafka && $(LONG) -run 'Safe|Measured|Killed' -long
	cd target/etcd && $(LONG) -run 'StaleMeasured|Linearizable' -long
	cd target/bftsmart && $(LONG) -run 'Scenarios|Replay|Alone' -replay . -times 5 -alone 10
	sh scripts/etcdserver/known.sh 60 v3.5.2 v3.5.4 v3.5.5 v3.5.7 v3.5.8 v3.5.13 v3.5.14 v3.5.15 v3.5.16
	BUGS=20221 sh scripts/etcdserver/known.sh 100 v3.5.21 v3.5.22
	cd target/nats && for v in v2.12.1 v2.12.15; do GOWORK=off ../../bin/lockstep go test -modfile $$($(GO) run ../../internal/modules modfile $$v) -count=1 -timeout 0 -v -run KnownBugs . -known 100; done

papers: export LOCKSTEP_PAPERS = $(CURDIR)/bin/lockstep
papers: build ## all tables of the papers at a small size, in ten minutes of CPU time, against the stored ones
	$(GO) -C internal/paper test -count=1 -timeout 1h -v -run 'Papers' .

reports: ## the programs of the bug reports, which show bugs of other software without Lockstep, against their expected output
	LOCKSTEP_STRICT=1 $(GO) test -count=1 -timeout 1h -v -run Programs ./internal/reports -programs

fleet: ## a million runs by eight workers that are killed at random, with a restart of the server; 200 workers that report ten times a second
	FLEET_RUNS=1000000 FLEET_STRATEGY=walk:steps=150 FLEET_WORKERS=8 FLEET_KILLS=40 $(GO) -C fleet test -count=1 -timeout 1h -v -run TestKilled .
	FLEET_PROGRAMS=1 $(GO) -C fleet test -count=1 -timeout 1h -v -run TestPrograms .
	FLEET_REPORTERS=200 FLEET_REPORTS=600 FLEET_EVERY_MS=100 $(GO) -C fleet test -count=1 -timeout 1h -v -run TestReports .

fleet-speed: build ## runs a second of run, of a fleet of one worker and of two
	sh scripts/fleet/speed.sh

vet: bin/lint ## go vet, and no clock, global random source, goroutine or map order where runs happen
	@set -e; for m in $(ALL); do echo "== $$m"; $(GO) -C $$m vet -vettool=$(CURDIR)/bin/lint ./...; done

PROPERTIES := etcdraft etcdraft35 hashicorpraft memberlist etcdserver nats cometbft tendermint
properties: build ## a table: the share of runs that check each property with default options (PROPERTIES="etcd ratis" for others, RUNS=100)
	$(GO) run ./internal/properties -runs $(or $(RUNS),100) $(PROPERTIES)

mutants: ## known bugs in our own engine, strategies, shrinker and replay: which of them the tests find
	$(GO) run ./internal/selfmutants

bench: ## speed, as ratios to loops written by hand
	$(GO) test ./target/smr ./sim -run '^$$' -bench .
	cd target/etcdraft && GOMAXPROCS=1 GOGC=400 $(GO) test -run '^$$' -bench Ratio -benchtime 3s .

# An interesting input is made smaller for ten executions at most: the default is a minute, in which a trace of
# kilobytes takes all of the time and little else is tried.
FUZZ := $(shell grep -r --include='*_test.go' '^func Fuzz' . | sed -E 's,^\./,,; s,/[^/]*_test.go:func (Fuzz[A-Za-z]*).*,@\1,' | sort)
fuzz: $(FUZZ:%=fuzz/%) ## all fuzz targets, one after the other, ten minutes each (FUZZTIME=10m)

fuzz/%: # one fuzz target, written directory@Name
	@echo "== fuzz $*"
	@GO=$(GO) sh scripts/fuzz.sh $(firstword $(subst @, ,$*)) $(lastword $(subst @, ,$*)) $(or $(FUZZTIME),10m)

release: ## check everything, then make archives in out/release and the tags of all modules (VERSION=v0.1.0; DRY_RUN=1 only checks)
	$(GO) run ./internal/modules tidy -diff
	$(GO) run ./internal/modules release $(VERSION) $(if $(DRY_RUN),-n)

lint: ## golangci-lint with the project's rules
	@set -e; for m in $(ALL); do echo "== $$m"; (cd $$m && $(GO) run $(GOLANGCI) run ./...); done

vuln: ## known vulnerabilities in what the project uses
	@set -e; for m in $(ALL); do echo "== $$m"; (cd $$m && $(GO) run $(GOVULN) ./...); done

tidy: ## go.mod files say exactly what is needed
	$(GO) run ./internal/modules tidy -diff
