// Command sluice is all of Sluice in one program. Without configuration it runs as one process: HTTP API, embedded
// NATS server, ingestor and crawler. All data is kept in ./data.
//
//	sluice [serve] [settings]   serve the HTTP API (the default)
//	sluice ingestor             read documents for a service; any number can run
//	sluice crawler              fetch web pages for a service; any number can run
//	sluice COMMAND              run a command; `sluice --help` lists them
//
// A program started through a link named api, ingestor or crawler acts as the program of that name.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // in a child process started to read documents, this call never returns
	os.Exit(app.Main(app.ShapeOf(os.Args[0]), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
