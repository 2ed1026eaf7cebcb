package subtitle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	// subRip is a file as ripping programs write it, with a byte order mark, Windows line ends, italics, SubStation
	// Alpha positions, dialogue in one cue, and an empty line within a cue.
	subRip = "\ufeff1\r\n00:00:01,600 --> 00:00:04,200\r\n{\\an8}<i>The gate opens</i>\r\nat nine.\r\n\r\n" +
		"2\r\n00:00:04,500 --> 00:00:07,000\r\n- Who has the key?\r\n- The porter.\r\n\r\n" +
		"3\r\n00:12:31,000 --> 00:12:33,500 X1:63 X2:223 Y1:43 Y2:58\r\n<font color=\"#ffff00\">At night</font> it\r\n\r\nstays shut & locked.\r\n"

	// recording is a file as meeting recorders and editors write it, with speaker names, settings, styles and comments.
	recording = "WEBVTT - Council meeting\nKind: captions\nLanguage: en-GB\n\nSTYLE\n::cue { color: lime }\n\nREGION\nid:fred\n\nNOTE\nChecked by Bo\n\n" +
		"intro\n00:01.000 --> 00:03.000 align:start position:10% line:0\n<v Ann Oake>Welcome to the <c.loud>council</c>.</v>\n\n" +
		"00:03.500 --> 00:05.000\n<v Ann Oake>First item: the <b>bridge</b>.</v>\n\n" +
		"00:05.200 --> 00:07.000\n<v.first Bo Reed>It costs 5 &lt; 6 million &amp; more.</v>\n\n" +
		"01:02:03.400 --> 01:02:05.000\n<v Bo Reed><00:00:01.000>We <ruby>close<rt>klōz</rt></ruby> now.\n"

	// rolling is a file with automatic captions: each line is shown twice, and each word has a time.
	rolling = "WEBVTT\nKind: captions\nLanguage: en\n\n00:00:00.160 --> 00:00:02.389 align:start position:0%\n \nwe<00:00:00.320><c> dig</c><00:00:00.480><c> here</c>\n\n" +
		"00:00:02.389 --> 00:00:02.399 align:start position:0%\nwe dig here\n \n\n00:00:02.399 --> 00:00:04.309 align:start position:0%\nwe dig here\nand<00:00:02.560><c> there</c>\n"
)

func TestSubtitlesAreReadAsProgramsWriteThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, want string }{
		"SubRip": {"a.srt", subRip, "paragraph at 00:00:01: The gate opens at nine.\n- Who has the key?\n- The porter.\n" +
			"paragraph at 00:12:31: At night it stays shut & locked."},
		"WebVTT": {"a.vtt", recording, "paragraph at 00:00:01: Ann Oake: Welcome to the council. First item: the bridge.\n" +
			"paragraph at 00:00:05: Bo Reed: It costs 5 < 6 million & more.\nparagraph at 01:02:03: Bo Reed: We close now."},
		"automatic captions":         {"a.vtt", rolling, "paragraph at 00:00:00: we dig here and there"},
		"SubRip without numbers":     {"a.srt", "00:00:01,000 --> 00:00:02,000\nOne\n\n00:00:02,000 --> 00:00:03,000\n22\n", "paragraph at 00:00:01: One 22"},
		"SubRip with other marks":    {"a.srt", "1\n0:00:01.50-->0:00:02.7\nA <3 {b} > c\n", "paragraph at 00:00:01: A <3 {b} > c"},
		"cues of the same time":      {"a.srt", "1\n00:00:09,000 --> 00:00:10,000\nLate\n\n2\n00:00:01,000 --> 00:00:02,000\nEarly\n", "paragraph at 00:00:09: Late\nparagraph at 00:00:01: Early"},
		"more than a hundred hours":  {"a.vtt", "WEBVTT\n\n123:00:01.000 --> 123:00:02.000\nLong\n", "paragraph at 123:00:01: Long"},
		"WebVTT under another name":  {"a.srt", "WEBVTT\n\nx\n00:01.000 --> 00:02.000\nWords\n", "paragraph at 00:00:01: Words"},
		"SubRip under another name":  {"a.vtt", "1\n00:00:01,000 --> 00:00:02,000\nWords\n", "paragraph at 00:00:01: Words"},
		"without a name":             {"", "1\n00:00:01,000 --> 00:00:02,000\nWords\n", "paragraph at 00:00:01: Words"},
		"a sentence about subtitles": {"a.srt", "No cues, only words.", "paragraph: No cues, only words."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, tt.file, []byte(tt.text))
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
	if doc := readtest.MustParse(t, "a.vtt", []byte(recording)); doc.Language != "en-GB" || doc.MIMEType != "text/vtt" {
		t.Errorf("language %q, type %q", doc.Language, doc.MIMEType)
	}
}

