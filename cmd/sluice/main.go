// Command sluice is all of Sluice in one program. By default, everything runs in one process: the HTTP API, an embedded
// NATS server, an ingestor and a crawler. All data is kept in ./data.
//
//	sluice [serve] [settings]   serve the HTTP API (the default)
//	sluice ingestor             read documents for a service; any number can run
//	sluice crawler              fetch web pages for a service; any number can run
//	sluice COMMAND              run a command; `sluice --help` lists them
//
// If started through a link named api, ingestor or crawler, it behaves like the program with that name.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // never returns in a child process started to read documents
	os.Exit(app.Main(app.ShapeOf(os.Args[0]), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
