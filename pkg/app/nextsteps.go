package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/domain"
)

// errStopIteration stops the iteration over the datastores after the first one.
var errStopIteration = errors.New("found a datastore")

// printNextSteps prints next steps if the service is empty. It ignores errors, because the text is optional.
func (s *Service) printNextSteps(ctx context.Context) {
	if err := s.catalog.EachDatastore(ctx, func(domain.Datastore) error { return errStopIteration }); err != nil {
		return
	}
	program := filepath.ToSlash(os.Args[0])
	here := "" // environment variables the commands need to find this service
	if s.Addr() != cli.DefaultAddr {
		here += fmt.Sprintf(" SLUICE_URL=http://%s", s.Addr())
	}
	if s.config.APIKey != "" {
		here += " SLUICE_API_KEY=…"
	} else if s.dir.Path() != defaultDataDir() {
		here += " SLUICE_DATA_DIR=" + s.dir.Path()
	}
	if here != "" {
		here = "\n  export" + here
	}
	fmt.Fprintf(s.options.Out, `There are no datastores yet. In another terminal, run:%[2]s
  %[1]s ingest FOLDER --datastore Handbook --create
  %[1]s query "words to look for" --datastore Handbook
  %[1]s ask "a question" --datastore Handbook
`, program, here)
}

// defaultDataDir returns the commands' default data directory.
func defaultDataDir() string {
	abs, err := filepath.Abs("data")
	if err != nil {
		return ""
	}
	return abs
}
