package processors

import (
	"runtime"
	"testing"
)

func TestASpareProcessorIsNotCounted(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for set, want := range map[string]int{"": withSpare(was), "7": was} {
		t.Setenv("GOMAXPROCS", set)
		runtime.GOMAXPROCS(was)
		Spare()
		Spare() // the second call changes nothing
		if got := runtime.GOMAXPROCS(0); got != want || Count() != was {
			t.Errorf("with %q set, %d run at once, want %d; %d are counted on, want %d", set, got, want, Count(), was)
		}
	}
}

func TestASingleProcessorIsNotShared(t *testing.T) {
	for count, want := range map[int]int{1: 1, 2: 3, 64: 65} {
		if got := withSpare(count); got != want {
			t.Errorf("of %d processors %d goroutines run at once, want %d", count, got, want)
		}
	}
}
