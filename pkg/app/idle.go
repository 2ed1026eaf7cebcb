package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	idleCheck = 15 * time.Second
	// idleAllocs is what a process without work allocates between two checks at most: timers, heartbeats, polls.
	idleAllocs = 8 << 20
	// worthReturning is how much memory must be gained for a collection to pay.
	worthReturning = 4 << 20
)

// returnIdleMemory gives the memory of a burst of work back to the system once the process has nothing to do. The
// runtime's own scavenger keeps a share of the heap's peak, which on a laptop is memory that nobody uses. rest is called at every
// look: who keeps something in memory gives it up where nobody has asked for it since the last one, and tells how many bytes that
// is.
func returnIdleMemory(ctx context.Context, rest func() int64) {
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
	var before uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		given := uint64(rest())
		metrics.Read(samples)
		allocs := samples[0].Value.Uint64()
		garbage := max(samples[4].Value.Uint64(), samples[3].Value.Uint64()) - samples[3].Value.Uint64()
		gain := samples[1].Value.Uint64() + samples[2].Value.Uint64() + garbage + given
		if allocs-before < idleAllocs && gain > worthReturning {
			debug.FreeOSMemory()
		}
		metrics.Read(samples[:1])
		before = samples[0].Value.Uint64()
	}
}

// rest has what this process keeps in memory for queries given up while there are none.
func (s *Service) rest() int64 {
	given := s.catalog.Rest()
	if s.engines.embedded != nil {
		given += s.engines.embedded.Rest()
	}
	return given
}
