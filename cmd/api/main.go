// Command api is Sluice's HTTP service. Without configuration, all of Sluice runs in this one process: HTTP API,
// embedded NATS server, ingestor and crawler, with everything kept in ./data.
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
	extract.RunChildIfAsked() // in a child process started to read documents, this call never returns
	os.Exit(app.Main(app.API, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
