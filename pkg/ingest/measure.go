package ingest

import (
	"context"

	"github.com/sluice/sluice/pkg/telemetry"
)

// Stages of processing a job.
const (
	StageFetch   = "fetch"   // fetching a page, or finding a site's pages
	StageRead    = "read"    // opening an original
	StageExtract = "extract" // extracting its text
	StageChunk   = "chunk"   // splitting the text into chunks
	StageEmbed   = "embed"   // embedding the chunks
	StageIndex   = "index"   // writing rows to the index
)

// Measure is called at the start of each stage. It returns a context for the stage and an `end` function, which must be
// called with the stage's error when the stage ends. A nil Measure measures nothing.
type Measure func(ctx context.Context, stage string, attributes ...telemetry.Attribute) (inner context.Context, end func(error))

// measureStage runs a stage and measures it.
func measureStage[T any](ctx context.Context, m Measure, stage string, run func(context.Context) (T, error), attributes ...telemetry.Attribute) (out T, err error) {
	if m == nil {
		return run(ctx)
	}
	ctx, end := m(ctx, stage, attributes...)
	defer func() { end(err) }()
	return run(ctx)
}
