// Command ingestor turns originals into rows of the index, as one of any number of workers beside the api processes.
// It needs NATS_URL and an index that several processes can write.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // does not return in a process that reads documents
	os.Exit(app.Main(app.Ingestor, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
