package pdftext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLetterSpacedWordsAreWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		want    []string
	}{
		"with blanks between the words":           {"BT /F 10 Tf 3 Tc (ANNUAL REPORT 2024) Tj ET", []string{"ANNUAL REPORT 2024"}},
		"in part of a line":                       {"BT /F 10 Tf (see the ) Tj 2.5 Tc (WARNING ALSO ) Tj 0 Tc (in chapter two) Tj ET", []string{"see the WARNING ALSO in chapter two"}},
		"of short words":                          {"BT /F 10 Tf 3 Tc (I am on it) Tj ET", []string{"I am on it"}},
		"in small capitals":                       {"BT 2.4 Tc /F 12 Tf (S) Tj /F 9 Tf (MALL ) Tj /F 12 Tf (T) Tj /F 9 Tf (ITLES) Tj ET", []string{"SMALL TITLES"}},
		"with kerned pairs":                       {"BT /F 10 Tf [(N)-300(O)-300(T)-230(A)-300(B)-300(E)-300(N)-300(E )-300(T)-220(A)-300(L)-300(L)] TJ ET", []string{"NOTABENE TALL"}},
		"in another language":                     {"BT /F 10 Tf 4 Tc (\\334BER DIE M\\304RZ-LAGE) Tj ET", []string{"ÜBER DIE MÄRZ-LAGE"}},
		"typed with a blank behind each letter":   {"BT /F 10 Tf (S U M M A R Y) Tj ET", []string{"SUMMARY"}},
		"typed with more blanks behind each word": {"BT /F 10 Tf (P R E S S   R E L E A S E) Tj ET", []string{"PRESS RELEASE"}},
		"words without blanks in a line with some": {"BT /F 10 Tf (some ) Tj [(words)-300(have)-300(gaps)] TJ ( here) Tj ET",
			[]string{"some words have gaps here"}},
		"lists of letters are none":   {"BT /F 10 Tf (A B C D E F) Tj 0 -20 Td (B A E D x) Tj 0 -20 Td (x y z w) Tj ET", []string{"A B C D E F", "B A E D x", "x y z w"}},
		"typed, with a year":          {"BT /F 10 Tf (A P R I L  1 9 9 8) Tj ET", []string{"APRIL 1998"}},
		"typed, with a colon":         {"BT /F 10 Tf (T E R M S :) Tj ET", []string{"TERMS:"}},
		"typed digits alone":          {"BT /F 10 Tf (3 1 4 7) Tj ET", []string{"3 1 4 7"}},
		"without blanks, with digits": {"BT /F 10 Tf [(F)-300(a)-300(x)-900(0)-300(4)-300(0)-900(7)-300(7)] TJ ET", []string{"Fax 040 77"}},
		"wide blanks are none":        {"BT /F 10 Tf 6 Tw (plain words set wide) Tj ET", []string{"plain words set wide"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, texts(t, onePage(tt.content, helvetica))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpelledIdeogramsAreWords(t *testing.T) {
	t.Parallel()
	row := func(step float64, letters ...string) (glyphs []shownGlyph) {
		for i, l := range letters {
			x := float64(i) * step
			glyphs = append(glyphs, shownGlyph{l, x, x + 10}, shownGlyph{" ", x + 10, x + 13})
		}
		return glyphs
	}
	for want, glyphs := range map[string][]shownGlyph{
		"目录":      row(20, "目", "录"),
		"목차":      row(22, "목", "차"),
		"年度报告":    row(15, "年", "度", "报", "告"),
		"是\t否":    row(60, "是", "否"),
		"第 一 章 A": append(row(15, "第", "一", "章"), shownGlyph{"A", 45, 50}),
	} {
		if got := lineTexts(glyphs); len(got) != 1 || got[0] != want {
			t.Errorf("lines = %q, want %q", got, want)
		}
	}
}

func TestSuperscripts(t *testing.T) {
	t.Parallel()
	const up, down, back = " 4 Ts /F 7 Tf ", " -2 Ts /F 7 Tf ", " 0 Ts /F 10 Tf "
	show := func(parts ...string) string {
		s := "BT /F 10 Tf "
		for _, p := range parts {
			switch p {
			case up, down, back:
				s += p
			default:
				s += "(" + p + ") Tj "
			}
		}
		return s + "ET"
	}
	tests := map[string]struct {
		content, want string
	}{
		"an exponent":                         {show("about 10", up, "6", back, " bacteria"), "about 10⁶ bacteria"},
		"a negative exponent":                 {show("3 x 10", up, "-3", back, " mol"), "3 x 10⁻³ mol"},
		"a unit":                              {show("40 m", up, "2", back, "."), "40 m²."},
		"marks of notes":                      {show("the method", up, "1,2", back, " of Smith", up, "a", back, " and"), "the method¹,² of Smithᵃ and"},
		"a range of notes":                    {show("as shown", up, "3\\2265", back, " by"), "as shown³–⁵ by"},
		"a mark behind a stop":                {show("It ended.", up, "12", back, " Then"), "It ended.¹² Then"},
		"ordinals are words":                  {show("the 1", up, "st", back, " and XIX", up, "e", back, " M", up, "me", back, " B"), "the 1st and XIXe Mme B"},
		"charges of ions":                     {show("Ca", up, "2+", back, " and Na", up, "+"), "Ca²⁺ and Na⁺"},
		"numbers below the line are plain":    {show("H", down, "2", back, "O and SO", down, "4", up, "2-"), "H2O and SO4²⁻"},
		"exponents of variables":              {show("x", up, "n", back, " + e", up, "x", back, " - 2", up, "k"), "xⁿ + eˣ - 2ᵏ"},
		"trade marks":                         {show("Acme", up, "TM", back, " tools"), "Acme™ tools"},
		"degrees":                             {show("20 ", up, "o", back, "C at noon"), "20 °C at noon"},
		"brackets part already":               {show("a claim", up, "[3]", back, " here"), "a claim[3] here"},
		"a note's own mark, with a space":     {show(up, "2", back, "See the annex."), "2 See the annex."},
		"set far above the line":              {"BT /F 10 Tf (speed 10) Tj 5.5 Ts /F 6 Tf (8) Tj 0 Ts /F 10 Tf ( units) Tj ET", "speed 10⁸ units"},
		"of full size":                        {"BT /F 10 Tf (area in km) Tj 3.5 Ts (2) Tj 0 Ts ( of land) Tj ET", "area in km² of land"},
		"a small word on the same line stays": {"BT /F 10 Tf (Total) Tj /F 7 Tf (12) Tj ET", "Total12"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{tt.want}, texts(t, onePage(tt.content, helvetica))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
