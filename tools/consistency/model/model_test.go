package model

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// at returns an interval in seconds.
func at(from, to int) Interval {
	return Interval{time.Duration(from) * time.Second, time.Duration(to) * time.Second}
}

// history is a document with helpers for recording whole operations.
type history struct{ *Document }

func newHistory() history { return history{New(Tag{0, 1, 2})} }

func (h history) write(from, to int) {
	o, _ := h.BeginWrite(at(from, to).From, "test")
	o.Done(at(from, to).To, "id")
}

func (h history) delete(from, to int) {
	h.BeginDelete(at(from, to).From, "test").Done(at(from, to).To, "id")
}

func (h history) unknown(from, to int) {
	o, _ := h.BeginWrite(at(from, to).From, "test")
	o.Unknown(at(from, to).To, errors.New("time-out"))
}

func TestObservations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(h history) []error
		want Kind // "" if every observation is possible
	}{
		"the old version until the new one is searchable": {func(h history) []error {
			h.write(0, 1)
			h.write(2, 3)
			return []error{h.Visible(1, at(4, 5), "query"), h.Visible(2, at(6, 7), "query")}
		}, ""},
		"nothing before the first version is searchable": {func(h history) []error {
			h.write(0, 1)
			return []error{h.Invisible(at(2, 3), "query"), h.Visible(1, at(4, 5), "query")}
		}, ""},
		"an older version after a newer one": {func(h history) []error {
			h.write(0, 1)
			h.write(2, 3)
			return []error{h.Visible(2, at(4, 5), "query"), h.Visible(1, at(6, 7), "query")}
		}, Reverted},
		"an older version in a query that overlaps with one that found the newer": {func(h history) []error {
			h.write(0, 1)
			h.write(2, 3)
			return []error{h.Visible(2, at(4, 6), "query"), h.Visible(1, at(5, 7), "query")}
		}, ""},
		"an older version after the newer one was synched": {func(h history) []error {
			h.write(0, 1)
			h.write(2, 3)
			return []error{h.Accepted(2, true, at(4, 5), "GET"), h.Visible(1, at(6, 7), "query")}
		}, Reverted},
		"a searchable version that is gone": {func(h history) []error {
			h.write(0, 1)
			return []error{h.Visible(1, at(2, 3), "query"), h.Invisible(at(4, 5), "query")}
		}, Lost},
		"a searchable version that is gone while it is being deleted": {func(h history) []error {
			h.write(0, 1)
			e := h.Visible(1, at(2, 3), "query")
			h.BeginDelete(4*time.Second, "test")
			return []error{e, h.Invisible(at(5, 6), "query")}
		}, ""},
		"a deleted version": {func(h history) []error {
			h.write(0, 1)
			h.delete(2, 3)
			return []error{h.Visible(1, at(4, 5), "query")}
		}, Resurrected},
		"a version during its deletion": {func(h history) []error {
			h.write(0, 1)
			h.delete(2, 5)
			return []error{h.Visible(1, at(4, 6), "query")}
		}, ""},
		"a new version after a deletion": {func(h history) []error {
			h.write(0, 1)
			h.delete(2, 3)
			h.write(4, 5)
			return []error{h.Invisible(at(5, 6), "query"), h.Visible(2, at(6, 7), "query")}
		}, ""},
		"a version that is lost after a deletion and another write": {func(h history) []error {
			h.write(0, 1)
			h.delete(2, 3)
			h.write(4, 5)
			return []error{h.Visible(2, at(6, 7), "query"), h.Invisible(at(8, 9), "query")}
		}, Lost},
		"an accepted version that another read does not show": {func(h history) []error {
			h.write(0, 1)
			h.write(2, 3)
			return []error{h.Accepted(1, false, at(4, 5), "GET")}
		}, Lost},
		"a datasource that is missing": {func(h history) []error {
			h.write(0, 1)
			return []error{h.Missing(at(2, 3), "GET")}
		}, Lost},
		"a datasource that is missing before its creation was answered": {func(h history) []error {
			h.write(0, 4)
			return []error{h.Missing(at(2, 3), "GET")}
		}, ""},
		"a version that was never written": {func(h history) []error {
			h.write(0, 1)
			return []error{h.Visible(2, at(4, 5), "query")}
		}, Invented},
		"a write without an answer that happens late": {func(h history) []error {
			h.unknown(0, 1)
			h.write(2, 3)
			return []error{h.Visible(2, at(4, 5), "query"), h.Visible(1, at(6, 7), "query")}
		}, ""},
		"a write without an answer that happens twice": {func(h history) []error {
			h.unknown(0, 1)
			h.write(2, 3)
			return []error{h.Visible(1, at(4, 5), "query"), h.Visible(2, at(6, 7), "query"), h.Visible(1, at(8, 9), "query")}
		}, Reverted},
		"a write without an answer that never happens": {func(h history) []error {
			h.write(0, 1)
			h.unknown(2, 3)
			return []error{h.Accepted(1, true, at(4, 5), "GET"), h.Visible(1, at(6, 7), "query")}
		}, ""},
		"a write without an answer that was seen before the next write": {func(h history) []error {
			h.unknown(0, 1)
			e := h.Accepted(1, false, at(2, 3), "GET")
			h.write(4, 5)
			return []error{e, h.Accepted(1, false, at(6, 7), "GET")}
		}, Lost},
		"a datasource id after its deletion": {func(h history) []error {
			h.write(0, 1)
			h.delete(2, 3)
			return []error{h.Present("id", at(4, 5), "GET")}
		}, Resurrected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := errors.Join(c.do(newHistory())...)
			v, _ := errors.AsType[*Violation](err)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a possible history is rejected: %v", err)
			case c.want != "" && (v == nil || v.Kind != c.want):
				t.Errorf("found %v, want %s", err, c.want)
			case v != nil && !strings.Contains(v.Error(), "VIOLATION") || v != nil && !strings.Contains(v.History, "done"):
				t.Errorf("the violation has no history: %v", v)
			}
		})
	}
}

