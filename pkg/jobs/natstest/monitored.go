package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Storing says how a server stores messages.
type Storing int

// Values of Storing.
const (
	Syncing    Storing = iota // it writes to disk before it acknowledges
	NotSyncing                // it writes to disk every two minutes, the default of nats-server
	NotStoring                // it has no JetStream
)

// Monitored starts a NATS server in this process and stops it when the test ends. It returns the address of the
// server's monitoring endpoint, "http://127.0.0.1:port".
func Monitored(t *testing.T, storing Storing) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: -1, NoSigs: true,
		JetStream: storing != NotStoring, SyncAlways: storing == Syncing, SyncInterval: 2 * time.Minute, StoreDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(startTimeout) {
		t.Fatalf("the server is not ready after %s", startTimeout)
	}
	return "http://" + srv.MonitorAddr().String()
}
