package domain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func source(change func(*Datasource)) Datasource {
	d := Datasource{
		ID: "src", WorkspaceID: "ws", DatastoreID: "store", Type: TypeFile, Name: "handbook.pdf",
		Status: StatusPending, JobID: "job-2", Runs: 1,
	}
	if change != nil {
		change(&d)
	}
	return d
}

func event(t EventType, job string, generation uint64, change func(*Event)) Event {
	ev := Event{
		Type: t, JobID: job, JobKind: JobIngest, WorkspaceID: "ws", DatastoreID: "store", DatasourceID: "src",
		Generation: generation, At: at,
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
				Apply(&d, "model", event(EventRunning, "job-2", 7, nil))
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
				equal(t, uint64(7), out.Sweep.Below)
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
				equal(t, uint64(9), out.Sweep.Below)
				equal(t, false, out.Changed)
			},
		},
		"synched twice changes nothing more": {
			before: func(d *Datasource) { d.ActiveGeneration, d.Status = 7, StatusSynched },
			event:  event(EventSynched, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, uint64(7), d.ActiveGeneration)
				equal(t, (*Sweep)(nil), out.Sweep)
			},
		},
		"an error keeps the content that is active": {
			before: func(d *Datasource) { d.ActiveGeneration = 4 },
			event:  event(EventError, "job-2", 7, func(ev *Event) { ev.Error = "the file is encrypted" }),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, StatusError, d.Status)
				equal(t, "the file is encrypted", d.Error)
				equal(t, uint64(4), d.ActiveGeneration)
				equal(t, true, out.Settled)
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
				equal(t, "model", out.Next.Model)
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
				equal(t, []string{"old"}, out.Sweep.Originals)
				equal(t, uint64(0), out.Sweep.Below)
			},
		},
		"a page fetched by an overtaken job is dropped": {
			before: func(d *Datasource) { d.Original = &Original{Key: "old"} },
			event:  event(EventFetched, "job-1", 7, fetched),
			check: func(t *testing.T, d Datasource, out Outcome) {
				equal(t, []string{"new"}, out.Sweep.Originals)
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
			event:  event(EventUnchanged, "job-2", 7, nil),
			check: func(t *testing.T, d Datasource, _ Outcome) {
				equal(t, StatusSynched, d.Status)
				equal(t, uint64(4), d.ActiveGeneration)
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := source(test.before)
			out := Apply(&d, "model", test.event)
			test.check(t, d, out)
		})
	}
}

func TestVanished(t *testing.T) {
	t.Parallel()
	equal(t, AllGenerations, Vanished(event(EventSynched, "j", 1, nil)).Below)
	equal(t, AllGenerations, Vanished(event(EventError, "j", 1, nil)).Below)
	equal(t, []string{"k"}, Vanished(event(EventFetched, "j", 1, func(ev *Event) {
		ev.Fetched = &Fetched{Original: Original{Key: "k"}}
	})).Originals)
	equal(t, (*Sweep)(nil), Vanished(event(EventRunning, "j", 1, nil)))
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
