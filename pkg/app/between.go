package app

import (
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/ingest"
)

// between are the places where a test stands between the parts of the program, to end it, or to keep an answer back, at a
// step that it names, or to set the clock. Nothing is there in a program.
var between struct {
	now       func() time.Time
	api       func(*api.Deps)
	publisher func(control.Publisher) control.Publisher
	indexes   func(ingest.Indexes) ingest.Indexes
}

// wallClock is the clock that the parts of a program go by where it is about more than this process.
func wallClock() time.Time {
	if between.now != nil {
		return between.now()
	}
	return time.Now().UTC()
}
