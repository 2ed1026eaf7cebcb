package ingest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

func TestCrawlerClassifiesErrors(t *testing.T) {
	t.Parallel()
	denied := &crawl.Error{Permanent: true, StatusCode: 403, Message: "https://pumps.example/a may not be read"}
	shortWait := &crawl.Error{Deferred: true, RetryAfter: time.Second / 2, Message: "the host is being asked by others"}
	gone := &crawl.Error{Deferred: true, RetryAfter: time.Minute, Message: "the host does not answer", Err: errDown}
	down := &crawl.Error{StatusCode: 502, Message: "the server has a fault"}
	for name, test := range map[string]struct {
		cause error
		tries int
		want  error
	}{
		"a page that may not be read is final":            {denied, 0, jobs.Permanent(denied)},
		"a host whose turn comes soon costs nothing":      {shortWait, 0, jobs.Snooze(time.Second/2, shortWait)},
		"what is not about the page comes again as usual": {errDown, 0, errDown},
		"what has failed for hours is given up": {down, defaultTries - 1,
			jobs.Permanent(fmt.Errorf("gave up after 20 attempts; last error: %w", down))},
		"so is a page of a host that is gone": {gone, defaultTries - 1,
			jobs.Permanent(fmt.Errorf("gave up after 20 attempts; last error: %w", gone))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := &web{fetch: func(crawl.PageRequest) (crawl.Page, error) { return crawl.Page{}, test.cause }}, crawlJob()
			job.Tries = test.tries
			if err := w.handle(t, job); !reflect.DeepEqual(err, test.want) {
				t.Errorf("err = %#v, want %#v", err, test.want)
			}
		})
	}
	t.Run("a host that asks each time to come back much later is asked three times at least, and not for ever", func(t *testing.T) {
		t.Parallel()
		tomorrow := &crawl.Error{StatusCode: 429, RetryAfter: 24 * time.Hour, Message: "the server is busy"}
		fetch := func(job domain.Job) (domain.Event, error) {
			w := &web{fetch: func(crawl.PageRequest) (crawl.Page, error) { return crawl.Page{}, tomorrow }}
			err := w.handle(t, job)
			return w.log.events[len(w.log.events)-1], err
		}
		job := crawlJob()
		ev, err := fetch(job)
		if !jobs.IsRescheduled(err) || ev.Tries != 1 || !ev.Since.Equal(now()) {
			t.Fatalf("after the first attempt: %v, %d attempts since %v", err, ev.Tries, ev.Since)
		}
		job.Tries, job.Since = 1, now().Add(-24*time.Hour)
		if ev, err = fetch(job); !jobs.IsRescheduled(err) || ev.Tries != 2 || !ev.Since.Equal(job.Since) {
			t.Errorf("after the second: %v, %d attempts since %v", err, ev.Tries, ev.Since)
		}
		job.Tries, job.Since = 2, now().Add(-48*time.Hour)
		want := jobs.Permanent(fmt.Errorf("gave up after 3 attempts in 48h0m0s; last error: %w", tomorrow))
		if _, err = fetch(job); !reflect.DeepEqual(err, want) {
			t.Errorf("after the third: %v, want %v", err, want)
		}
		job.Since = now().Add(-3 * time.Hour)
		if _, err = fetch(job); !jobs.IsRescheduled(err) {
			t.Errorf("three attempts in three hours are the last: %v", err)
		}
	})
	t.Run("a page that is gone is reported as such, for it may have content", func(t *testing.T) {
		t.Parallel()
		gone := &crawl.Error{Permanent: true, StatusCode: 410, Message: "https://pumps.example/a does not exist"}
		w := &web{fetch: func(crawl.PageRequest) (crawl.Page, error) { return crawl.Page{}, gone }}
		if err := w.handle(t, crawlJob()); err != nil {
			t.Fatal(err)
		}
		if ev := w.log.last(t, domain.EventGone); ev.Error != gone.Message {
			t.Errorf("it says %q", ev.Error)
		}
	})
	t.Run("a job without an address is final", func(t *testing.T) {
		t.Parallel()
		job := crawlJob()
		job.Crawl = nil
		w := &web{}
		if err := w.handle(t, job); !jobs.IsPermanent(err) || len(w.log.events) != 0 {
			t.Errorf("err = %v, events %v", err, w.log.types())
		}
	})
	t.Run("an empty page is final", func(t *testing.T) {
		t.Parallel()
		w := newWeb(crawl.Page{})
		w.fetch = func(crawl.PageRequest) (crawl.Page, error) {
			return crawl.Page{URL: "https://pumps.example/a", Body: &crawl.Body{ReadSeeker: strings.NewReader("")}}, nil
		}
		if err := w.handle(t, crawlJob()); !jobs.IsPermanent(err) || err.Error() != "https://pumps.example/a is empty" || len(w.kept) > 0 {
			t.Errorf("err = %v, kept %v", err, w.kept)
		}
	})
	t.Run("a store of originals that is down passes, and the page is not reported", func(t *testing.T) {
		t.Parallel()
		w := newWeb(crawl.Page{})
		w.put = func(string, []byte, originals.PutOptions) (domain.Original, error) { return domain.Original{}, errDown }
		err := w.handle(t, crawlJob())
		if !errors.Is(err, errDown) || jobs.IsPermanent(err) || !strings.Contains(err.Error(), "storing the page") {
			t.Errorf("err = %v", err)
		}
		w.log.last(t, domain.EventRunning)
	})
}

