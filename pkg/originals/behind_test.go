package originals

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// TestNotFoundRequiresAMajority simulates a leader that was cut off and doesn't know about an original until a write
// makes it synchronise with the other servers.
func TestNotFoundRequiresAMajority(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	closed := make(chan struct{})
	conn, err := nats.Connect("", nats.InProcessServer(srv), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		<-closed
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	key := UploadKey(domain.NewID())
	meta, err := json.Marshal(jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: key}, Bucket: Bucket, NUID: "n", Digest: digestPrefix + base64.URLEncoding.EncodeToString(make([]byte, 32)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var agreed atomic.Bool
	for subject, answer := range map[string]func() string{
		"STREAM.INFO." + streamName:  func() string { return `{"config": {"name": "` + streamName + `", "allow_direct": true}}` },
		"STREAM.PURGE." + streamName: func() string { agreed.Store(true); return `{"success": true}` },
		"STREAM.MSG.GET." + streamName: func() string {
			if agreed.Load() {
				return `{"message": {"subject": "m", "seq": 1, "data": "` + base64.StdEncoding.EncodeToString(meta) + `"}}`
			}
			return `{"error": {"code": 404, "err_code": 10037, "description": "no message found"}}`
		},
		"DIRECT.GET." + streamName + ".>": func() string { return "" },
	} {
		_, err := conn.Subscribe("$JS.API."+subject, func(ask *nats.Msg) {
			msg := &nats.Msg{Subject: ask.Reply, Data: []byte(answer())}
			if strings.HasPrefix(subject, "DIRECT") {
				msg.Header = nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}
			}
			_ = conn.PublishMsg(msg)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Attach(testContext(t), js, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Get(testContext(t), key)
	if err != nil {
		t.Fatalf("an original that a majority has is not found: %v", err)
	}
	r.Close()
	if !agreed.Load() {
		t.Error("the majority was not asked")
	}
}
