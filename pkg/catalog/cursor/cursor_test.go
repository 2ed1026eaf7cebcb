package cursor

import (
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

var lists = []List{Agents, Conversations, Datasources, Datastores, Replay}

func TestACursorIsOnlyValidForItsList(t *testing.T) {
	t.Parallel()
	for _, p := range []Position{{0, "a"}, {1_700_000_000_000_000, "0af9"}, {math.MinInt64, "."}, {math.MaxInt64, "a.b\x00é"}} {
		for _, written := range lists {
			for _, read := range lists {
				got, err := Read(read, Write(written, p))
				switch {
				case read == written && (err != nil || got != p):
					t.Errorf("%+v of %s is read as %+v, error %v", p, written, got, err)
				case read != written && domain.CodeOf(err) != domain.CodeInvalid:
					t.Errorf("a cursor of %s is read as %+v of %s, error %v", written, got, read, err)
				}
			}
		}
	}
}

func TestInvalidCursorsAreRefused(t *testing.T) {
	t.Parallel()
	good := Write(Agents, Position{At: 70, ID: "a"})
	for name, s := range map[string]string{
		"nothing":                       "",
		"no base64":                     "?",
		"one of before lists had names": "MS5h",
		"without an id":                 Write(Agents, Position{At: 70}),
		"cut short":                     good[:len(good)-1],
		"padded":                        good + "=",
		"with a line's end":             good + "\n",
		"of a number written otherwise": "YWdlbnRzLisxLmE", // agents.+1.a
		"of a number in capitals":       "YWdlbnRzLjFZLmE", // agents.1Y.a
		"of a number too large":         "YWdlbnRzLnp6enp6enp6enp6enp6LmE",
	} {
		if p, err := Read(Agents, s); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %q is read as %+v, error %v", name, s, p, err)
		}
	}
}

// FuzzCursor reads arbitrary text as a cursor for each list. At most one list may accept the text, and only if Write
// could have returned it. All other lists must return an error that blames the caller.
func FuzzCursor(f *testing.F) {
	for _, list := range lists {
		f.Add(Write(list, Position{At: 1_700_000_000_000_000, ID: "0af9"}), int64(-1), "a.b")
	}
	f.Fuzz(func(t *testing.T, s string, at int64, id string) {
		taken := 0
		for _, list := range lists {
			p, err := Read(list, s)
			switch {
			case err == nil && Write(list, p) == s && p.ID != "":
				taken++
			case domain.CodeOf(err) != domain.CodeInvalid:
				t.Fatalf("cursor %q is read as %+v, error %v", s, p, err)
			}
			want := Position{At: at, ID: id}
			if got, err := Read(list, Write(list, want)); id != "" && (err != nil || got != want) {
				t.Fatalf("%+v comes back as %+v, error %v", want, got, err)
			}
		}
		if taken > 1 {
			t.Fatalf("cursor %q is one of %d lists", s, taken)
		}
	})
}
