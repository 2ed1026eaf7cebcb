// Command gendoc writes the documentation page of the settings.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/sluice/sluice/pkg/config"
)

const head = `# Configuration

<!-- Generated from pkg/config by go generate; do not edit. -->

Each setting is an environment variable and a flag: the name in lower case, without ` + "`SLUICE_`" + `, with hyphens (` + "`SLUICE_CRAWL_DELAY`, `--crawl-delay`; `NATS_URL`, `--nats-url`" + `). Flags override the environment. Unknown settings are errors, and all errors are reported at once. Units of sizes are KiB, MiB, GiB (or KB, MB, GB), of durations s, m, h.

Most installations need only ` + "`SLUICE_DATA_DIR`, `SLUICE_ADDR`, `SLUICE_CHAT_MODEL` and `OPENAI_BASE_URL` or `OPENAI_API_KEY`" + `.
`

const tail = `
## Caches

` + "`SLUICE_CACHE_MEMORY`" + ` is divided into fifteenths: four each for postings of the embedded index, its rows, and vectors of recently embedded passages, two for an SQLite catalog, one for originals waiting to be read. By default, the postings get 1/64 of the memory of the control group or machine instead of their share, if that is more; they are released when idle.
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
