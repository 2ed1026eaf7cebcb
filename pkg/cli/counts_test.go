package cli

import "testing"

func TestCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 documents", 1: "1 document", 2: "2 documents"} {
		if got := Counted(n, "document"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
