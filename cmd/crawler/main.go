// Command crawler fetches pages and discovers sites, as one of any number of workers beside the api processes. It needs
// NATS_URL.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
)

func main() {
	os.Exit(app.Main(app.Crawler, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
