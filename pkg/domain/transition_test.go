package domain

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func source(change func(*Datasource)) Datasource {
	d := Datasource{
		ID: "src", WorkspaceID: "ws", DatastoreID: "store", Type: TypeFile, Name: "handbook.pdf",
		Status: StatusPending, Processing: Processing{JobID: "job-2", Runs: 1},
	}
	if change != nil {
		change(&d)
	}
	return d
}

// here is the place that serves readers, there is the move's destination, and gone is the place of an earlier move.
var (
	here  = Place{Engine: EngineEmbedded, Model: "model"}
	there = Place{Engine: EngineMilvus, Model: "model"}
	gone  = Place{Engine: EngineEmbedded, Model: "old model"}
)

func settled() Datastore {
	return Datastore{ID: "store", WorkspaceID: "ws", Type: here.Engine, EmbeddingModel: here.Model}
}

func moving() Datastore {
	d := settled()
	d.Move = &Move{ID: "move", To: there, Since: 5}
	return d
}

// rows returns a sweep for the datasource's rows in a place.
func rows(p Place, from, below uint64) Sweep {
	return Sweep{WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src", Place: p, From: from, Below: below}
}

func event(t EventType, job string, generation uint64, change func(*Event)) Event {
	ev := Event{
		Type: t, JobID: job, JobKind: JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src",
		Generation: generation, Places: []Place{here}, At: at,
	}
	if change != nil {
		change(&ev)
	}
	return ev
}

func TestApply(t *testing.T) {
	t.Parallel()
	fetched := func(ev *Event) {
		ev.JobKind = JobCrawl
		ev.Fetched = &Fetched{Original: Original{Key: "new", SHA256: "s", Size: 3, MIMEType: "text/html"}, Title: "Pumps", ETag: `"a"`}
	}
	tests := map[string]struct {
		before func(*Datasource)
		event  Event
		check  func(t *testing.T, d Datasource, out Outcome)
	}{
		"running of the newest job shows": {
			event: event(EventRunning, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusRunning, d.Status)
				equal(t, Outcome{Changed: true}, out)
			},
		},
		"running of an overtaken job changes nothing": {
			event: event(EventRunning, "job-1", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusPending, d.Status)
				equal(t, Outcome{}, out)
			},
		},
		"progress after the end does not reopen a job": {
			before: func(d *Datasource) { d.Status = StatusSynched },
			event:  event(EventProgress, "job-2", 7, func(ev *Event) { ev.Progress = &Progress{Stage: "embedding"} }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, Outcome{}, out)
			},
		},
		"progress of a job that is tried again says why, and the next run clears it": {
			event: event(EventProgress, "job-2", 7, func(ev *Event) {
				ev.Progress, ev.Error = &Progress{Stage: StageRetrying}, "connection refused"
			}),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, StatusRunning, d.Status)
				equal(t, "connection refused", d.Error)
				Apply(&d, settled(), event(EventRunning, "job-2", 7, nil))
				equal(t, "", d.Error)
			},
		},
		"the first synched activates its generation and sweeps nothing": {
			event: event(EventSynched, "job-2", 7, func(ev *Event) { ev.Chunks, ev.Bytes = 3, 99 }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, int64(3), d.Chunks)
				equal(t, at, *d.LastSynch)
				equal(t, Outcome{Changed: true, Settled: true}, out)
			},
		},
		"a newer generation sweeps the older rows": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Runs = 4, 2 },
			event:  event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, []Sweep{rows(here, 0, 7)}, out.Sweeps)
			},
		},
		"content of an overtaken job becomes active and leaves the status to the newer job": {
			event: event(EventSynched, "job-1", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, StatusPending, d.Status)
				equal(t, false, out.Settled)
			},
		},
		"a late synched of an older generation moves nothing back and has its rows swept": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Status = 9, StatusSynched },
			event:  event(EventSynched, "job-1", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(9), d.ActiveGeneration)
				equal(t, []Sweep{rows(here, 0, 9)}, out.Sweeps)
				equal(t, false, out.Changed)
			},
		},
		"synched twice changes nothing more": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Status = 7, StatusSynched },
			event:  event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, []Sweep(nil), out.Sweeps)
			},
		},
		"an error keeps the content that is active": {
			before: func(d *Datasource) { d.ActiveGeneration = 4 },
			event:  event(EventError, "job-2", 7, func(ev *Event) { ev.Error, ev.Progress = "the file is encrypted", &Progress{Stage: StageUnreadable} }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusError, d.Status)
				equal(t, StageUnreadable, d.Progress.Stage)
				equal(t, "the file is encrypted", d.Error)
				equal(t, uint64(4), d.ActiveGeneration)
				equal(t, true, out.Settled)
				equal(t, []Sweep{rows(here, 5, 8)}, out.Sweeps)
			},
		},
		"what a failed job has overtaken does not become active after it": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Fence, d.Status = 4, 7, StatusError },
			event:  event(EventSynched, "job-1", 6, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(4), d.ActiveGeneration)
				equal(t, StatusError, d.Status)
				equal(t, []Sweep{rows(here, 6, 7)}, out.Sweeps)
			},
		},
		"synched again, after a newer job has failed, takes nothing from readers": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Fence, d.Status = 6, 7, StatusError },
			event:  event(EventSynched, "job-1", 6, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(6), d.ActiveGeneration)
				equal(t, Outcome{}, out)
			},
		},
		"an error after the same job's synched is ignored": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Status = 7, StatusSynched },
			event:  event(EventError, "job-2", 7, func(ev *Event) { ev.Error = "late" }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, Outcome{}, out)
			},
		},
		"a fetched page becomes an ingest job with a derived id": {
			before: func(d *Datasource) { d.Type, d.Name, d.Config.SourceURL = TypeWebPage, "http://x/", "http://x/" },
			event:  event(EventFetched, "job-2", 7, fetched),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, IngestJobID("job-2", 7), out.Next.ID)
				equal(t, JobIngest, out.Next.Kind)
				equal(t, []Place{here}, out.Next.Places)
				equal(t, "new", out.Next.Original.Key)
				equal(t, out.Next.ID, d.JobID)
				equal(t, "Pumps", d.Name)
				equal(t, true, out.Settled)
			},
		},
		"fetching anew drops the original before": {
			before: func(d *Datasource) { d.Original = &Original{Key: "old"} },
			event:  event(EventFetched, "job-2", 7, fetched),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []string{"old"}, out.Sweeps[0].Originals)
				equal(t, uint64(0), out.Sweeps[0].Below)
			},
		},
		"a page fetched by an overtaken job is dropped": {
			before: func(d *Datasource) { d.Original = &Original{Key: "old"} },
			event:  event(EventFetched, "job-1", 7, fetched),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []string{"new"}, out.Sweeps[0].Originals)
				equal(t, "old", d.Original.Key)
			},
		},
		"the same fetched event applied twice keeps its page": {
			before: func(d *Datasource) { d.Original, d.JobID = &Original{Key: "new"}, IngestJobID("job-2", 7) },
			event:  event(EventFetched, "job-2", 7, fetched),
			check: func(t *testing.T, _ Datasource, out Outcome) {
				equal(t, Outcome{}, out)
			},
		},
		"the end of discovery leaves the site running until its pages are done": {
			before: func(d *Datasource) { d.Type = TypeWebSite },
			event:  event(EventSynched, "job-2", 7, func(ev *Event) { ev.JobKind = JobCrawl }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusRunning, d.Status)
				equal(t, true, d.DiscoveryDone)
				equal(t, uint64(0), d.ActiveGeneration)
				equal(t, true, out.Settled)
			},
		},
		"discovered pages are passed on and tell whether links are followed": {
			before: func(d *Datasource) { d.Type = TypeWebSite },
			event: event(EventDiscovered, "job-2", 7, func(ev *Event) {
				ev.Follow, ev.Links = true, []Link{{URL: "http://x/", Depth: 0}}
			}),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, true, d.FollowLinks)
				equal(t, []Link{{URL: "http://x/"}}, out.Links)
			},
		},
		"an unchanged page is synched without a new generation": {
			before: func(d *Datasource) { d.Type, d.ActiveGeneration = TypeWebPage, 4 },
			event:  event(EventUnchanged, "job-2", 7, func(ev *Event) { ev.Fingerprint = "of other bytes" }),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, "of other bytes", d.Fingerprint)
				equal(t, uint64(4), d.ActiveGeneration)
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := source(test.before)
			out := Apply(&d, settled(), test.event)
			test.check(t, d, out)
		})
	}
}

