package citation

import "testing"

func TestCodeOfDocumentsKeepsItsSubscripts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"As shown in [7], the gate [1, 2] opens at dawn[3].": "As shown in (7), the gate (1, 2) opens at dawn(3).",
		"Read sys.argv[1] and m[1][2] or row[0] = 5.":        "Read sys.argv[1] and m[1][2] or row[0] = 5.",
		"Use `rows[1]` [2].":                                 "Use `rows[1]` (2).",
		"```\nprint([1])\n```\nSee [1].":                     "```\nprint([1])\n```\nSee (1).",
		"Example:\n\n    rows[1]\n\nSee rows [1].":           "Example:\n\n    rows[1]\n\nSee rows (1).",
		"水闸【3】打开[4]。":                                        "水闸(3)打开(4)。",
	} {
		if got := Neutral(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
