package app

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/config"
)

// modelChecks returns health checks for model servers at configured addresses. If one is down, the service is only
// degraded: without the embedding model, new documents wait; without a chat model, answers consist of quotations.
// Hosted services at their default addresses aren't checked.
func modelChecks(c config.Config) (out []api.Check) {
	if c.ServerEmbedModel() == "" && c.ChatModel == "" && len(c.ModelNames) == 0 {
		return nil
	}
	for _, s := range chatProviders(c) {
		if s.address == "" {
			continue
		}
		server := &modelServerCheck{address: s.address, client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
		out = append(out, api.Check{Name: s.name, Ready: server.ready, Degrades: true})
	}
	return out
}

// modelServerCheck checks whether a server responds. It sends no key and requests nothing that costs money.
type modelServerCheck struct {
	address string
	client  *http.Client

	mu     sync.Mutex
	asked  time.Time
	answer error
}

// Limits for checking a model server.
const (
	modelServerAge     = 2 * time.Second // maximum age of a reused result
	modelServerTimeout = 1500 * time.Millisecond
)

// ready returns an error if the server doesn't respond. Gateway errors don't count as a response, because they mean
// that the server behind the gateway is down.
func (m *modelServerCheck) ready(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked.IsZero() && time.Since(m.asked) < modelServerAge {
		return m.answer
	}
	ctx, cancel := context.WithTimeout(ctx, modelServerTimeout)
	defer cancel()
	m.answer = m.ask(ctx)
	m.asked = time.Now()
	return m.answer
}

func (m *modelServerCheck) ask(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.address, nil)
	if err != nil {
		return fmt.Errorf("checking the model server: %w", err)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return fmt.Errorf("checking the model server: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("checking the model server: %s", resp.Status)
	}
	return nil
}
