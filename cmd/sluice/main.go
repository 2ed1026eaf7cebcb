// Command sluice is the whole of Sluice in one program. Without configuration it is one process: HTTP API, embedded NATS server, ingestor and
// crawler, with everything kept in ./data.
//
//	sluice [serve] [settings]   serve the HTTP API (the default)
//	sluice ingestor             read documents for it, as one of any number of processes
//	sluice crawler              fetch web pages for it, as one of any number of processes
//	sluice COMMAND              run a command; `sluice --help` lists them
//
// Links to it named api, ingestor and crawler are these processes.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // does not return in a process that reads documents
	os.Exit(app.Main(app.ShapeOf(os.Args[0]), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
