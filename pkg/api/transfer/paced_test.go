package transfer

import (
	"testing"
	"time"
)

// TestPace lets bodies arrive at different rates, with one read per second.
func TestPace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pieces []int64 // bytes that arrive in each second
		want   int     // number of seconds after which the body is late; -1 means never
	}{
		"fast":                         {repeat(1<<20, 600), -1},
		"just fast enough":             {repeat(MinRate, 600), -1},
		"a byte a second":              {repeat(1, 600), 10},
		"half of the rate":             {repeat(MinRate/2, 600), 20},
		"a late beginning":             {append(repeat(0, 9), repeat(MinRate, 100)...), -1},
		"no beginning":                 {repeat(0, 100), 10},
		"a pause after a good start":   {append(repeat(1<<20, 10), repeat(0, 100)...), 20},
		"a good start and then a drip": {append(repeat(MinRate, 100), repeat(1, 1000)...), 110},
	} {
		began := time.Now()
		p := pace{began: began, timeout: 10 * time.Second}
		var received int64
		deadline, late := p.deadline(began, 0), -1
		for n, piece := range c.pieces {
			now := began.Add(time.Duration(n+1) * time.Second)
			if now.After(deadline) || piece == 0 && now.Equal(deadline) {
				late = n + 1
				break
			}
			if piece > 0 { // one read returns, and the next one begins
				received += piece
				deadline = p.deadline(now, received)
			}
		}
		if late-c.want > 1 || c.want-late > 1 {
			t.Errorf("%s: late after %d s, want %d s", name, late, c.want)
		}
	}
}

func repeat(n int64, times int) []int64 {
	all := make([]int64, times)
	for i := range all {
		all[i] = n
	}
	return all
}
