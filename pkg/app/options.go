package app

import (
	"io"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Options are what a process works with besides its settings.
type Options struct {
	Log     *slog.Logger
	Out     io.Writer         // where an api process writes the API key of its first start; a worker writes nothing
	Secrets domain.Secrets    // of the operator, which no answer and no log shows
	Traces  *telemetry.Traces // nil: none are made

	hooks hooks
}

// hooks are the places where a test stands between the parts of a process: it ends the process at a step that it names, keeps an answer
// back, or sets the clock. A nil hook changes nothing.
type hooks struct {
	now       func() time.Time
	api       func(*api.Deps)
	publisher func(control.Publisher) control.Publisher
	indexes   func(ingest.Indexes) ingest.Indexes
}

// clock is the clock that the parts of a process go by where it is about more than this process.
func (h hooks) clock() func() time.Time {
	if h.now != nil {
		return h.now
	}
	return func() time.Time { return time.Now().UTC() }
}