func TestApplyDuringAMove(t *testing.T) {
	t.Parallel()
	both := func(ev *Event) { ev.Places, ev.Chunks = []Place{here, there}, 3 }
	moved := func(ev *Event) { ev.Places, ev.Move, ev.Chunks = []Place{there}, "move", 3 }
	tests := map[string]struct {
		store  Datastore
		before func(*Datasource)
		event  Event
		check  func(t *testing.T, d Datasource, out Outcome)
	}{
		"fresh content becomes active here and reaches the new place": {
			store: moving(), event: event(EventSynched, "job-2", 7, both),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, &Target{Generation: 7, Chunks: 3}, d.Target)
				equal(t, Outcome{Changed: true, Settled: true}, out)
			},
		},
		"a move job reaches the new place and changes nothing that readers see": {
			store: moving(), before: func(d *Datasource) { d.ActiveGeneration, d.Chunks = 4, 2 },
			event: event(EventSynched, "job-2", 7, moved),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(4), d.ActiveGeneration)
				equal(t, int64(2), d.Chunks)
				equal(t, &Target{Generation: 7, Chunks: 3}, d.Target)
				equal(t, StatusSynched, d.Status)
			},
		},
		"a move job leaves the error that was there before": {
			store: moving(),
			before: func(d *Datasource) {
				d.ActiveGeneration, d.Resume = 4, &Resume{Status: StatusError, Error: "the page answers 404"}
			},
			event: event(EventSynched, "job-2", 7, moved),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, StatusError, d.Status)
				equal(t, "the page answers 404", d.Error)
				equal(t, (*Resume)(nil), d.Resume)
			},
		},
		"a move job that fails says so": {
			store: moving(), before: func(d *Datasource) { d.ActiveGeneration, d.Resume = 4, &Resume{Status: StatusSynched} },
			event: event(EventError, "job-2", 7, func(ev *Event) { moved(ev); ev.Error = "the model is gone" }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusError, d.Status)
				equal(t, "The document could not be moved to milvus with model: the model is gone", d.Error)
				equal(t, []Sweep{rows(there, 0, 8)}, out.Sweeps)
			},
		},
		"the job of a move that was given up leaves nothing behind": {
			store: settled(), before: func(d *Datasource) { d.ActiveGeneration, d.Resume = 4, &Resume{Status: StatusSynched} },
			event: event(EventSynched, "job-2", 7, moved),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, (*Target)(nil), d.Target)
				equal(t, []Sweep{rows(there, 0, 8)}, out.Sweeps)
			},
		},
		"rows from before the move do not count in the new place": {
			store: moving(), before: func(d *Datasource) { d.ActiveGeneration = 2 },
			event: event(EventSynched, "job-2", 5, both),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(5), d.ActiveGeneration)
				equal(t, (*Target)(nil), d.Target)
				equal(t, []Sweep{rows(here, 0, 5), rows(there, 0, 6)}, out.Sweeps)
			},
		},
		"content that became active here alone is to be moved again": {
			store:  moving(),
			before: func(d *Datasource) { d.ActiveGeneration, d.Target, d.MoveID = 4, &Target{Generation: 6}, "move" },
			event:  event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, (*Target)(nil), d.Target)
				equal(t, "", d.MoveID)
			},
		},
		"content that could be written here alone is to be moved, though it was asked for before": {
			store:  moving(),
			before: func(d *Datasource) { d.ActiveGeneration, d.MoveID = 4, "move" },
			event:  event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, StatusSynched, d.Status)
				equal(t, "", d.MoveID)
			},
		},
		"a job that wrote only where the datastore has left is issued anew": {
			store: settled(), event: event(EventSynched, "job-2", 7, func(ev *Event) { ev.Places = []Place{gone} }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(0), d.ActiveGeneration)
				equal(t, StatusUnsynched, d.Status)
				equal(t, []Place{here}, out.Next.Places)
				equal(t, out.Next.ID, d.JobID)
				equal(t, []Sweep{rows(gone, 0, 8)}, out.Sweeps)
			},
		},
		"rows from before the datastore moved in do not become active": {
			store: func() Datastore { d := settled(); d.Since = 9; return d }(),
			event: event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(0), d.ActiveGeneration)
				equal(t, JobIngest, out.Next.Kind)
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := source(test.before)
			out := Apply(&d, test.store, test.event)
			test.check(t, d, out)
		})
	}
}

