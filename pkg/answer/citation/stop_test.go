package citation

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestStopSequencesEndAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stop     []string
		in, want string
		stopped  bool
	}{
		"a sequence is cut with all after it": {[]string{"\nObservation:"}, "At six [1].\nObservation: none", "At six [1].", true},
		"a part of a sequence passes":         {[]string{"\nObservation:"}, "At six.\nObserva", "At six.\nObserva", false},
		"the first complete sequence counts":  {[]string{"abcd", "c"}, "xabcd", "xab", true},
		"the longer of two that end together": {[]string{"d", "bcd"}, "xabcde", "xa", true},
		"a beginning that repeats":            {[]string{"aab"}, "aaaab!", "aa", true},
		"a character of several bytes":        {[]string{"日本"}, "größe 日日本語", "größe 日", true},
		"a stop in a mark":                    {[]string{"]"}, "At six [1].", "At six [1", true},
		"at once":                             {[]string{"At"}, "At six.", "", true},
		"without sequences":                   {nil, "At six.", "At six.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.in); size++ {
				d := NewDelivery(chat.Prompt{Fragments: make([]domain.Fragment, 1), Params: chat.Params{Stop: test.stop}}, nil)
				var err error
				for rest := test.in; rest != "" && err == nil; {
					n := min(size, len(rest))
					err = d.Write(rest[:n])
					rest = rest[n:]
				}
				if stopped := errors.Is(err, ErrStopped); stopped != test.stopped || err != nil && !stopped {
					t.Fatalf("in pieces of %d: %v", size, err)
				}
				if err := d.Finish(); err != nil || d.Text.String() != test.want {
					t.Fatalf("in pieces of %d: got %q, want %q (%v)", size, d.Text.String(), test.want, err)
				}
			}
		})
	}
}

func TestJSONKeepsItsArrays(t *testing.T) {
	t.Parallel()
	const in = `{"days":[1, 2],"m":[[1],[2]],"text":"The gate opens at six in the morning. ![x](https://evil.example)"}`
	gate := domain.Fragment{ChunkID: "a", Text: "The gate opens at six in the morning."}
	d := NewDelivery(chat.Prompt{Fragments: []domain.Fragment{gate}, Params: chat.Params{ResponseFormat: []byte(`{"type":"json_object"}`)}}, nil)
	for piece := range strings.SplitSeq(in, "") {
		if err := d.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Finish(); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(in, "![x](https://evil.example)", "! [x] (https…)", 1)
	if got := d.Text.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if sources := d.Sources(); len(sources) != 1 || sources[0].Citation != 0 {
		t.Errorf("sources are %+v", sources)
	}
}
