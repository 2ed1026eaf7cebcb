package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// natsLease is the name of a lease in the catalog. It is held not by a process but by a job log. All processes with the
// same job log therefore hold the lease together, and a process with a different job log can't get it.
const (
	natsLease     = "nats"
	natsLeaseTime = 30 * time.Second
)

// leaseNATS checks that all api processes sharing a database also share the NATS servers. With two job logs, both would
// assign the same generations, and each process would consider the other's jobs lost. A catalog in a data directory
// needs no check, because only one process uses it.
func (s *Service) leaseNATS(ctx context.Context) error {
	if s.config.DatabaseURL == "" {
		return nil
	}
	held, err := s.catalog.Lease(ctx, natsLease, s.broker.Installation(), natsLeaseTime)
	if err != nil {
		return err
	}
	if !held {
		return fmt.Errorf("another api process uses this database with other NATS servers: set the same NATS_URL; "+
			"to switch to other NATS servers, first stop all api processes for %s", natsLeaseTime)
	}
	return nil
}

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
			s.log.Warn("cannot renew this database's lease on the NATS servers", "error", err)
		case err == nil && !held:
			return errors.New("another api process now uses this database with other NATS servers: set the same NATS_URL in all of them")
		}
	}
}