// A move job copies rows without reading the document. They may already be active when the event is applied.
func TestCopiedRowsKeepTheDocument(t *testing.T) {
	t.Parallel()
	title := &DocumentInfo{Title: "Pumps"}
	for move, want := range map[string]*DocumentInfo{"move": title, "": nil} {
		d := source(func(d *Datasource) { d.ActiveGeneration, d.Config.Document = 4, title })
		Apply(&d, settled(), event(EventSynched, "job-2", 6, func(ev *Event) { ev.Move, ev.TextID = move, "text" }))
		equal(t, []any{uint64(6), want, "text"}, []any{d.ActiveGeneration, d.Config.Document, d.Config.TextID})
	}
}

func TestAJobIsRoutedToWorkersOfItsPlaces(t *testing.T) {
	t.Parallel()
	equal(t, LaneCrawl, Job{Kind: JobCrawl, Places: []Place{here}}.Lane())
	equal(t, LaneIngest, Job{Kind: JobIngest, Places: []Place{there}}.Lane())
	equal(t, LaneLocal, Job{Kind: JobIngest, Places: []Place{there, here}}.Lane())
	equal(t, LaneLocal, Job{Kind: JobIngest, Places: []Place{there}, Previous: &Version{Place: here}}.Lane())
	equal(t, LaneScan, Job{Kind: JobScan, Places: []Place{there}}.Lane())
	equal(t, LaneLocalScan, Job{Kind: JobScan, Places: []Place{there, here}}.Lane())
	for _, lane := range Lanes() {
		places := []Place{there}
		if lane == LaneLocal || lane == LaneLocalScan {
			places = []Place{here}
		}
		equal(t, lane, Job{Kind: lane.Kind(), Places: places}.Lane())
	}
}

