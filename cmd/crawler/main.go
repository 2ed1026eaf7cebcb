// Command crawler is a worker that fetches web pages and discovers sites. Any number of crawlers can run next to the
// api processes. It needs NATS_URL.
package main

import (
	"os"

	"github.com/sluice/sluice/pkg/app"
)

func main() {
	os.Exit(app.Main(app.Crawler, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
