package citation

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// cite passes the pieces through a citation filter and returns all of its output.
func cite(given int, pieces ...string) (string, []int) {
	c := newCitationFilter(given)
	var out strings.Builder
	for _, p := range pieces {
		out.WriteString(c.write(p))
	}
	out.WriteString(c.close())
	return out.String(), c.cited()
}

func TestCitationFilter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		given int
		in    string
		want  string
		cited []int
	}{
		"text without marks passes":                        {3, "A plain text.", "A plain text.", nil},
		"marks are renumbered in order of first use":       {5, "One [4]. Two [2]. One again [4].", "One [1]. Two [2]. One again [1].", []int{4, 2}},
		"a mark of what was not given goes with its space": {3, "True [9]. So [1].", "True. So [1].", []int{1}},
		"zero is no fragment":                              {3, "Index [0], [01] and [０] [2].", "Index [0], [01] and [０] [1].", []int{2}},
		"zero in a list is an interval":                    {3, "Over [0, 1] and [ 0-3 ] [2].", "Over [0, 1] and [ 0-3 ] [1].", []int{2}},
		"an interval is text":                              {3, "In the interval [1, 3], between [1,2] [1, 3].", "In the interval [1, 3], between [1,2] [1][2].", []int{1, 3}},
		"a range of pages is text":                         {9, "See pages [3-5], pp. [3–5], Zeilen [1-2] [3-4].", "See pages [3-5], pp. [3–5], Zeilen [1-2] [1][2].", []int{3, 4}},
		"a mark after a counted word counts":               {9, "On this page [3] and in two tables [1, 2].", "On this page [1] and in two tables [2][3].", []int{3, 1, 2}},
		"a name with a subscript 0 has more":               {3, "items[0] and items[1], but rows[2].", "items[0] and items[1], but rows[1].", []int{2}},
		"a list is parted":                                 {3, "True [1, 3].", "True [1][2].", []int{1, 3}},
		"only the numbers given stay of a list":            {3, "True [7,3].", "True [1].", []int{3}},
		"a range is every number in it":                    {9, "True [2-4].", "True [1][2][3].", []int{2, 3, 4}},
		"a backward range is its ends":                     {9, "True [4-2].", "True [1][2].", []int{4, 2}},
		"Chinese brackets become plain ones":               {3, "水闸打开【2】。再关［1］。", "水闸打开[1]。再关[2]。", []int{2, 1}},
		"Chinese separators part numbers":                  {3, "水闸【2、3】", "水闸[1][2]", []int{2, 3}},
		"full-width digits are numbers":                    {3, "水闸［２］和【１、３】", "水闸[1]和[2][3]", []int{2, 1, 3}},
		"ranges have many dashes":                          {9, "True [2—3], [4～5].", "True [1][2], [3][4].", []int{2, 3, 4, 5}},
		"a word may stand before the number":               {3, "True [document 2], [Doc. 1] [^3] 【来源2】.", "True [1], [2] [3] [1].", []int{2, 1, 3}},
		"a dagger may stand after it":                      {3, "True【2†source】【9†L1-L2】【1†a[b】.", "True[1]【1†a[b】.", []int{2}},
		"a word alone is text":                             {3, "[document] [doc x] [source: a] [do]", "[document] [doc x] [source: a] [do]", nil},
		"words in brackets are text":                       {3, "A [note] and [ ] and [x1].", "A [note] and [ ] and [x1].", nil},
		"years are text":                                   {3, "In [1999] it opened.", "In [1999] it opened.", nil},
		"an open bracket at the end is text":               {3, "An end [1", "An end [1", nil},
		"a bracket in a bracket begins anew":               {3, "[[1]]", "[[1]]", []int{1}},
		"code within a line is left alone":                 {3, "Use `a[0]` here [1].", "Use `a[0]` here [1].", []int{1}},
		"a mark after code counts":                         {3, "Use `a`[1] or [9]", "Use `a`[1] or", []int{1}},
		"a code block is left alone":                       {3, "```\nx[9]\n\ny[8]\n```\nSo [2].", "```\nx[9]\n\ny[8]\n```\nSo [1].", []int{2}},
		"a stray backtick ends with its line":              {3, "5` tall\nand [9] wide [2]", "5` tall\nand wide [1]", []int{2}},
		"double spaces stay":                               {3, "a  b  [1]", "a  b  [1]", []int{1}},
		"without fragments every mark goes":                {0, "A [1] b [2].", "A b.", nil},
		"taking out a mark makes no new one":               {3, "[[9]2] and [ 1[9], 2]", "[…2] and [ 1…, 2]", nil},
		"subscripts of names that are not given are text":  {3, "Use arr[7] and list[0] [1].", "Use arr[7] and list[0] [1].", []int{1}},
		"subscripts of names in code are text":             {3, "Set argv[1], x[2], a_b[1], $q[3], f(a, b)[2] [3].", "Set argv[1], x[2], a_b[1], $q[3], f(a, b)[2] [1].", []int{3}},
		"all subscripts of a name are text":                {3, "Row m[1][2] and m[2][x] [3].", "Row m[1][2] and m[2][x] [1].", []int{3}},
		"what follows tells a subscript":                   {3, "row[1] = 2; row[2]++; row[3].id; \\sqrt[3]{x} [2]", "row[1] = 2; row[2]++; row[3].id; \\sqrt[3]{x} [1]", []int{2}},
		"a list that is assigned is text":                  {3, "Let x = [2] or y=[1, 2] [3].", "Let x = [2] or y=[1, 2] [1].", []int{3}},
		"a mark after a word counts":                       {3, "At dawn[2], the gate's[1] keeper (an old man)[3] of GitHub[2][1].", "At dawn[1], the gate's[2] keeper (an old man)[3] of GitHub[1][2].", []int{2, 1, 3}},
		"a mark after a word goes on with the text":        {3, "At dawn[2]. Then dusk[1] = night", "At dawn[1]. Then dusk[1] = night", []int{2}},
		"a range beyond the fragments is text":             {3, "Digits [1-9] match [2-3].", "Digits [1-9] match [1][2].", []int{2, 3}},
		"a block of code with tildes is left alone":        {3, "~~~\ny[9] `\n~~~~\nSo [2].", "~~~\ny[9] `\n~~~~\nSo [1].", []int{2}},
		"tildes below a heading open no code":              {3, "Title\n~~~~~\nSo [2].", "Title\n~~~~~\nSo [1].", []int{2}},
		"an indented line is code after a name":            {3, "So:\n\n    rows[1]\n\tcols[2]\n\nDone[2]", "So:\n\n    rows[1]\n\tcols[2]\n\nDone[1]", []int{2}},
		"an indented line has marks after a space":         {3, "- One:\n\n    Two [2]", "- One:\n\n    Two [1]", []int{2}},
		"a mark after a number counts":                     {3, "In 2024[2] at https://a.example/x[1], not[9].", "In 2024[1] at https://a.example/x[2], not[9].", []int{2, 1}},
		"taking out a mark makes no subscript":             {3, "arr [9][2]", "arr[1]", []int{2}},
		"invalid bytes pass":                               {1, "a\xffb \xe3\x80", "a\xffb \xe3\x80", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.in); size++ {
				var pieces []string
				for rest := test.in; rest != ""; {
					n := min(size, len(rest))
					pieces, rest = append(pieces, rest[:n]), rest[n:]
				}
				got, cited := cite(test.given, pieces...)
				if got != test.want {
					t.Fatalf("in pieces of %d: got %q, want %q", size, got, test.want)
				}
				if diff := cmp.Diff(test.cited, cited); diff != "" {
					t.Fatalf("in pieces of %d: %s", size, diff)
				}
			}
		})
	}
}