func TestAScannedDocumentWaitsForAScanJob(t *testing.T) {
	t.Parallel()
	original := &Original{Key: "k"}
	scanned := func(job string, change func(*Event)) Event { return event(EventPostponed, job, 7, change) }

	d := source(func(d *Datasource) { d.Original, d.ActiveGeneration, d.Chunks = original, 4, 2 })
	out := Apply(&d, settled(), scanned("job-2", func(ev *Event) { ev.Force = true }))
	equal(t, []any{StatusUnsynched, StageScan, uint64(4), PostponedJobID("job-2", 7), true}, []any{d.Status, d.Progress.Stage, d.ActiveGeneration, d.JobID, out.Settled})
	equal(t, []any{d.JobID, JobScan, true, "k", uint64(4), []Place{here}, ""},
		[]any{out.Next.ID, out.Next.Kind, out.Next.Force, out.Next.Original.Key, out.Next.Previous.Generation, out.Next.Places, out.Next.Move})
	equal(t, Outcome{}, Apply(&d, settled(), scanned("job-2", nil))) // a late repetition

	d = source(func(d *Datasource) { d.Original, d.Resume = original, &Resume{Status: StatusError, Error: "before"} })
	out = Apply(&d, moving(), scanned("job-2", func(ev *Event) { ev.Move = "move" }))
	equal(t, []any{[]Place{there}, "move"}, []any{out.Next.Places, out.Next.Move})
	equal(t, true, d.Resume != nil)

	d = source(func(d *Datasource) { d.Original, d.Resume = original, &Resume{Status: StatusError, Error: "before"} })
	out = Apply(&d, settled(), scanned("job-2", func(ev *Event) { ev.Move = "move" })) // the move was cancelled
	equal(t, []any{true, StatusError, "before"}, []any{out.Next == nil, d.Status, d.Error})
}

