# Sluice. `make help` lists the targets. `make demo` needs only Go. `make test` also needs python3 with pip, to install the
# engines that the tests use.
SHELL := bash
.DEFAULT_GOAL := help
BIN := bin
export CGO_ENABLED ?= 0

# Build tags that leave out unused code: Gin's MessagePack codec, and gRPC's traces at /debug/requests, which would link
# in html/template.
TAGS := nomsgpack,grpcnotrace
# Debug tables (DWARF) take a tenth of the compile time. The linker removes them from the program anyway, and stack traces
# and profiles do not need them. To use a debugger: make build DEBUG_TABLES=true.
DEBUG_TABLES ?= false
# GOFLAGS applies to builds and tests, so that both share the compiled packages.
export GOFLAGS := $(shell go env GOFLAGS) -tags=$(TAGS) -gcflags=all=-dwarf=$(DEBUG_TABLES)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Packages that share memory between goroutines. CI runs their tests with the race detector.
RACE := $(patsubst %,./pkg/%/...,admission jobs originals catalog control index crawl render answer embed ingest eval api rerank retrieve lockdir loadtest mcp telemetry)
# SQLite is C code translated to Go. Watching its memory would take most of the time and find no faults of Sluice.
RACE_FLAGS := -gcflags='modernc.org/sqlite/...=-race=false' -gcflags='modernc.org/libc/...=-race=false'

# Tests are linked without debug tables, and not vetted, because make lint does that and more.
TEST_FLAGS := -vet=off -ldflags=-w -timeout 15m

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(shell cat tools/golangci-version)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: goflags
goflags: ## print the go command's settings that all targets use, for GOFLAGS in a shell
	@echo '$(GOFLAGS)'

.PHONY: demo
demo: build ## serve, ingest the documents and the web site of testdata, ask, show the cited answer and a link to it
	go run ./tools/demo -api $(BIN)/sluice

.PHONY: run
run: build ## run the service on 127.0.0.1:8080, with its data in ./data
	$(BIN)/sluice

.PHONY: build
build: ## build the program, bin/sluice, and links to it with the names of its processes
	go build $(BUILD_FLAGS) -ldflags '$(if $(filter false,$(DEBUG_TABLES)),-s -w) -X github.com/sluice/sluice/pkg/app.version=$(VERSION)' -o $(BIN)/ ./cmd/sluice
	@cd $(BIN) && for name in api ingestor crawler; do ln -sf sluice $$name; done

.PHONY: test
test: ## run all tests, with real engines: PostgreSQL, Milvus, NATS clusters, Chromium; some minutes
	go run ./tools/local exec -- go test $(TEST_FLAGS) ./...

.PHONY: test-race
test-race: ## test the concurrent packages with the race detector, without tests that do not involve goroutines (-short)
	go run ./tools/local exec -- env CGO_ENABLED=1 go test -race $(RACE_FLAGS) $(TEST_FLAGS) -short $(RACE)

.PHONY: test-filters
test-filters: ## compare TEST_FILTERS random filters (default 100000) with a scan of all rows, in both engines
	TEST_FILTERS=$(or $(TEST_FILTERS),100000) go run ./tools/local exec -- go test ./pkg/index/embedded ./pkg/index/milvus -run '^TestConformance$$/random_filters|^TestConformance$$/./random_filters' -timeout 4h -count 1 -v

.PHONY: check-deployments
check-deployments: ## check chart, compose files, Dockerfile, NATS configuration, alerts and dashboard, without their tools
	cd tools/check && test -z "$$(gofmt -l .)" && go vet ./... && go test ./... && go run .

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 30s)
	@tools/fuzz.sh each $(or $(FUZZTIME),30s)

.PHONY: fuzz-core
fuzz-core: ## run the fuzz targets of readers, chunker, tokenizers, cursors, filters, requests and answers of models for FUZZTIME (default 60s) each, two per processor, from the stored corpora
	@tools/fuzz.sh core $(or $(FUZZTIME),60s)

.PHONY: generate
generate: ## generate code, documents and tables
	go generate ./...

.PHONY: generate-check
generate-check: generate ## fail if generated files are not up to date
	@git diff --exit-code --stat || { echo "generated files are out of date: run make generate and commit"; exit 1; }

.PHONY: lint
lint: ## run vet, gofmt and golangci-lint
	go vet ./...
	go vet -C tools/benchpeers/bleve .
	@test -z "$$(gofmt -l cmd pkg docs testdata tools)" || { gofmt -l cmd pkg docs testdata tools; echo "run gofmt -w"; exit 1; }
	$(GOLANGCI) run ./...

.PHONY: vulnerabilities
vulnerabilities: ## find known vulnerabilities that the programs can reach, with govulncheck; GOVULNDB: address of its database
	@tools/vulnerabilities.sh

.PHONY: sbom
sbom: build ## list the modules in the program as CycloneDX, in bin/sbom.cdx.json
	go run ./tools/sbom -o $(BIN)/sbom.cdx.json -version '$(VERSION)' $(BIN)/sluice

.PHONY: reproducible
reproducible: ## build the program twice, in two directories and with two caches, and compare the results
	@deployments/release/reproducible.sh

.PHONY: check-systems
check-systems: ## type-check the program for every release target, without compiling it; some 40 s
	go run ./tools/systems

.PHONY: release-check
release-check: check-systems ## check the release configuration, and build the complete archive of one system (TARGET=linux_arm64)
	@deployments/release/check.sh

.PHONY: verify
verify: lint generate-check vulnerabilities test test-race check-deployments demo ## run the checks of CI, except fuzzing

include tools/bench.mk
