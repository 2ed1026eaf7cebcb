package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice/sluice/pkg/config"
)

// monitored starts a NATS server and returns the address of its monitoring endpoint.
func monitored(t *testing.T, opts server.Options) string {
	t.Helper()
	opts.Host, opts.Port, opts.HTTPHost, opts.HTTPPort, opts.NoSigs = "127.0.0.1", server.RANDOM_PORT, "127.0.0.1", -1, true
	opts.StoreDir = t.TempDir()
	srv, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return "http://" + srv.MonitorAddr().String()
}

func TestUnsyncedNATSServersAreReported(t *testing.T) {
	t.Parallel()
	synced := monitored(t, server.Options{JetStream: true, SyncAlways: true})
	unsynced := monitored(t, server.Options{JetStream: true, SyncInterval: 2 * time.Minute})
	without := monitored(t, server.Options{})
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		addresses []string
		want      string // part of the error; "": none
	}{
		"a server that syncs":         {[]string{synced}, ""},
		"a slash at the end":          {[]string{synced + "/"}, ""},
		"a server without JetStream":  {[]string{synced, without}, ""},
		"a server that does not sync": {[]string{synced, unsynced}, unsynced + " writes to disk only every 2m0s"},
		"a server that is down":       {[]string{gone.URL, synced}, "asking a NATS server for its settings"},
	} {
		t.Run(name, func(t *testing.T) {
			checks := natsSyncChecks(config.Config{NATSURL: "nats://127.0.0.1:4222", NATSMonitor: c.addresses})
			if len(checks) != 1 || !checks[0].Degrades {
				t.Fatalf("checks %+v", checks)
			}
			err := checks[0].Ready(t.Context())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	t.Run("without an external server there is nothing to check", func(t *testing.T) {
		if checks := natsSyncChecks(config.Config{NATSMonitor: []string{unsynced}}); checks != nil {
			t.Errorf("checks %+v", checks)
		}
	})
}
