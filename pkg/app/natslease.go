package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// natsLease is the lease that all api processes sharing the catalog hold in the name of their job log.
const (
	natsLease     = "nats"
	natsLeaseTime = 30 * time.Second
)

// leaseNATS checks that all api processes sharing a database also share the NATS servers. Two job logs would assign the
// same generations, and each api would treat the other's jobs as lost. A data directory has only one process.
func (s *Service) leaseNATS(ctx context.Context) error {
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

// renewNATSLease renews the lease taken by leaseNATS until ctx ends.
func (s *Service) renewNATSLease(ctx context.Context) error {
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
