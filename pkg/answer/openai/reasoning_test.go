package openai

import (
	"strings"
	"testing"
)

func TestReasoningIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"none":                     {"Six.", "Six."},
		"nothing":                  {"", ""},
		"before the answer":        {"<think>\nIt says six < 7.\n</think>\n\nSix.", "Six."},
		"after blanks":             {"\n <think>x</think>Six.", "Six."},
		"empty ones":               {"<think>\n\n</think>\n\nSix.", "Six."},
		"without an end":           {"<think>It says", ""},
		"without an answer":        {"<think>It says</think>\n", ""},
		"in the middle are text":   {"The tag <think> opens it.", "The tag <think> opens it."},
		"another tag":              {"<thing>Six.", "<thing>Six."},
		"what only begins like it": {" <thi", " <thi"},
		"a second pair is text":    {"<think>a</think>b <think>c</think>", "b <think>c</think>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(c.text)+1; size++ {
				var filter reasoningFilter
				got := ""
				for rest := c.text; rest != ""; {
					n := min(size, len(rest))
					text, _ := filter.write(rest[:n])
					got, rest = got+text, rest[n:]
				}
				if got += filter.close(); got != c.want {
					t.Errorf("in pieces of %d bytes: %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

func TestEndlessBlanksAreNotBuffered(t *testing.T) {
	t.Parallel()
	var filter reasoningFilter
	got := 0
	for range 10 * maxBlanks {
		text, _ := filter.write(strings.Repeat(" ", 3))
		got += len(text)
	}
	if held := 30*maxBlanks - got; held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
