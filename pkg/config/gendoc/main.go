// Command gendoc writes the documentation page for the settings.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sluice/sluice/pkg/config"
)

const head = `# Configuration

<!-- Generated from pkg/config by go generate; do not edit. -->

Each setting is an environment variable and a flag: the name in lower case, with hyphens and without ` + "`SLUICE_`" + ` (` + "`SLUICE_CRAWL_DELAY`, `--crawl-delay`; `NATS_URL`, `--nats-url`" + `). Flags override the environment. Unknown settings are errors. In a fleet, crawlers read ` + "`NATS_*`, [Crawler](#crawler), `SLUICE_SECRET_KEY`" + ` and the limits on pages; ingestors ` + "`NATS_*`, `MILVUS_*`" + `, the embedding model, [Ingestion](#ingestion) and the limits on documents. They ignore the rest, which is for api processes. Models on a server also need its address or key ([model servers](#model-servers)).

- **Sizes** are whole numbers, with or without a unit: ` + "`100MB`, `1G`, `512KiB`, `4096`" + `. K, M, G, T (or KB, …) are powers of 1,000, so 1 MB is 1,000,000 bytes; Ki, Mi, Gi, Ti (or KiB, …) are powers of 1,024. Case does not matter.
- **Durations** have a unit: ` + "`500ms`, `30s`, `1h30m`" + `.
`

const tail = `
## Caches

` + "`SLUICE_CACHE_MEMORY`" + ` is divided as follows: 4/15 each for index postings, index rows and vectors of recently embedded passages, 2/15 for an SQLite catalog, 1/15 for originals waiting to be read. By default, the postings get 1/64 of the memory of the cgroup or machine if that is more than 4/15; this memory is released when idle.
`

func main() {
	var b bytes.Buffer
	b.WriteString(head)
	config.Markdown(&b)
	b.WriteString(tail)
	if err := os.WriteFile(os.Args[1], b.Bytes(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}
