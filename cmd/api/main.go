// Command api is Sluice's HTTP service. By default, everything runs in this one process: the HTTP API, an embedded NATS
// server, an ingestor and a crawler. All data is kept in ./data.
//
//	api [serve] [settings]   serve the HTTP API (the default)
//	api COMMAND              run a command; `api --help` lists them
//
// `api serve --help` lists the settings.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/extract"
)

func main() {
	extract.RunChildIfAsked() // never returns in a child process started to read documents
	os.Exit(app.Main(app.API, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
