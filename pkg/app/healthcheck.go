package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/sluice/sluice/pkg/config"
)

// healthcheck asks the process at SLUICE_ADDR whether it is ready: for containers, whose images hold no other program
// that could ask.
func healthcheck(ctx context.Context, shape Shape, args, environ []string) error {
	c, err := config.Parse(args, environ, io.Discard)
	if err != nil {
		return usageError{err}
	}
	addr := c.Addr
	switch {
	case addr == "" && shape != API:
		return usageError{fmt.Errorf("without SLUICE_ADDR %s listens at a free port, which is not known here: set it", article(shape))}
	case addr == "":
		addr = DefaultAddr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return usageError{fmt.Errorf("SLUICE_ADDR %q: %w", addr, err)}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("asking for readiness: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking for readiness: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if res.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("not ready: %s", body), err)
	}
	return nil
}