func TestCrawlerReschedulesTemporaryFailures(t *testing.T) {
	t.Parallel()
	limited := &crawl.Error{StatusCode: 429, RetryAfter: time.Hour, Message: "the server is busy"}
	busy := &crawl.Error{Deferred: true, RetryAfter: time.Minute, Message: "the host is asked again in a minute"}
	silent := &crawl.Error{Deferred: true, RetryAfter: time.Minute, Message: "the host does not answer", Err: errDown}
	fault := &crawl.Error{StatusCode: 502, Message: "the server has a fault"}
	broken := &crawl.Error{StatusCode: 500, Message: "the page is broken"}
	for name, test := range map[string]struct {
		cause     *crawl.Error
		tries     int
		delay     time.Duration
		thenTries int
		says      string
		most      int
	}{
		"a server that asks to wait is asked no sooner":              {limited, 0, time.Hour, 1, limited.Message, 20},
		"a fault is tried again soon at first":                       {fault, 0, time.Second, 1, fault.Message, 20},
		"and ever later":                                             {fault, 5, 32 * time.Second, 6, fault.Message, 20},
		"but not later than ten minutes":                             {fault, 18, 10 * time.Minute, 19, fault.Message, 20},
		"a page that its server fails over is given up sooner":       {broken, 5, 32 * time.Second, 6, broken.Message, 8},
		"a host whose turn comes late costs no attempt":              {busy, 3, time.Minute, 3, "", 0},
		"a host that does not answer anybody costs one, and is told": {silent, 3, time.Minute, 4, silent.Message, 20},
		"and is asked ever later":                                    {silent, 12, 10 * time.Minute, 13, silent.Message, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, job := &web{fetch: func(crawl.PageRequest) (crawl.Page, error) { return crawl.Page{}, test.cause }}, crawlJob()
			job.Tries = test.tries
			if err := w.handle(t, job); !jobs.IsRescheduled(err) || !errors.Is(err, test.cause) {
				t.Fatalf("err = %v", err)
			}
			ev := w.log.last(t, domain.EventPostponed)
			says := test.says
			if says != "" {
				says = fmt.Sprintf("Attempt %d of %d failed and will be retried at %s: %s", test.thenTries, test.most, ev.Until.Format(time.DateTime+" UTC"), says)
			}
			if got := ev.Until.Sub(ev.At); got != test.delay || ev.Tries != test.thenTries || ev.Error != says {
				t.Errorf("put off by %v after %d tries, %q; want %v, %d, %q", got, ev.Tries, ev.Error, test.delay, test.thenTries, says)
			}
		})
	}
}
