package modelhttp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/bounded"
)

// all reads a stream to its end.
func all(r io.Reader) (out []Event, err error) {
	for e, err := range Events(r) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func TestEventsAreReadInEveryFormOfTheStandard(t *testing.T) {
	t.Parallel()
	a, b := Event{Data: "a"}, Event{Data: "b"}
	for name, test := range map[string]struct {
		body string
		want []Event
	}{
		"line feeds":                         {"data: a\n\ndata: b\n\n", []Event{a, b}},
		"carriage returns before them":       {"data: a\r\n\r\ndata: b\r\n\r\n", []Event{a, b}},
		"carriage returns alone":             {"data: a\r\rdata: b\r\r", []Event{a, b}},
		"several blank lines":                {"\n\r\n\rdata: a\n\n\n\ndata: b\n\n\n", []Event{a, b}},
		"a byte order mark at the beginning": {"\ufeffdata: a\n\n", []Event{a}},
		"a byte order mark in the data":      {"data:\ufeffa\n\n", []Event{{Data: "\ufeffa"}}},
		"no blank after the colon":           {"data:a\n\n", []Event{a}},
		"one blank is dropped":               {"data:  a\n\n", []Event{{Data: " a"}}},
		"several lines of data":              {"data: a\ndata: b\n\n", []Event{{Data: "a\nb"}}},
		"names of events":                    {"event: x\ndata: a\n\ndata: b\n\n", []Event{{"x", "a"}, b}},
		"comments":                           {": wait\n\n: wait\n\ndata: a\n: wait\n\n", []Event{a}},
		"other fields":                       {"id: 7\nretry: 9\nfield: x\ndata: a\n\n", []Event{a}},
		"an event without data":              {"event: ping\n\ndata:\n\ndata: a\n\n", []Event{a}},
		"no blank line at the end":           {"data: a\n\ndata: b\n", []Event{a, b}},
		"a line cut off at the end":          {"data: a\n\ndata: b", []Event{a}},
		"nothing":                            {"", nil},
		"no event":                           {"Service Unavailable", nil},
	} {
		for reader, r := range map[string]io.Reader{
			"whole": strings.NewReader(test.body), "by bytes": iotest.OneByteReader(strings.NewReader(test.body)),
		} {
			got, err := all(r)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v %s", name, reader, err, diff)
			}
		}
	}
}

func TestAnEventIsPassedOnBeforeTheNextOneComes(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, "data: a\n\n") }() // the stream stays open but sends nothing more
	for e, err := range Events(r) {
		if err != nil || e.Data != "a" {
			t.Fatalf("got %v, %v", e, err)
		}
		return
	}
	t.Fatal("no event")
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	long := "data: " + strings.Repeat("x", MaxEvent/2) + "\n"
	endless := io.MultiReader(strings.NewReader("data: "), zeros{})
	for name, test := range map[string]struct {
		body io.Reader
		want error
	}{
		"many events":                    {strings.NewReader(strings.Repeat(long+"\n", 5)), nil},
		"one of many lines":              {strings.NewReader(strings.Repeat(long, 3)), bounded.ErrTooLarge},
		"a line without end":             {endless, bounded.ErrTooLarge},
		"a comment without end":          {io.MultiReader(strings.NewReader(": "), zeros{}), bounded.ErrTooLarge},
		"lines of comments without end":  {strings.NewReader(strings.Repeat(": wait\n", MaxEvent)), bounded.ErrTooLarge},
		"blank lines without end":        {strings.NewReader(strings.Repeat("\n", 3*MaxEvent)), bounded.ErrTooLarge},
		"a body that breaks in an event": {io.MultiReader(strings.NewReader("data: a\n\ndata"), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
	} {
		if _, err := all(test.body); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// FuzzEvents checks that neither the sizes of reads nor the kind of line ending affects the events.
func FuzzEvents(f *testing.F) {
	for _, body := range []string{
		"data: a\n\ndata: b\n\n", "event: x\r\ndata: {\"a\":1}\r\n\r\n", "data: a\rdata: b\r\r: wait\r\r", "\ufeffdata: [DONE]", "\n\n\ndata\n\n", "id:\x00\ndata:\n\n", "retry: 9\n\n",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		want, err := all(strings.NewReader(body))
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		size := 0
		for _, e := range want {
			if e.Data == "" {
				t.Errorf("%q: an event without data", body)
			}
			size += len(e.Type) + len(e.Data)
		}
		if size > len(body) {
			t.Errorf("%q: more comes out than went in: %q", body, want)
		}
		feeds := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
		for name, r := range map[string]io.Reader{
			"byte by byte":    iotest.OneByteReader(strings.NewReader(body)),
			"line feeds":      strings.NewReader(feeds),
			"pairs":           strings.NewReader(strings.ReplaceAll(feeds, "\n", "\r\n")),
			"returns":         strings.NewReader(strings.ReplaceAll(feeds, "\n", "\r")),
			"pairs, by bytes": iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(feeds, "\n", "\r\n"))),
		} {
			got, err := all(r)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%q, %s: %v %s", body, name, err, diff)
			}
		}
	})
}
