package catalogtest

import (
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/domain"
)

func testScans(t *testing.T, open world.Open) {
	world.Run(t, open, "a scanned document is followed by a scan job, which does not count as a job in the window", func(t *testing.T, w *world.World) {
		for range 3 {
			w.CreateFile()
		}
		for _, job := range w.PublishAll() {
			ev := job.Event(domain.EventPostponed, w.Clock.Now())
			ev.Force = true
			world.Must(w.Apply(w.Ctx, ev))(t)
			d := world.Must(w.Datasource(w.Ctx, w.WS, job.DatasourceID))(t)
			world.Equal(t, []any{domain.StatusUnsynched, domain.StageScan}, []any{d.Status, d.Progress.Stage})
		}
		inFlight := world.Must(w.InFlightByWorkspace(w.Ctx))(t)
		world.Equal(t, 0, len(inFlight.Other)+len(inFlight.Scans))

		text := w.CreateFile()
		full := pipeline.NewWindow(0, 1, map[string]int{}).WithScans(2, map[string]int{})
		jobs := world.Must(w.Next(w.Ctx, full, 0))(t)
		world.Equal(t, 1, len(jobs)) // one slot stays free for other workspaces' scans
		job := jobs[0]
		world.Equal(t, []any{domain.JobScan, domain.LaneLocalScan, true, true}, []any{job.Kind, job.Lane(), job.Force, job.Original != nil})
		w.Seq++
		world.OK(t, w.Published(w.Ctx, job, w.Seq))
		inFlight = world.Must(w.InFlightByWorkspace(w.Ctx))(t)
		world.Equal(t, []int{0, 1}, []int{inFlight.Other[w.WS], inFlight.Scans[w.WS]})

		free := pipeline.NewWindow(1, 0, map[string]int{}).WithScans(0, inFlight.Scans)
		jobs = world.Must(w.Next(w.Ctx, free, 10))(t)
		world.Equal(t, 1, len(jobs))
		world.Equal(t, []any{text.ID, domain.JobIngest}, []any{jobs[0].DatasourceID, jobs[0].Kind})
		world.Equal(t, 3, len(world.Must(w.Outbox(w.Ctx, 10))(t)))

		job.Generation = w.Seq
		ev := job.Event(domain.EventSynched, w.Clock.Now())
		ev.Chunks, ev.Bytes = 1, 10
		world.Must(w.Apply(w.Ctx, ev))(t)
		d := world.Must(w.Datasource(w.Ctx, w.WS, job.DatasourceID))(t)
		world.Equal(t, []any{domain.StatusSynched, job.Generation}, []any{d.Status, d.ActiveGeneration})
	})
	world.Run(t, open, "a scan job follows when the text around a document's pictures is indexed", func(t *testing.T, w *world.World) {
		w.CreateFile()
		first := w.PublishAll()[0]
		ev := first.Event(domain.EventSynched, w.Clock.Now())
		ev.Chunks, ev.Bytes, ev.Scan = 1, 10, true
		world.Must(w.Apply(w.Ctx, ev))(t)
		d := world.Must(w.Datasource(w.Ctx, w.WS, first.DatasourceID))(t)
		world.Equal(t, []any{domain.StatusUnsynched, domain.StageScan, first.Generation}, []any{d.Status, d.Progress.Stage, d.ActiveGeneration})

		jobs := w.PublishAll()
		world.Equal(t, 1, len(jobs))
		world.Equal(t, []any{domain.JobScan, first.Generation}, []any{jobs[0].Kind, jobs[0].Previous.Generation})
		ev = jobs[0].Event(domain.EventSynched, w.Clock.Now())
		ev.Chunks, ev.Bytes = 2, 20
		ev.Document = &domain.DocumentInfo{InPictures: []domain.RecognisedText{{Offset: 10, Length: 10, Confidence: 0.9}}}
		world.Must(w.Apply(w.Ctx, ev))(t)
		d = world.Must(w.Datasource(w.Ctx, w.WS, first.DatasourceID))(t)
		world.Equal(t, []any{domain.StatusSynched, jobs[0].Generation}, []any{d.Status, d.ActiveGeneration})
		world.Equal(t, ev.Document, d.Config.Document)
	})
	world.Run(t, open, "a lost scan job is issued again as an ingest job", func(t *testing.T, w *world.World) {
		made := w.CreateFile()
		world.Must(w.Apply(w.Ctx, w.PublishAll()[0].Event(domain.EventPostponed, w.Clock.Now())))(t)
		w.PublishAll()
		w.Clock.Advance(time.Hour)
		stuck := w.StuckFor(time.Minute)
		world.Equal(t, 1, len(stuck))
		world.Equal(t, []any{made.ID, domain.JobIngest}, []any{stuck[0].ID, stuck[0].Job.Kind})
	})
}
