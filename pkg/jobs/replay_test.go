package jobs

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestLastJobsGivesTheNewestOfEachDatasource(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	page := newJob(domain.JobCrawl)
	publish(t, b, page)
	fetched := again(page)
	fetched.Kind = domain.JobIngest
	newest := publish(t, b, fetched) // in another lane, so both jobs are in the log
	other := newJob(domain.JobIngest)
	publish(t, b, other)
	refreshed := again(other)
	refreshed.Kind, refreshed.Name = domain.JobCrawl, "again"
	last := publish(t, b, refreshed)
	got := map[string]uint64{}
	read := func(from uint64) {
		t.Helper()
		clear(got)
		err := b.LastJobs(testContext(t), from, func(j domain.Job) error { got[j.ID] = j.Generation; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if read(1); len(got) != 2 || got[fetched.ID] != newest || got[refreshed.ID] != last {
		t.Errorf("jobs are %v, want %s and %s", got, fetched.ID, refreshed.ID)
	}
	if read(last); len(got) != 1 || got[refreshed.ID] != last {
		t.Errorf("jobs from generation %d on are %v", last, got)
	}
	if read(last + 1); len(got) != 0 {
		t.Errorf("jobs from beyond the end are %v", got)
	}
}

func TestLastJobsReadsALongLogInOrder(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	const n, publishers = 10_000, 20
	var all sync.WaitGroup
	for range publishers {
		all.Go(func() {
			for range n / publishers {
				publish(t, b, newJob(domain.JobIngest))
			}
		})
	}
	all.Wait()
	began, seen, last := time.Now(), 0, uint64(0)
	err := b.LastJobs(testContext(t), 1, func(j domain.Job) error {
		if j.Generation <= last {
			t.Errorf("generation %d after %d", j.Generation, last)
		}
		last = j.Generation
		seen++
		return nil
	})
	if err != nil || seen != n {
		t.Errorf("%d jobs, %v, want %d", seen, err, n)
	}
	t.Logf("%d jobs in %s", n, time.Since(began).Round(time.Millisecond))
}
