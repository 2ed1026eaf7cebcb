package ingest

import (
	"context"

	"github.com/sluice/sluice/pkg/telemetry"
)

// The stages of the work on a job.
const (
	StageFetch   = "fetch"   // a page, or the list of a site's pages
	StageRead    = "read"    // finding an original
	StageExtract = "extract" // text from it
	StageChunk   = "chunk"   // cutting it
	StageEmbed   = "embed"   // passages
	StageIndex   = "index"   // writing rows
)

// Measure is called when a stage begins. It returns the context of the stage, and the function that is called with its
// error at the end. nil measures nothing.
type Measure func(ctx context.Context, stage string, attributes ...telemetry.Attribute) (inner context.Context, end func(error))

// measureStage runs a stage.
func measureStage[T any](ctx context.Context, m Measure, stage string, run func(context.Context) (T, error), attributes ...telemetry.Attribute) (out T, err error) {
	if m == nil {
		return run(ctx)
	}
	ctx, end := m(ctx, stage, attributes...)
	defer func() { end(err) }()
	return run(ctx)
}