func TestLongHistoriesStayShortAndStrict(t *testing.T) {
	t.Parallel()
	h := newHistory()
	const n = 2000
	for i := range n {
		h.write(3*i, 3*i+1)
		if err := h.Visible(i+1, at(3*i+2, 3*i+2), "query"); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.ops) > 20 || len(h.log) > maxLog {
		t.Errorf("%d operations and %d lines are kept", len(h.ops), len(h.log))
	}
	if err := h.Visible(5, at(4*n, 4*n), "query"); err == nil {
		t.Error("a version that was replaced long ago is taken")
	}
	if !strings.Contains(h.History(), "older entries") {
		t.Error("the history does not say that it was cut")
	}
}

func TestFragmentsAreIdentified(t *testing.T) {
	t.Parallel()
	tag := Tag{1, 2, 3}
	version := 1
	for strings.Count(Text(tag, version), ".") < 6 {
		version++
	}
	whole := Text(tag, version)
	sentences := strings.SplitAfter(whole, ".")
	other := Text(Tag{1, 2, 4}, 1)
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"the whole":                     {whole, nil},
		"one sentence":                  {sentences[1], nil},
		"other white space":             {strings.Join(strings.Fields(whole), "\n "), nil},
		"a sentence is missing":         {sentences[0] + sentences[2], ErrForeign},
		"a changed word":                {strings.Replace(whole, "says", "said", 1), ErrForeign},
		"no mark":                       {"Something else.", ErrForeign},
		"empty":                         {"", ErrForeign},
		"another version follows":       {sentences[0] + " " + Text(tag, version+1), ErrMixed},
		"a part of another document":    {whole + " " + other, ErrMixed},
		"another version's mark within": {strings.Replace(whole, "version v", "version v9", 1), ErrMixed},
	} {
		got, v, err := Identify(c.text)
		if !errors.Is(err, c.want) || err == nil && (got != tag || v != version) {
			t.Errorf("%s: %s, version %d, %v, want %v", name, got, v, err, c.want)
		}
	}
	if !IsWhole(tag, version, sentences) || IsWhole(tag, version, sentences[1:]) {
		t.Error("the whole text is not told from a part")
	}
	if got, ok := ParseTag(tag.String()); !ok || got != tag {
		t.Errorf("%s is parsed as %v", tag, got)
	}
	for _, s := range []string{"", "t1d2k3", "xt1d2k000003", "t1d2k000003 "} {
		if _, ok := ParseTag(s); ok {
			t.Errorf("%q is taken for a tag", s)
		}
	}
}
