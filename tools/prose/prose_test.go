package main

import (
	"strings"
	"testing"
)

const root = "../.."

// Maximum number of findings per 1,000 passages. It is above 0, because some findings are quotations, names from an
// interface, or the best wording despite the rule.
var limits = map[string]float64{comment: 6, message: 4, document: 8, name: 0}

func TestTheProjectIsWrittenInPlainEnglish(t *testing.T) {
	t.Parallel()
	files, err := tracked(root)
	if err != nil {
		t.Fatal(err)
	}
	total, found := map[string]int{}, map[string][]finding{}
	for _, file := range files {
		passages, err := read(root, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range passages {
			total[p.kind]++
		}
		for _, f := range findings(passages) {
			found[f.kind] = append(found[f.kind], f)
		}
	}
	for kind, limit := range limits {
		n := len(found[kind])
		if rate := 1000 * float64(n) / float64(max(total[kind], 1)); rate > limit {
			t.Errorf("%d of %d passages of kind %s are hard to read: %.1f per 1,000, at most %.0f are allowed", n, total[kind], kind, rate, limit)
			for _, f := range found[kind] {
				t.Log(f)
			}
		}
	}
}

func TestRulesFindPhrases(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, rule string }{
		"an actor without a name":     {"Who was written for goes on at once.", "clause for a noun"},
		"the same after a colon":      {"it waits: What comes later is dropped", "clause for a noun"},
		"a question":                  {"What happens to a job that fails", ""},
		"a clause in place of a noun": {"it removes what is left", "what is"},
		"a question within":           {"Do you know what is left?", ""},
		"a verb with a new meaning":   {"the row lies in another file", "homemade verb"},
		"repairing":                   {"the index mends itself", "homemade verb"},
		"an old word":                 {"it is built anew", "dated word"},
		"an object first":             {"Of an upload the length counts.", "object first"},
		"an order":                    {"the rows are to be deleted", "is to"},
		"plain English":               {"For uploads, only the length is compared.", ""},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := findings([]passage{{kind: comment, text: tt.text}})
			switch {
			case tt.rule == "" && len(got) > 0:
				t.Errorf("%q is found by %q", tt.text, got[0].rule)
			case tt.rule != "" && (len(got) != 1 || got[0].rule != tt.rule):
				t.Errorf("%q is found by %v, want %q", tt.text, got, tt.rule)
			}
		})
	}
}

func TestReadGo(t *testing.T) {
	t.Parallel()
	src := "// Package p does it.\npackage p\n\n//go:generate x\n\ntype t struct {\n\tA int `json:\"a b c d\"` // in a field\n}\n\n" +
		"const mostRows = 1\n\nfunc f() error { return errors.New(\"one two three four\") } /* a\n b */\n"
	got, err := readGo("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := map[passage]bool{
		{"p.go", 1, comment, "Package p does it."}:  true,
		{"p.go", 7, comment, "in a field"}:          true,
		{"p.go", 12, message, "one two three four"}: true,
		{"p.go", 10, name, "mostRows"}:              true,
		{"p.go", 6, name, "t"}:                      true,
		{"p.go", 12, name, "f"}:                     true,
	}
	for _, p := range got {
		if strings.HasPrefix(p.text, "/*") || p.text == "b */" {
			continue
		}
		if !want[p] {
			t.Errorf("there is %+v", p)
		}
		delete(want, p)
	}
	for p := range want {
		t.Errorf("%+v is missing", p)
	}
}

func TestReadMarkdown(t *testing.T) {
	t.Parallel()
	got := readMarkdown("a.md", []byte("# Title `code`\n\n```sh\nwhat is run\n```\n- a [link](what-is)\n"))
	if len(got) != 2 || got[0].text != "Title " || got[1] != (passage{"a.md", 6, document, "a [link"}) {
		t.Errorf("the lines are %+v", got)
	}
}
