package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

func TestUnsyncedNATSServersAreReported(t *testing.T) {
	t.Parallel()
	synced := natstest.Monitored(t, natstest.Syncing)
	unsynced := natstest.Monitored(t, natstest.NotSyncing)
	without := natstest.Monitored(t, natstest.NotStoring)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		addresses []string
		want      string // text the error must contain; "" means no error
	}{
		"a server that syncs":         {[]string{synced}, ""},
		"a slash at the end":          {[]string{synced + "/"}, ""},
		"a server without JetStream":  {[]string{synced, without}, ""},
		"a server that does not sync": {[]string{synced, unsynced}, unsynced + " writes to disk only every 2m0s"},
		"a server that is down":       {[]string{gone.URL, synced}, "reading the settings of a NATS server"},
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