func TestADocumentWithPicturesWaitsForAScanJobWhileItsTextIsSearchable(t *testing.T) {
	t.Parallel()
	synched := event(EventSynched, "job-2", 7, func(ev *Event) { ev.Scan, ev.Force, ev.Chunks, ev.Warnings = true, true, 3, []string{"w"} })
	d := source(func(d *Datasource) { d.Original, d.ActiveGeneration, d.Chunks = &Original{Key: "k"}, 4, 2 })
	out := Apply(&d, settled(), synched)
	equal(t, []any{StatusUnsynched, StageScan, uint64(7), int64(3), PostponedJobID("job-2", 7), true, true},
		[]any{d.Status, d.Progress.Stage, d.ActiveGeneration, d.Chunks, d.JobID, out.Settled, out.Changed})
	equal(t, []any{d.JobID, JobScan, true, "k", uint64(7), []string{"w"}},
		[]any{out.Next.ID, out.Next.Kind, out.Next.Force, out.Next.Original.Key, out.Next.Previous.Generation, d.Warnings})
	equal(t, []Sweep{rows(here, 0, 7)}, out.Sweeps)
	equal(t, Outcome{}, Apply(&d, settled(), synched)) // a late repetition

	Apply(&d, settled(), event(EventSynched, d.JobID, 9, func(ev *Event) { ev.JobKind, ev.Chunks = JobScan, 4 }))
	equal(t, []any{StatusSynched, "", uint64(9), int64(4)}, []any{d.Status, d.Progress.Stage, d.ActiveGeneration, d.Chunks})
}

func TestAPassageHasTheConfidenceOfItsRecognisedText(t *testing.T) {
	t.Parallel()
	doc := Document{Blocks: []Block{
		{Text: "0123456789"}, {Text: "picture 1.", Offset: 12, Confidence: 0.9}, {Text: "picture 1.", Offset: 24, Confidence: 0.9}, {Text: "picture 2.", Offset: 36, Confidence: 0.7},
	}}
	info := doc.Info()
	equal(t, []RecognisedText{{12, 22, 0.9}, {36, 10, 0.7}}, info.InPictures)
	for name, test := range map[string]struct {
		runs           TextRuns
		offset, length int
		want           float64
	}{
		"before the pictures":        {offset: 0, length: 12},
		"across the first":           {offset: 5, length: 10, want: 0.9},
		"in both":                    {offset: 29, length: 12, want: 0.8},
		"after the pictures":         {offset: 46, length: 10},
		"a row and a distant header": {runs: TextRuns{{0, 0, 10}, {11, 36, 10}}, offset: 36, length: 21, want: 0.7},
		"runs around the pictures":   {runs: TextRuns{{0, 0, 10}, {11, 46, 10}}, offset: 0, length: 60},
	} {
		got, ok := info.Confidence(0, test.runs, test.offset, test.length)
		if math.Abs(got-test.want) > 0.001 || ok != (test.want > 0) {
			t.Errorf("%s: got %g, %t, want %g", name, got, ok, test.want)
		}
	}
	if _, ok := (*DocumentInfo)(nil).Confidence(1, nil, 0, 10); ok {
		t.Error("there is a confidence without a document")
	}
}

func TestOrphanSweeps(t *testing.T) {
	t.Parallel()
	equal(t, []Sweep{rows(here, 0, 2)}, OrphanSweeps(event(EventSynched, "j", 1, nil)))
	equal(t, []Sweep{rows(here, 0, 2)}, OrphanSweeps(event(EventError, "j", 1, nil)))
	equal(t, []string{"k"}, OrphanSweeps(event(EventFetched, "j", 1, func(ev *Event) {
		ev.Fetched = &Fetched{Original: Original{Key: "k"}}
	}))[0].Originals)
	equal(t, []Sweep(nil), OrphanSweeps(event(EventRunning, "j", 1, nil)))
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
