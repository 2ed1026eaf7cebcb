package app

import (
	"testing"
	"time"
)

func TestTheGuardedClockAcceptsAForwardJumpAfterADay(t *testing.T) {
	t.Parallel()
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var set, runs time.Duration
	p := newGuardedClockFrom(func() time.Time { return began.Add(set + runs) }, func() time.Duration { return runs })
	for _, step := range []struct {
		what      string
		set, runs time.Duration // set: how far the clock is moved; runs: how long it then runs
		want      time.Duration // the guarded clock's lead over a clock that was never moved
	}{
		{what: "all is well", runs: time.Hour},
		{what: "it is slewed", set: 5 * time.Second, runs: time.Hour, want: 5 * time.Second},
		{what: "it is slewed again", set: 9 * time.Second, want: 14 * time.Second},
		{what: "it is set ahead", set: 24 * time.Hour, want: 14 * time.Second},
		{what: "it stays ahead", runs: 12 * time.Hour, want: 14 * time.Second},
		{what: "it is set further ahead", set: time.Hour, runs: 11 * time.Hour, want: 14 * time.Second},
		{what: "it was ahead for a day", runs: time.Hour, want: 25*time.Hour + 14*time.Second},
		{what: "it is set ahead by a month", set: 30 * 24 * time.Hour, runs: time.Hour, want: 25*time.Hour + 14*time.Second},
		{what: "that was a mistake", set: -30 * 24 * time.Hour, runs: time.Hour, want: 25*time.Hour + 14*time.Second},
		{what: "it is set ahead by a month once more", set: 30 * 24 * time.Hour, runs: 23 * time.Hour, want: 25*time.Hour + 14*time.Second},
		{what: "it is set back", set: -60 * 24 * time.Hour, want: 25*time.Hour + 14*time.Second - 30*24*time.Hour},
	} {
		set += step.set
		if step.set > maxDrift {
			p.now() // lets the guarded clock notice the jump
		}
		runs += step.runs
		if got := p.now().Sub(began) - runs; got != step.want {
			t.Errorf("%s: it is ahead by %v, want %v", step.what, got, step.want)
		}
	}
}
