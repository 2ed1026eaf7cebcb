package app

import (
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/ingest"
)

// between are the places where a test stands between the parts of the program, to end it, or to keep an answer back, at a
// step that it names. Nothing is there in a program.
var between struct {
	api       func(*api.Deps)
	publisher func(control.Publisher) control.Publisher
	indexes   func(ingest.Indexes) ingest.Indexes
}
