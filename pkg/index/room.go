package index

import "sync"

const (
	// usualHits is the room that hits are given at least, mostHits how much is kept at most to be used again.
	usualHits = 512
	mostHits  = 4096
)

// hitsPool keeps the room of hits between searches. The hits of a search by both legs take a hundred kilobytes, of which a few
// become fragments: they were most of what a query left to the garbage collector.
var hitsPool sync.Pool

// Room gives the result n hits in which nothing is set yet, whose room Release gives back.
func (r *Result) Room(n int) {
	room, ok := hitsPool.Get().(*[]Hit)
	if !ok || cap(*room) < n {
		room = new([]Hit)
		*room = make([]Hit, 0, max(n, usualHits))
	}
	*room = (*room)[:n]
	r.room, r.Hits = room, *room
}

// Release gives back the room that the hits lie in, when the engine has it from Room. Nobody may look at the hits afterwards; what
// they said, as their texts and terms, stays.
func (r *Result) Release() {
	if r.room == nil {
		return
	}
	room := r.room
	clear(*room)
	r.room, r.Hits = nil, nil
	if cap(*room) <= mostHits {
		hitsPool.Put(room)
	}
}
