package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// natsLease is held, under the name of the job log that it works with, by every api process that shares the catalog.
const (
	natsLease     = "nats"
	natsLeaseTime = 30 * time.Second
)

// agree sees to it that all api processes that share a database share the NATS servers too: two job logs would give out the
// same generations, and each would take for lost what the other holds. A data directory has one process only.
func (s *Service) agree(ctx context.Context) error {
	if s.config.DatabaseURL == "" {
		return nil
	}
	held, err := s.catalog.Lease(ctx, natsLease, s.broker.Installation(), natsLeaseTime)
	if err != nil {
		return err
	}
	if !held {
		return fmt.Errorf("another api process works with this database and other NATS servers: set NATS_URL as it is there; "+
			"if these servers are to take their place, stop every api process for %s first", natsLeaseTime)
	}
	return nil
}

// keepAgreeing renews what agree has taken, until ctx ends.
func (s *Service) keepAgreeing(ctx context.Context) error {
	tick := time.NewTicker(natsLeaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		held, err := s.catalog.Lease(ctx, natsLease, s.broker.Installation(), natsLeaseTime)
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Warn("telling other api processes which NATS servers this one works with", "error", err)
		case err == nil && !held:
			return errors.New("another api process has begun to work with this database and other NATS servers")
		}
	}
}
