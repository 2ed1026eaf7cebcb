# Sluice. `make help` lists the targets; `make demo` and `make test` need nothing but Go.
SHELL := bash
.DEFAULT_GOAL := help
BIN := bin
export CGO_ENABLED ?= 0

# Packages whose tests run under the race detector in CI: those that share memory between goroutines.
RACE := ./pkg/jobs/... ./pkg/originals/... ./pkg/catalog/... ./pkg/control/... ./pkg/index/... ./pkg/crawl/... ./pkg/answer/... ./pkg/embed/... ./pkg/ingest/... ./pkg/api/...

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(shell cat deployments/golangci-version)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: demo
demo: build ## serve, ingest the documents and the web site of testdata, ask, show the cited answer
	go run ./deployments/demo -api $(BIN)/api

.PHONY: run
run: build ## leave the service up on 127.0.0.1:8080, data in ./data
	$(BIN)/api

.PHONY: build
build: ## the three static binaries, in bin/
	go build -ldflags '-s -w' -o $(BIN)/ ./cmd/...

.PHONY: test
test: ## all tests
	go test -timeout 10m ./...

.PHONY: test-race
test-race: ## the concurrent packages under the race detector
	CGO_ENABLED=1 go test -race -short -timeout 15m $(RACE)

.PHONY: bench
bench: ## benchmarks of every stage
	go test -run '^$$' -bench . -benchmem ./pkg/...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 30s) each
	@deployments/fuzz.sh $(or $(FUZZTIME),30s)

.PHONY: generate
generate: ## generated code, documents and tables
	go generate ./...

.PHONY: generate-check
generate-check: generate ## fails when generated files are not up to date
	@git diff --exit-code --stat || { echo "generated files are out of date: run make generate and commit"; exit 1; }

.PHONY: lint
lint: ## vet, gofmt and golangci-lint
	go vet ./...
	@test -z "$$(gofmt -l cmd pkg testdata)" || { gofmt -l cmd pkg testdata; echo "run gofmt -w"; exit 1; }
	$(GOLANGCI) run ./...

.PHONY: verify
verify: lint generate-check test test-race demo ## everything that CI checks
