# Sluice. `make help` lists the targets. `make demo` needs nothing but Go; `make test` also python3 with pip, which brings
# the engines that it tests against.
SHELL := bash
.DEFAULT_GOAL := help
BIN := bin
export CGO_ENABLED ?= 0

# Build tags that leave out what nothing here uses: Gin's codec of MessagePack, and gRPC's traces at /debug/requests, which bring the
# templates of HTML. As a setting of the go command they hold for tests, too, which share what the build has compiled.
TAGS := nomsgpack,grpcnotrace
export GOFLAGS := $(shell go env GOFLAGS) -tags=$(TAGS)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# Packages whose tests run under the race detector in CI: those that share memory between goroutines.
RACE := $(patsubst %,./pkg/%/...,admission jobs originals catalog control index crawl render answer embed ingest eval api rerank retrieve lockdir loadtest mcp telemetry)
# SQLite is C in the form of Go: watching its memory takes most of the time, and finds nothing of ours.
RACE_FLAGS := -gcflags='modernc.org/sqlite/...=-race=false' -gcflags='modernc.org/libc/...=-race=false'

# Tests are linked without tables for debuggers, and not vetted once more: make lint does that, and more of it.
TEST_FLAGS := -vet=off -ldflags=-w -timeout 15m

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(shell cat deployments/golangci-version)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: demo
demo: build ## serve, ingest the documents and the web site of testdata, ask, show the cited answer and a link to it
	go run ./deployments/demo -api $(BIN)/sluice

.PHONY: run
run: build ## leave the service up on 127.0.0.1:8080, data in ./data
	$(BIN)/sluice

.PHONY: build
build: ## the program, bin/sluice, and links to it by the names of its processes
	go build $(BUILD_FLAGS) -ldflags '-s -w -X github.com/sluice/sluice/pkg/app.version=$(VERSION)' -o $(BIN)/ ./cmd/sluice
	@cd $(BIN) && for name in api ingestor crawler; do ln -sf sluice $$name; done

.PHONY: test
test: ## all tests, on real engines: PostgreSQL, Milvus, NATS clusters, Chromium; some minutes
	go run ./deployments/local exec -- go test $(TEST_FLAGS) ./...

.PHONY: test-race
test-race: ## the concurrent packages under the race detector, without the tests that are not about goroutines (-short)
	go run ./deployments/local exec -- env CGO_ENABLED=1 go test -race $(RACE_FLAGS) $(TEST_FLAGS) -short $(RACE)

.PHONY: chaos
chaos: ## the fleet under kills and stops of everything, for CHAOS (default 30m)
	TEST_CHAOS=$(or $(CHAOS),30m) go test -v -timeout 0 -run TestAFleetSurvivesChaos ./pkg/app

.PHONY: damage
damage: ## every file of a data directory spoiled in every way: mended, named or refused, never silently wrong; some minutes
	TEST_DAMAGE=1 go test -v -timeout 0 -run 'TestADamaged|TestDamageTo' ./pkg/app

.PHONY: backup-large
backup-large: ## a backup of SIZE (default 3GiB) of originals, and its restore: memory and speed of each
	TEST_BACKUP_SIZE=$(or $(SIZE),3GiB) go test -v -timeout 0 -run TestALargeBackup ./pkg/app

.PHONY: backup-fleet
backup-fleet: ## a fleet backed up by the tools of PostgreSQL and NATS as docs/deployment.md says, lost, and brought back in new engines
	GOBIN=$(abspath $(BIN)) go install github.com/nats-io/natscli/nats@v0.5.1
	TEST_BACKUP_FLEET=$(abspath $(BIN))/nats go test -v -timeout 0 -run TestAFleetComesBack ./pkg/app

.PHONY: overload
overload: ## a service on one processor, asked for three times of what it can do, for OVERLOAD (default 30s)
	TEST_OVERLOAD=$(or $(OVERLOAD),30s) go test -v -timeout 0 -run TestOverload ./pkg/app

.PHONY: soak
soak: ## mixed load at 80% of the capacity for SOAK (default 10m): nothing may grow; then make overload
	TEST_SOAK=$(or $(SOAK),10m) go test -v -timeout 0 -run TestSoak ./pkg/app
	$(MAKE) overload

.PHONY: faults
faults: ## every dependency refusing, silent, slow, cut and flapping under every kind of request, and kills at every write; FAULTS: part of a cell's name (nats/refuse)
	TEST_FAULTS=$(or $(FAULTS),1) go run ./deployments/local exec -- go test -v -timeout 0 -parallel 1 \
		-run 'TestEveryDependency|TestAProcessStarts|TestAKeyedUpload|TestAFullDisk|TestADisk|TestAProcessWith' ./pkg/app

.PHONY: crawl
crawl: ## a generated site of TEST_SITE_PAGES (default 5000) pages: crawled, refreshed, and with crawlers killed 20 times
	TEST_SITE_PAGES=$(or $(TEST_SITE_PAGES),5000) TEST_SITE_KILLS=$(or $(TEST_SITE_KILLS),20) go test -v -timeout 0 -parallel 1 \
		-run 'TestASite|TestAnUnchangedSite|TestARefresh|TestKilledCrawlers' ./pkg/app

.PHONY: crawl-content
crawl-content: ## documentation sites of five programs, fetched by apt into .cache: what is read of each page against the main region of its theme
	deployments/docsites.sh .cache/doc-sites
	TEST_DOC_SITES=$(abspath .cache/doc-sites)/usr/share/doc go test -v -count 1 -timeout 0 -run 'TestDocumentationSites' ./pkg/extract

