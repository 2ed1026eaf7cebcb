package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
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
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("Content-Type is %q", got)
	}
	next(": watching")
	changes <- elsewhere // not reported to this watcher
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

func TestAWatchEndsWhenAllDatasourcesHaveSettled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	a := s.call("GET", "/datastores/"+s.datastore+"/events", nil).want(200)
	if string(a.body) != ": watching\n\n" {
		t.Errorf("%q", a.body)
	}
}

// TestAWatchEndsAtOnceForHEAD sends a second request on the same connection. It is answered only after the watch ends.
func TestAWatchEndsAtOnceForHEAD(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.watcher.watch = func(context.Context, string) (<-chan string, error) { return make(chan string), nil }
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = fmt.Fprintf(conn, "HEAD /datastores/%s/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"+
		"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", s.newDatastore(), s.key)
	must(t, err)
	all, err := io.ReadAll(conn)
	must(t, err)
	if !strings.Contains(string(all), "Content-Type: text/event-stream; charset=utf-8\r\n") || !strings.Contains(string(all), `{"status":"ok"}`) {
		t.Errorf("%s", all)
	}
}

func TestWatchersAreNotifiedOfChangesByRequests(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var notified []string
	s.watcher.changed = func(datastoreID, datasourceID string) {
		if datastoreID != s.datastore {
			t.Errorf("watchers of %s were notified", datastoreID)
		}
		notified = append(notified, datasourceID)
	}
	made := s.newText(s.datastore, "of a new document")
	s.call("PATCH", "/datasources/"+s.datasource, object{"name": "Renamed"}).want(200)
	s.call("POST", "/datasources/"+s.datasource+"/resync", nil).want(200)
	s.call("DELETE", "/datasources/"+s.datasource, nil).want(200)
	s.call("DELETE", "/datasources/"+s.datasource, nil).problem(404)
	if got, want := strings.Join(notified, " "), strings.Join([]string{made, s.datasource, s.datasource, s.datasource}, " "); got != want {
		t.Errorf("told of %s, want %s", got, want)
	}
}
