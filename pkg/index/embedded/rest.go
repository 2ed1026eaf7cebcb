package embedded

import "context"

// Rest gives up what is kept in memory for searches, unless there was one since Rest was called last: it is to be called from
// time to time, and the next search finds everything on disk. It returns about how many bytes it has given up. What is known of
// the words that were written goes, too: it takes a few hundredths of a second to learn again.
func (x *Index) Rest() (bytes int64) {
	x.analyzers.forget()
	if now := x.searches.Load(); x.rested.Swap(now) != now {
		return 0
	}
	bytes = x.clear()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.spaces {
		if h.state == open && h.refs == 0 {
			h.space.rest()
		}
	}
	return bytes
}

// rest closes connections that are open for the next reader, but for one, which keeps no pages: it can read what the system has
// in memory while the disk hangs, when none can be opened. Nobody reads the space.
func (s *space) rest() {
	s.reads.SetMaxIdleConns(1)
	defer s.reads.SetMaxIdleConns(readConnections)
	if s.reads.Stats().OpenConnections > 0 {
		_, _ = s.reads.ExecContext(context.Background(), `PRAGMA shrink_memory`) // it says nothing, and cannot fail but where the next reader does
	}
}