.PHONY: engines
engines: ## PostgreSQL, Milvus and three NATS servers on this machine, until make engines-down; prints their settings
	@go run ./deployments/local up

.PHONY: engines-down
engines-down: ## stop them; their data stay in data/local
	@go run ./deployments/local down

.PHONY: check-deployments
check-deployments: ## chart, compose files, Dockerfile, NATS configuration, alerts and dashboard, without any of their tools
	cd deployments/check && test -z "$$(gofmt -l .)" && go vet ./... && go test ./... && go run .

.PHONY: check-clients
check-clients: ## clients and retrievers of Python and Node (OpenAI, MCP, LangChain, LlamaIndex), and those that five generators make, as their registries have them, against a service of its own
	deployments/check-clients.sh

.PHONY: check-contract
check-contract: ## the service against its OpenAPI document, by schemathesis in an environment of its own: CONTRACT_EXAMPLES, CONTRACT_SEED
	deployments/check-contract.sh

.PHONY: check-console
check-console: ## the console in a Chromium: axe on every view, 10,000 datasources, 1,000 files over a network that fails
	deployments/check-console.sh

.PHONY: bench
bench: ## benchmarks of every stage
	go test -run '^$$' -bench . -skip 'Filters|Recall|OfTheLimit|Growth|Approximate' -benchmem ./pkg/...

.PHONY: bench-index
bench-index: ## filters of 200,000 chunks proved against a full scan and timed, and recall of the dense leg, on every engine; VECTORS, QUERIES: files of real vectors
	for engine in embedded milvus; do \
		go test -v -run '^$$' -bench 'Filters|Recall|OfTheLimit' -benchtime 20x -timeout 0 ./pkg/index/$$engine \
			$(if $(VECTORS),-recall.vectors $(abspath $(VECTORS)) -recall.queries $(abspath $(QUERIES)) -recall.dimensions $(or $(DIMENSIONS),384)) || exit 1; \
	done

.PHONY: bench-peers
bench-peers: build ## queries beside the stores of Python, which it installs in an environment of its own: PEERS_VENV, else ~/.cache/sluice/peers; figures of docs/performance.md
	go run ./deployments/benchpeers -api $(BIN)/sluice $(if $(PEERS_VENV),-venv $(PEERS_VENV)) -write docs/performance.md

.PHONY: bench-pipelines
bench-pipelines: build ## from upload to searchable, beside LlamaIndex and Haystack, on made-up documents or those of FILES; BENCH_MODEL: with that model, too
	go run ./deployments/benchpipelines -api $(BIN)/sluice $(if $(FILES),-files $(FILES)) -write docs/performance.md

.PHONY: bench-report
bench-report: ## short benchmarks of each stage, beside the figures of the last release
	deployments/benchreport.sh

.PHONY: bench-figures
bench-figures: ## leave those figures, for the next release to be held against
	deployments/benchreport.sh write

.PHONY: bench-extract
bench-extract: build ## how well, how fast and in how much memory documents are read, beside other extractors; figures of docs/extraction.md
	go run ./deployments/benchextract -ingestor $(BIN)/ingestor -write docs/extraction.md

.PHONY: torture-extract
torture-extract: ## read every document whole, cut short and damaged; fails when one does harm
	go run ./deployments/benchextract -torture

.PHONY: bench-retrieval
bench-retrieval: build ## how good the fragments are that come back, on the collections of BENCH_IR, on both engines; docs/retrieval.md
	go run ./deployments/benchretrieval -api $(BIN)/sluice

.PHONY: bench-answers
bench-answers: build ## how good the built-in answerer's answers are, on the collections of BENCH_IR whose answers BENCH_ANSWERS has; docs/answers.md
	go run ./deployments/benchanswers -api $(BIN)/sluice

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 30s) each
	@deployments/fuzz.sh each $(or $(FUZZTIME),30s)

.PHONY: fuzz-core
fuzz-core: ## the fuzz targets of readers, chunker, tokenizers, cursors and filters for FUZZTIME (default 60s) each, two a processor, from the kept corpora
	@deployments/fuzz.sh core $(or $(FUZZTIME),60s)

.PHONY: generate
generate: ## generated code, documents and tables
	go generate ./...

.PHONY: generate-check
generate-check: generate ## fails when generated files are not up to date
	@git diff --exit-code --stat || { echo "generated files are out of date: run make generate and commit"; exit 1; }

.PHONY: lint
lint: ## vet, gofmt and golangci-lint
	go vet ./...
	go vet -C deployments/benchpeers/bleve .
	@test -z "$$(gofmt -l cmd pkg docs testdata deployments)" || { gofmt -l cmd pkg docs testdata deployments; echo "run gofmt -w"; exit 1; }
	$(GOLANGCI) run ./...

.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities that the programs can reach, by govulncheck; GOVULNDB: where its database is
	@deployments/vulnerabilities.sh

.PHONY: sbom
sbom: build ## what the program is built of, as CycloneDX, in bin/sbom.cdx.json
	go run ./deployments/sbom -o $(BIN)/sbom.cdx.json -version '$(VERSION)' $(BIN)/sluice

.PHONY: reproducible
reproducible: ## the program built twice, from two directories and with two caches, and compared
	@deployments/release/reproducible.sh

.PHONY: check-systems
check-systems: ## the program, type-checked for every system of a release without compiling them; some 40 s
	go run ./deployments/systems

.PHONY: release-check
release-check: check-systems ## the configuration of releases, and the archive of one system (TARGET=linux_arm64) made to its end
	@deployments/release/check.sh

.PHONY: verify
verify: lint generate-check vulnerabilities test test-race check-deployments demo ## what CI checks, but for its minutes of fuzzing
