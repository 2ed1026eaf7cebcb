package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestWatchingADatastore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	elsewhere := s.newText(s.newDatastore(), "of another datastore")
	changes, left := make(chan string), make(chan struct{})
	s.watcher.watch = func(ctx context.Context, datastore string) (<-chan string, error) {
		if datastore != s.datastore {
			t.Errorf("watching %s", datastore)
		}
		context.AfterFunc(ctx, func() { close(left) })
		return changes, nil
	}
	res := s.open("GET", "/datastores/"+s.datastore+"/events", "")
	lines := bufio.NewScanner(res.Body)
	next := func(prefix string) string {
		t.Helper()
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the stream ended before %q", prefix)
		return ""
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type is %q", got)
	}
	next(": watching")
	changes <- elsewhere // is not told
	changes <- s.datasource
	if event := next("event: "); event != "datasource" {
		t.Errorf("event %q", event)
	}
	var got object
	must(t, json.Unmarshal([]byte(next("data: ")), &got))
	if got.id() != s.datasource || got.text("status") != "synched" || got["chunks"] != 3.0 || got["progress"] == nil {
		t.Errorf("%v", got)
	}
	s.call("DELETE", "/datasources/"+s.datasource, nil).want(200)
	changes <- s.datasource
	if event, data := next("event: "), next("data: "); event != "deleted" || data != `{"id":"`+s.datasource+`"}` {
		t.Errorf("event %q with %q", event, data)
	}
	must(t, res.Body.Close())
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Fatal("the watch goes on though the client has left")
	}
}

func TestAWatchEndsWhenThereIsNothingMoreToTell(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a := s.call("GET", "/datastores/"+s.datastore+"/events", nil).want(200)
	if string(a.body) != ": watching\n\n" {
		t.Errorf("%q", a.body)
	}
}

func TestAWatchEndsAtOnceForHEAD(t *testing.T) {
	t.Parallel()
	s := newService(t)
	watched := make(chan context.Context, 1)
	s.watcher.watch = func(ctx context.Context, _ string) (<-chan string, error) {
		watched <- ctx
		return make(chan string), nil
	}
	a := s.call("HEAD", "/datastores/"+s.newDatastore()+"/events", nil).want(200)
	if got := a.header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type is %q", got)
	}
	select {
	case <-(<-watched).Done():
	case <-time.After(10 * time.Second):
		t.Error("the watch goes on though nobody reads it")
	}
}
