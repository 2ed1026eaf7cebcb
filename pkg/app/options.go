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

// Options holds what a process needs besides its settings.
type Options struct {
	Log     *slog.Logger
	Out     io.Writer         // where an api process prints the API key on its first start; unused by workers
	Secrets domain.Secrets    // the operator's secrets, removed from responses and logs
	Traces  *telemetry.Traces // nil means no tracing

	hooks hooks
}

// hooks lets tests intercept calls within a process, for example to kill it at a given step, delay a response or set
// the clock. A nil hook has no effect.
type hooks struct {
	now       func() time.Time
	api       func(*api.Deps)
	publisher func(control.Publisher) control.Publisher
	indexes   func(ingest.Indexes) ingest.Indexes
}

// clock returns the clock for timestamps that other processes also see.
func (h hooks) clock() func() time.Time {
	if h.now != nil {
		return h.now
	}
	return func() time.Time { return time.Now().UTC() }
}