func TestCodePagesOfSubtitlesAreDetected(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.srt", []byte("1\n00:00:01,000 --> 00:00:02,000\nSch\xf6ne Gr\xfc\xdfe aus K\xf6ln, sagte die B\xfcrgermeisterin gestern.\n"))
	if want := "Schöne Grüße aus Köln, sagte die Bürgermeisterin gestern."; readtest.Text(doc) != want {
		t.Errorf("text = %q, want %q", readtest.Text(doc), want)
	}
}

func TestLongSpeechIsDividedAtSentences(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("WEBVTT\n\n")
	for i := range 100 {
		b.WriteString(cueAt(i, "and this sentence of some words goes on"))
		b.WriteString(cueAt(i, "until it ends here."))
	}
	doc := readtest.MustParse(t, "a.vtt", []byte(b.String()))
	if len(doc.Blocks) < 5 {
		t.Fatalf("%d paragraphs, want at least 5", len(doc.Blocks))
	}
	for _, p := range doc.Blocks {
		if len(p.Text) > 1500 || !strings.HasSuffix(p.Text, "here.") {
			t.Errorf("paragraph %q has %d bytes or ends within a sentence", p.Text, len(p.Text))
		}
	}
}

func cueAt(second int, text string) string {
	clock := func(s int) string {
		return "00:" + string(rune('0'+s/600)) + string(rune('0'+s/60%10)) + ":" + string(rune('0'+s%60/10)) + string(rune('0'+s%10))
	}
	return clock(second) + ".000 --> " + clock(second+1) + ".000\n" + text + "\n\n"
}

func TestSubtitlesAreKnownByTheirContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ head, name, declared, want string }{
		{"WEBVTT\n\n", "", "", "text/vtt"},
		{"WEBVTT", "a.vtt", "", "text/vtt"},
		{"WEBVTTS are files", "", "", "text/plain"},
		{subRip, "", "application/octet-stream", "application/x-subrip"},
		{subRip, "", "text/srt", "application/x-subrip"},
		{subRip, "notes.txt", "", "text/plain"},
		{"1\nwords", "", "", "text/plain"},
	} {
		if got := extract.DetectType([]byte(tt.head), tt.name, tt.declared); got != tt.want {
			t.Errorf("DetectType(%.20q, %q, %q) = %q, want %q", tt.head, tt.name, tt.declared, got, tt.want)
		}
	}
}

func TestDamagedSubtitles(t *testing.T) {
	t.Parallel()
	readtest.Damaged(t, "a.srt", []byte(subRip))
	readtest.Damaged(t, "a.vtt", []byte(recording))
	readtest.Check(t, "a.vtt", []byte("WEBVTT\n\n00:01.000 --> 00:02.000\n"+strings.Repeat("<v a>", 100_000)+strings.Repeat("{\\", 100_000)+"\n"+strings.Repeat("line\n", 10_000)))
}

func FuzzSubtitles(f *testing.F) { readtest.Format(f, ".vtt", recording, rolling, subRip) }
