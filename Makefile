# Sluice. `make help` lists the targets. `make demo` needs nothing but Go; `make test` also python3 with pip, which brings
# the engines that it tests against.
SHELL := bash
.DEFAULT_GOAL := help
BIN := bin
export CGO_ENABLED ?= 0

# Build tags that leave out what nothing here uses: Gin's codec of MessagePack, and gRPC's traces at /debug/requests, which bring the
# templates of HTML.
TAGS := nomsgpack,grpcnotrace
# Tables for debuggers (DWARF) are a tenth of the time that compiling takes. The linker leaves them out of the program in any case;
# stack traces and profiles do not need them. For a debugger: make build DEBUG_TABLES=true.
DEBUG_TABLES ?= false
# As settings of the go command both hold for tests, too, which share what the build has compiled.
export GOFLAGS := $(shell go env GOFLAGS) -tags=$(TAGS) -gcflags=all=-dwarf=$(DEBUG_TABLES)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Packages whose tests run under the race detector in CI: those that share memory between goroutines.
RACE := $(patsubst %,./pkg/%/...,admission jobs originals catalog control index crawl render answer embed ingest eval api rerank retrieve lockdir loadtest mcp telemetry)
# SQLite is C in the form of Go: watching its memory takes most of the time, and finds nothing of ours.
RACE_FLAGS := -gcflags='modernc.org/sqlite/...=-race=false' -gcflags='modernc.org/libc/...=-race=false'

# Tests are linked without tables for debuggers, and not vetted once more: make lint does that, and more of it.
TEST_FLAGS := -vet=off -ldflags=-w -timeout 15m

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(shell cat tools/golangci-version)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: goflags
goflags: ## the settings of the go command that all targets use, for GOFLAGS in a shell
	@echo '$(GOFLAGS)'

.PHONY: demo
demo: build ## serve, ingest the documents and the web site of testdata, ask, show the cited answer and a link to it
	go run ./tools/demo -api $(BIN)/sluice

.PHONY: run
run: build ## leave the service up on 127.0.0.1:8080, data in ./data
	$(BIN)/sluice

.PHONY: build
build: ## the program, bin/sluice, and links to it by the names of its processes
	go build $(BUILD_FLAGS) -ldflags '$(if $(filter false,$(DEBUG_TABLES)),-s -w) -X github.com/sluice/sluice/pkg/app.version=$(VERSION)' -o $(BIN)/ ./cmd/sluice
	@cd $(BIN) && for name in api ingestor crawler; do ln -sf sluice $$name; done

.PHONY: test
test: ## all tests, on real engines: PostgreSQL, Milvus, NATS clusters, Chromium; some minutes
	go run ./tools/local exec -- go test $(TEST_FLAGS) ./...

.PHONY: test-race
test-race: ## the concurrent packages under the race detector, without the tests that are not about goroutines (-short)
	go run ./tools/local exec -- env CGO_ENABLED=1 go test -race $(RACE_FLAGS) $(TEST_FLAGS) -short $(RACE)

.PHONY: check-deployments
check-deployments: ## chart, compose files, Dockerfile, NATS configuration, alerts and dashboard, without any of their tools
	cd tools/check && test -z "$$(gofmt -l .)" && go vet ./... && go test ./... && go run .

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 30s) each
	@tools/fuzz.sh each $(or $(FUZZTIME),30s)

.PHONY: fuzz-core
fuzz-core: ## the fuzz targets of readers, chunker, tokenizers, cursors and filters for FUZZTIME (default 60s) each, two a processor, from the kept corpora
	@tools/fuzz.sh core $(or $(FUZZTIME),60s)

.PHONY: generate
generate: ## generated code, documents and tables
	go generate ./...

.PHONY: generate-check
generate-check: generate ## fails when generated files are not up to date
	@git diff --exit-code --stat || { echo "generated files are out of date: run make generate and commit"; exit 1; }

.PHONY: lint
lint: ## vet, gofmt and golangci-lint
	go vet ./...
	go vet -C tools/benchpeers/bleve .
	@test -z "$$(gofmt -l cmd pkg docs testdata tools)" || { gofmt -l cmd pkg docs testdata tools; echo "run gofmt -w"; exit 1; }
	$(GOLANGCI) run ./...

.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities that the programs can reach, by govulncheck; GOVULNDB: where its database is
	@tools/vulnerabilities.sh

.PHONY: sbom
sbom: build ## what the program is built of, as CycloneDX, in bin/sbom.cdx.json
	go run ./tools/sbom -o $(BIN)/sbom.cdx.json -version '$(VERSION)' $(BIN)/sluice

.PHONY: reproducible
reproducible: ## the program built twice, from two directories and with two caches, and compared
	@deployments/release/reproducible.sh

.PHONY: check-systems
check-systems: ## the program, type-checked for every system of a release without compiling them; some 40 s
	go run ./tools/systems

.PHONY: release-check
release-check: check-systems ## the configuration of releases, and the archive of one system (TARGET=linux_arm64) made to its end
	@deployments/release/check.sh

.PHONY: verify
verify: lint generate-check vulnerabilities test test-race check-deployments demo ## what CI checks, but for its minutes of fuzzing

include tools/bench.mk
