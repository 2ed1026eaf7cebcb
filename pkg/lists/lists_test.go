package lists

import (
	"maps"
	"slices"
	"strconv"
	"testing"
)

func TestMapKeepsTheOrder(t *testing.T) {
	t.Parallel()
	if got := Map([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("got %q", got)
	}
	if got := Map(nil, strconv.Itoa); got == nil || len(got) != 0 {
		t.Errorf("of no items: %#v, want an empty list, which JSON shows as []", got)
	}
}

func TestSetHasEachItemOnce(t *testing.T) {
	t.Parallel()
	if got := Set([]string{"a", "b", "a"}); !maps.Equal(got, map[string]bool{"a": true, "b": true}) {
		t.Errorf("got %v", got)
	}
}
