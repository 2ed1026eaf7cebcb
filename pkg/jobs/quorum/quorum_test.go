package quorum

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetry(t *testing.T) {
	t.Parallel()

	t.Run("repeats what passes", func(t *testing.T) {
		t.Parallel()
		tries := 0
		err := Retry(t.Context(), time.Minute, func(context.Context) error {
			if tries++; tries < 3 {
				return fmt.Errorf("asking: %w", nats.ErrNoResponders)
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
	t.Run("does not repeat what does not pass", func(t *testing.T) {
		t.Parallel()
		tries, refusal := 0, errors.New("refused")
		err := Retry(t.Context(), time.Minute, func(context.Context) error { tries++; return refusal })
		if !errors.Is(err, refusal) || errors.Is(err, ErrUnavailable) || tries != 1 {
			t.Errorf("%d tries, %v", tries, err)
		}
	})
	t.Run("gives up after the time limit, and says why", func(t *testing.T) {
		t.Parallel()
		err := Retry(t.Context(), 20*time.Millisecond, func(ctx context.Context) error {
			<-ctx.Done() // simulates a request without an answer
			return ctx.Err()
		})
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		err := Retry(ctx, time.Minute, func(context.Context) error { cancel(); return nats.ErrTimeout })
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestIsTransient(t *testing.T) {
	t.Parallel()
	refusal := func(code int, words string) error {
		return &jetstream.APIError{Code: 503, ErrorCode: jetstream.ErrorCode(code), Description: words}
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no leader":               {refusal(codeNotAvailable, ""), true},
		"a write under way":       {refusal(codeDuplicateInFlight, ""), true},
		"a server that stops":     {refusal(codeStoreFailed, "store is closed"), true},
		"a full stream":           {refusal(codeStoreFailed, "maximum messages exceeded"), false},
		"no room":                 {refusal(codeInsufficient, ""), false},
		"a lost connection":       {nats.ErrDisconnected, true},
		"a connection that ended": {nats.ErrConnectionClosed, false},
		"a lost stream":           {StreamError("S", jetstream.ErrStreamNotFound), false},
	} {
		if IsTransient(c.err) != c.want {
			t.Errorf("%s: passes is %t, want %t", name, !c.want, c.want)
		}
	}
}

// replicas simulates a cluster whose servers hold different data. It starts a server without JetStream and responds to
// requests with `answers`.
func replicas(t *testing.T, answers map[string]func(body []byte) []*nats.Msg) Reader {
	t.Helper()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	conn, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(closed) })
	t.Cleanup(func() {
		conn.Close()
		<-closed
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	for subject, answer := range answers {
		_, err := conn.Subscribe("$JS.API."+subject, func(ask *nats.Msg) {
			for _, msg := range answer(ask.Data) {
				msg.Subject = ask.Reply
				_ = conn.PublishMsg(msg)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return Reader{JS: js, Stream: "S", Timeout: 5 * time.Second}
}

func plain(text string) []*nats.Msg { return []*nats.Msg{{Data: []byte(text)}} }

const (
	none  = `{"error": {"code": 404, "err_code": 10037, "description": "no message found"}}`
	found = `{"message": {"subject": "a", "seq": 7, "data": "eA=="}}`
)

func TestSyncMakesADisconnectedLeaderCatchUp(t *testing.T) {
	t.Parallel()
	var learned atomic.Bool
	r := replicas(t, map[string]func([]byte) []*nats.Msg{
		"STREAM.INFO.S":  func([]byte) []*nats.Msg { return plain(`{"config": {"name": "S"}}`) },
		"STREAM.PURGE.S": func([]byte) []*nats.Msg { learned.Store(true); return plain(`{"success": true}`) },
		"STREAM.MSG.GET.S": func([]byte) []*nats.Msg {
			if learned.Load() {
				return plain(found)
			}
			return plain(none)
		},
	})
	if _, err := r.Last(t.Context(), "a"); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Fatalf("before: error is %v", err)
	}
	if err := r.Sync(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if msg, err := r.Last(t.Context(), "a"); err != nil || msg.Sequence != 7 || string(msg.Data) != "x" {
		t.Errorf("after: message is %+v, %v", msg, err)
	}
}

// stored simulates a message in the response to a batch request. `before` is the sequence of the previous message.
func stored(sequence, before uint64) *nats.Msg {
	return &nats.Msg{Header: nats.Header{
		"Nats-Subject": {"a"}, "Nats-Sequence": {fmt.Sprint(sequence)}, "Nats-Last-Sequence": {fmt.Sprint(before)},
		"Nats-Time-Stamp": {"2026-01-02T03:04:05Z"},
	}}
}

func end(last uint64) *nats.Msg {
	return &nats.Msg{Header: nats.Header{"Status": {"204"}, "Nats-Last-Sequence": {fmt.Sprint(last)}}}
}

func missing() *nats.Msg { return &nats.Msg{Header: nats.Header{"Status": {"404"}}} }

func TestEachAsksTheLeaderForWhatAReplicaLacks(t *testing.T) {
	t.Parallel()
	r := replicas(t, map[string]func([]byte) []*nats.Msg{
		// The leader has messages 3, 7 and 9. The replica that responds has only 3.
		"STREAM.MSG.GET.S": func(body []byte) []*nats.Msg {
			var ask getRequest
			if err := json.Unmarshal(body, &ask); err != nil || ask.LastFor == "" && ask.Sequence <= 3 {
				t.Errorf("the leader is asked %s", body)
			}
			if ask.LastFor != "" || ask.Sequence > 7 {
				return plain(strings.Replace(found, "7", "9", 1))
			}
			return plain(found)
		},
		"DIRECT.GET.S": func(body []byte) []*nats.Msg {
			var ask batchRequest
			if err := json.Unmarshal(body, &ask); err != nil || ask.Sequence > 3 {
				return []*nats.Msg{missing()}
			}
			return []*nats.Msg{stored(3, 0), end(3)}
		},
	})
	var got []uint64
	err := r.Each(t.Context(), "a", 1, 10, func(page []*jetstream.RawStreamMsg) error {
		for _, msg := range page {
			got = append(got, msg.Sequence)
		}
		return nil
	})
	if want := []uint64{3, 7, 9}; err != nil || !slices.Equal(got, want) {
		t.Errorf("sequences are %v, %v, want %v", got, err, want)
	}
}

func TestAnAnswerThatWasLostIsAskedForAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	r := replicas(t, map[string]func([]byte) []*nats.Msg{
		"STREAM.MSG.GET.S": func([]byte) []*nats.Msg { return plain(found) },
		"DIRECT.GET.S": func([]byte) []*nats.Msg {
			switch asked.Add(1) {
			case 1:
				return []*nats.Msg{stored(3, 0), stored(7, 5), end(7)} // message 5 was lost in transit
			case 2:
				return []*nats.Msg{stored(3, 0), stored(5, 3), end(7)} // message 7 was lost in transit
			}
			return []*nats.Msg{stored(3, 0), stored(5, 3), stored(7, 5), end(7)}
		},
	})
	var got []uint64
	err := r.Each(t.Context(), "a", 1, 10, func(page []*jetstream.RawStreamMsg) error {
		for _, msg := range page {
			got = append(got, msg.Sequence)
		}
		return nil
	})
	if want := []uint64{3, 5, 7}; err != nil || !slices.Equal(got, want) || asked.Load() != 3 {
		t.Errorf("sequences are %v after %d requests, %v, want %v", got, asked.Load(), err, want)
	}
}

// If a server loses leadership while storing a message, it may treat the message's id as in flight forever.
func TestAMessageWhoseIDIsStuckIsStoredUnderAnother(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	r := replicas(t, nil)
	_, err := r.JS.Conn().Subscribe("s", func(msg *nats.Msg) {
		tries.Add(1)
		if msg.Header.Get(nats.MsgIdHdr) == "first" {
			_ = msg.Respond([]byte(`{"error": {"code": 409, "err_code": 10158, "description": "duplicate message id is in process"}, "stream": "S", "seq": 0}`))
			return
		}
		_ = msg.Respond([]byte(`{"stream": "S", "seq": 7}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	ack, err := store(t.Context(), r.JS, time.Minute, 200*time.Millisecond, "S", "first", &nats.Msg{Subject: "s", Data: []byte("x")})
	if err != nil || ack.Sequence != 7 || tries.Load() < 3 {
		t.Errorf("after %d tries: %+v, %v", tries.Load(), ack, err)
	}
	if _, err := store(t.Context(), r.JS, 300*time.Millisecond, time.Minute, "S", "first", &nats.Msg{Subject: "s"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an id that has not been stuck for long: error %v", err)
	}
}

// Another process may have created a stream through another server. The server asked may then first report that the
// name is in use and then that the stream does not exist.
func TestAStreamThatAServerHasYetToHearOf(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	r := replicas(t, nil)
	answers := map[string]func() string{
		"STREAM.INFO.T": func() string {
			if asked.Add(1) < 3 {
				return `{"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}`
			}
			return `{"config": {"name": "T"}}`
		},
		"STREAM.CREATE.T": func() string {
			return `{"error": {"code": 400, "err_code": 10058, "description": "stream name already in use with a different configuration"}}`
		},
		"STREAM.UPDATE.T": func() string { return `{"config": {"name": "T"}}` },
	}
	for subject, answer := range answers {
		if _, err := r.JS.Conn().Subscribe("$JS.API."+subject, func(msg *nats.Msg) { _ = msg.Respond([]byte(answer())) }); err != nil {
			t.Fatal(err)
		}
	}
	stream, created, err := Ensure(t.Context(), r.JS, jetstream.StreamConfig{Name: "T"})
	if err != nil || created || stream.CachedInfo().Config.Name != "T" {
		t.Errorf("got %v, created %v, %v", stream, created, err)
	}
}
