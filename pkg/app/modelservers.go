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

// modelChecks ask the model servers whose addresses are configured whether they answer. Without them documents are taken
// in, and wait, or questions are answered by fragments alone, so they only degrade. Hosted services, which have their address
// from us, are not asked.
func modelChecks(c config.Config) (out []api.Check) {
	if c.EmbedModel == "" && c.ChatModel == "" && len(c.ModelNames) == 0 {
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

// modelServerCheck finds out whether somebody answers at an address. It shows no key and asks for nothing that costs.
type modelServerCheck struct {
	address string
	client  *http.Client

	mu     sync.Mutex
	asked  time.Time
	answer error
}

// Bounds of asking a model server.
const (
	modelServerAge     = 2 * time.Second // of an answer that is given again
	modelServerTimeout = 1500 * time.Millisecond
)

// ready reports whether the server answers, whatever it says, unless a gateway says that it does not.
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
		return fmt.Errorf("asking the model server: %w", err)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the model server: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("asking the model server: %s", resp.Status)
	}
	return nil
}
