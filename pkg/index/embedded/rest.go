package embedded

// Rest gives up what is kept in memory for searches, unless there was one since Rest was called last: it is to be called from
// time to time, and the next search finds everything on disk. It returns about how many bytes it has given up.
func (x *Index) Rest() (bytes int64) {
	if now := x.searches.Load(); x.rested.Swap(now) != now {
		return 0
	}
	bytes = x.cache.clear() + x.rows.clear()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range x.spaces {
		if h.state == open && h.refs == 0 {
			h.space.rest()
		}
	}
	return bytes
}

// rest closes connections that are open for the next reader.
func (s *space) rest() {
	s.reads.SetMaxIdleConns(0)
	s.reads.SetMaxIdleConns(idleConnections)
}
