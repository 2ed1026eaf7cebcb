package processors

import (
	"runtime"
	"testing"
)

func TestOneMayBeSpareThatNobodyCountsOn(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for set, want := range map[string]int{"": Count() + 1, "7": was} {
		t.Setenv("GOMAXPROCS", set)
		runtime.GOMAXPROCS(was)
		Spare()
		Spare() // none more
		if got := runtime.GOMAXPROCS(0); got != want || Count() != was {
			t.Errorf("with %q set, %d run at once, want %d; %d are counted on, want %d", set, got, want, Count(), was)
		}
	}
}
