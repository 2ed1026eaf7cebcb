package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// readiness says how to tell that the program is ready. Exactly one field is set.
type readiness struct {
	TCP  string // an address that accepts connections
	HTTP string // a URL that answers 200
}

// wait waits until the program is ready.
func (r readiness) wait(ctx context.Context) error {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	var last error
	for {
		if last = r.probe(ctx); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %w", startTimeout, last)
		case <-tick.C:
		}
	}
}

func (r readiness) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if r.HTTP == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.TCP)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.HTTP, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status + ": " + string(body))
	}
	return nil
}