func TestTheCitationFilterBuffersOnlyPossibleMarks(t *testing.T) {
	t.Parallel()
	c := newCitationFilter(3)
	for _, step := range []struct{ in, want string }{
		{"The gate", "The gate"},
		{" opens", " opens"},
		{" ", ""},
		{"[", ""},
		{"2", ""},
		{"]. Then", " [1]. Then"},
		{" [", ""},
		{"n", " [n"},
	} {
		if got := c.write(step.in); got != step.want {
			t.Fatalf("after %q: got %q, want %q", step.in, got, step.want)
		}
	}
}

var afterName = regexp.MustCompile(`[0-9A-Za-z_)]\[`)

var plainMark = regexp.MustCompile(`\[([1-9]\d{0,2})\]`)

func FuzzCitationFilter(f *testing.F) {
	f.Add("One [4]. Two [2] `a[1]` 【3】 [1-3] [", uint8(3), uint8(4))
	f.Add("  [1][[2]]```\n[9]\n``` [ 1 ; 2 ]", uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, in string, size, given uint8) {
		given %= 20
		whole, cited := cite(int(given), in)
		var pieces []string
		for rest := in; rest != ""; {
			n := min(int(size)+1, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		parts, again := cite(int(given), pieces...)
		if whole != parts || cmp.Diff(cited, again) != "" {
			t.Fatalf("whole %q %v, in pieces %q %v", whole, cited, parts, again)
		}
		if utf8.ValidString(in) && !utf8.ValidString(parts) {
			t.Fatalf("valid text came out invalid: %q", parts)
		}
		if strings.ContainsAny(in, "`~=") || afterName.MatchString(in) { // numbers in code stay unchanged
			return
		}
		seen := 0
		for _, m := range plainMark.FindAllStringSubmatch(whole, -1) {
			n, _ := strconv.Atoi(m[1])
			if n < 1 || n > len(cited) || n > seen+1 {
				t.Fatalf("mark %d in %q, cited %v", n, whole, cited)
			}
			seen = max(seen, n)
		}
	})
}
