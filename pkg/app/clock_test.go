package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockVariable is the environment variable with the path of a file that says how far off the program's clock is.
const clockVariable = "APP_TEST_CLOCK"

// wrongClock returns a clock that is off by the amount in the file, or nil if file is "".
func wrongClock(file string) func() time.Time {
	if file == "" {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err) // cannot happen, because the test has written the file
		}
		off, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return time.Now().UTC().Add(off)
	}
}

// testClock is a program's clock that the test can set.
type testClock struct {
	t    testing.TB
	file string
	off  time.Duration // error of the clock
}

func newTestClock(t testing.TB) *testClock {
	c := &testClock{t: t, file: filepath.Join(t.TempDir(), "clock")}
	c.jump(0)
	return c
}

// now returns the current time on the program's clock.
func (c *testClock) now() time.Time { return time.Now().Add(c.off) }

// jump sets the clock forward or back.
func (c *testClock) jump(by time.Duration) {
	c.t.Helper()
	c.off += by
	if err := os.WriteFile(c.file+".new", []byte(c.off.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(c.file+".new", c.file); err != nil {
		c.t.Fatal(err)
	}
}

// TestClockJumpsLoseAndRepeatNothing moves a program's clock forward and back by an hour and by a day: between
// requests, during work, and while the program is down after being killed. In the end, all accepted content must be
// searchable exactly once, deleted content must be gone, and each idempotency key must have created one resource.
func TestClockJumpsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-24 * time.Hour, -time.Hour, time.Hour, 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			clock := newTestClock(t)
			p := newProgram(t, clockVariable+"="+clock.file)
			p.start()
			store := p.newDatastore()
			wanted := map[string]bool{}
			upload := func(word string) string {
				t.Helper()
				var made source
				p.must(p.upload(store, word+".txt", word, []byte(aboutWord(word)), &made))
				wanted[word] = true
				return made.ID
			}
			answer := func(all []*once) []string {
				t.Helper()
				var ids []string
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, r := range all {
					p.must(r.settle(ctx, p))
					ids = append(ids, r.ids...)
				}
				return ids
			}

			gone := upload("gone")
			requests := mixedRequests(t, store, 1)
			first := answer(requests)
			clock.jump(jump)
			upload("ahead")
			p.must(p.delete("/datasources/" + gone))
			delete(wanted, "gone")
			for _, r := range requests { // responses are kept for one real day, whatever the clock says
				r.ids = nil
			}
			if again := answer(requests); fmt.Sprint(again) != fmt.Sprint(first) {
				t.Errorf("asked again under the same keys, it answers with %v, not %v", again, first)
			}
			for n := range 20 {
				upload(fmt.Sprint("killed", n))
			}
			p.kill()
			clock.jump(-jump)
			p.start()
			upload("after")
			clock.jump(jump)
			have := p.settled(store, 2*time.Minute)
			made := 0
			for _, s := range have {
				if s.Status != "synched" || s.Chunks == 0 {
					t.Errorf("%s ended with status %s and %d chunks: %s", s.Name, s.Status, s.Chunks, s.Error)
				}
				if !wanted[s.CustomID] {
					made++
				}
			}
			if len(have) != len(wanted)+made || made != 5 { // a set makes five datasources: an upload, a text and three documents
				t.Errorf("%d datasources are there, %d of them under keys, of %d that were uploaded", len(have), made, len(wanted))
			}
			found := map[string]int{}
			for word := range wanted {
				for _, hit := range p.query(store, word, 50) {
					if strings.Contains(hit.Text, "speaks of "+word+" and") {
						found[word]++
					}
				}
				if found[word] != 1 {
					t.Errorf("%s is found %d times", word, found[word])
				}
			}
			for _, hit := range p.query(store, "gone", 50) {
				if strings.Contains(hit.Text, "speaks of gone and") {
					t.Error("deleted content is found")
				}
			}
		})
	}
}
