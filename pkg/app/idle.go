package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	idleCheck = 15 * time.Second
	// Number of bytes an idle process may allocate between two checks. Timers, heartbeats and polling always allocate
	// some memory.
	idleAllocs = 8 << 20
	// A garbage collection is forced only if it can return at least this many bytes to the system.
	minReturned = 4 << 20
)

// returnIdleMemory returns memory to the system when the process is idle. Go's runtime would keep part of the peak
// heap, which is a waste on a small machine. Every check calls `rest`, which empties any caches not used since the
// previous check and returns the number of bytes freed.
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
		if allocs-before < idleAllocs && gain > minReturned {
			debug.FreeOSMemory()
		}
		metrics.Read(samples[:1])
		before = samples[0].Value.Uint64()
	}
}

// clearIdleCaches empties the query caches that have not been used recently, and returns the number of bytes freed.
func (s *Service) clearIdleCaches() int64 {
	given := s.catalog.ClearIdleCache()
	if s.engines.embedded != nil {
		given += s.engines.embedded.ClearIdleCaches()
	}
	return given
}
