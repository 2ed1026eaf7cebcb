package tesseract

import (
	"slices"
	"strings"
	"testing"
)

func TestLanguagesAreChosenByScript(t *testing.T) {
	t.Parallel()
	installed := []string{"ara", "chi_sim", "deu", "ell", "eng", "fin", "fra", "osd", "rus"}
	for name, test := range map[string]struct {
		wanted, script  string
		chosen, missing string
	}{
		"nothing is known":              {chosen: "eng deu fra"},
		"the wanted ones":               {wanted: "fin,deu", chosen: "fin deu"},
		"several scripts at first":      {wanted: "rus,eng", chosen: "rus eng"},
		"those of the script":           {wanted: "rus,eng", script: "Cyrillic", chosen: "rus"},
		"none of the script is wanted":  {wanted: "eng", script: "Greek", chosen: "ell"},
		"one is not installed":          {wanted: "pol,deu", chosen: "deu", missing: "pol"},
		"none is installed":             {wanted: "pol", chosen: "eng deu fra", missing: "pol"},
		"a script without languages":    {script: "Thai"},
		"a script with another name":    {script: "Han", chosen: "chi_sim"},
		"an unknown script":             {script: "Klingon"},
		"one that is wanted repeatedly": {wanted: "deu,deu", script: "Latin", chosen: "deu"},
	} {
		var wanted []string
		if test.wanted != "" {
			wanted = strings.Split(test.wanted, ",")
		}
		chosen, missing := Choose(installed, wanted, test.script)
		if !slices.Equal(chosen, strings.Fields(test.chosen)) && len(chosen)+len(test.chosen) > 0 || strings.Join(missing, " ") != test.missing {
			t.Errorf("%s: %v are chosen, %v are missing", name, chosen, missing)
		}
	}
	for script, languages := range languagesOf {
		for _, l := range languages {
			if of := ScriptOf(l); of != script && script != "Han" && script != "Japanese" && script != "Korean" && script != "Hangul" {
				t.Errorf("%s is written in %s, not %s", l, of, script)
			}
		}
	}
}

func TestTheLayoutIsReadFromTheOutput(t *testing.T) {
	t.Parallel()
	got := parseLayout("Page number: 0\nOrientation in degrees: 270\nRotate: 90\nOrientation confidence: 15.30\nScript: Cyrillic\nScript confidence: 4.00\n")
	if want := (Layout{Turn: 1, Confidence: 15.3, Script: "Cyrillic"}); got != want {
		t.Errorf("got %+v", got)
	}
	if got := parseLayout("Rotate: 45\nOrientation confidence: many\nScript: " + strings.Repeat("x", 100)); got != (Layout{}) {
		t.Errorf("from nonsense, got %+v", got)
	}
}

func TestTheListOfLanguagesIsRead(t *testing.T) {
	t.Parallel()
	got := parseLanguages("List of available languages in \"/usr/share/tessdata/\" (4):\nchi_sim\ndeu\nosd\nscript/Latin\n../../etc\n")
	if !slices.Equal(got, []string{"chi_sim", "deu", "osd"}) {
		t.Errorf("got %v", got)
	}
}
