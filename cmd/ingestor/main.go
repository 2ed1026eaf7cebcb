// Command ingestor is a worker that reads originals and writes their chunks to the index. Any number of ingestors can
// run next to the api processes. It needs NATS_URL and an index that supports multiple writing processes.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // never returns in a child process started to read documents
	os.Exit(app.Main(app.Ingestor, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
