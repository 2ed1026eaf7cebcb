package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/config"
)

// Limits for querying a NATS server's settings.
const (
	natsSyncAge     = 30 * time.Second // maximum age of a reused result
	natsSyncTimeout = 1500 * time.Millisecond
	maxNATSResponse = 1 << 20 // bytes
)

// syncCheck checks that the NATS servers sync messages to disk before acknowledging them. By default, they sync only
// every two minutes, so accepted content is lost if a power failure takes down a majority of them. Clients can't see
// the setting, but the servers' monitoring endpoints report it.
type syncCheck struct {
	addresses []string // monitoring endpoints, such as http://n1:8222
	client    *http.Client

	mu     sync.Mutex
	asked  time.Time
	answer error
}

// natsSyncChecks returns the check for the servers at NATS_URL. It returns nil if their monitoring endpoints are
// unknown or the process uses the embedded server, which always syncs.
func natsSyncChecks(c config.Config) []api.Check {
	if c.NATSURL == "" || len(c.NATSMonitor) == 0 {
		return nil
	}
	check := &syncCheck{addresses: c.NATSMonitor, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return []api.Check{{Name: "nats_sync", Ready: check.ready, Degrades: true}}
}

// ready returns an error listing the servers that do not sync or did not respond.
func (s *syncCheck) ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && time.Since(s.asked) < natsSyncAge {
		return s.answer
	}
	ctx, cancel := context.WithTimeout(ctx, natsSyncTimeout)
	defer cancel()
	faults := make([]error, len(s.addresses))
	var asking sync.WaitGroup
	for i, address := range s.addresses {
		asking.Go(func() { faults[i] = s.ask(ctx, address) })
	}
	asking.Wait()
	s.answer, s.asked = errors.Join(faults...), time.Now()
	return s.answer
}

// ask checks a single server's JetStream settings.
func (s *syncCheck) ask(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/jsz", nil)
	if err != nil {
		return fmt.Errorf("reading the settings of a NATS server: %w", err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("reading the settings of a NATS server: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("reading the settings of the NATS server at %s: %s", redacted(address), resp.Status)
	}
	var info struct {
		Disabled bool `json:"disabled"`
		Config   struct {
			SyncAlways   bool          `json:"sync_always"`
			SyncInterval time.Duration `json:"sync_interval"`
		} `json:"config"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxNATSResponse)).Decode(&info); err != nil {
		return fmt.Errorf("reading the settings of the NATS server at %s: %w", redacted(address), err)
	}
	if info.Disabled || info.Config.SyncAlways {
		return nil // a server without JetStream stores nothing
	}
	return fmt.Errorf("the NATS server at %s writes to disk only every %s, so a power failure can lose content that was accepted in that time: "+
		"set sync_interval: always in its jetstream block", redacted(address), info.Config.SyncInterval)
}

// redacted returns the address without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "an address that cannot be parsed"
}

// warnOfUnsyncedNATS logs which NATS servers acknowledge messages before they are on disk. If that can't be determined,
// it logs so.
func (s *Service) warnOfUnsyncedNATS(ctx context.Context) {
	if s.config.NATSURL == "" {
		return
	}
	checks := natsSyncChecks(s.config)
	if len(checks) == 0 {
		s.log.Info("cannot check whether the NATS servers write messages to disk before they acknowledge them: set NATS_MONITOR_URL")
		return
	}
	if err := checks[0].Ready(ctx); err != nil {
		s.log.Warn("accepted content may not survive a power failure", "error", err)
	}
}
