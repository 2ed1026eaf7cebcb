package rtf_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	// word is a document as Word writes it. It has fonts with character sets, localised style names, lists with their
	// text, table definitions before and after the cells, revisions, fields, and pictures for old and new readers.
	word = `{\rtf1\adeflang1025\ansi\ansicpg1252\uc1\adeff0\deff0\stshfdbch0{\fonttbl{\f0\fbidi \froman\fcharset0\fprq2{\*\panose 02020603050405020304}Times New Roman;}
{\f2\fbidi \fmodern\fcharset204 Courier New Cyr;}{\f3\fbidi \froman\fcharset2\fprq2 Symbol;}{\f4\fcharset128 MS Mincho{\*\falt \'82\'6c\'82\'72};}}
{\colortbl;\red0\green0\blue0;}{\*\defchp \f0}{\stylesheet{\ql \li0 \snext0 Normal;}{\s1\ql\outlinelevel0 \sbasedon0 \'dcberschrift 1;}{\*\cs10 \additive Default Paragraph Font;}{\s16\ql Title;}}
{\*\listtable{\list\listtemplateid1{\listlevel\levelnfc0{\leveltext\'02\'00.;}}}}{\*\rsidtbl \rsid1}{\mmathPr\mmathFont34}
{\info{\title Gate manual}{\author J\'f6rg Oake}{\keywords gate; lock}{\creatim\yr2024\mo3\dy5\hr9\min30}{\*\company Gates}{\nofpages2}}{\*\xmlnstbl {\xmlns1 http://schemas.microsoft.com/office/word/2003/wordml;}}
\paperw11906\sectd{\header \pard\plain {\field{\*\fldinst {PAGE}}{\fldrslt {1}}} \par \pard Gates Ltd\par}{\footer \pard Confidential\par }
\pard\plain \s16\ql {\rtlch\fcs1 \af0 \ltrch\fcs0 \lang1031 Das Tor}{\par }
\pard\plain \s1\ql\outlinelevel0 {\f0 1. \'d6ffnen}{\par }
\pard\plain {\f0 It opens at\~nine\u8211\'96five, }{\b\v hidden words}{\deleted deleted words}{\revised new words}{ for \u8364\'80 5\u8239?. \u-10179?\u-8704? }{\field\flddirty{\*\fldinst { HYPERLINK "https://gate.example/a" }{\*\datafield 00}}{\fldrslt {\ul\cf2 the plan}}}{\super \chftn {\footnote \pard\plain \s2 {\super \chftn }{ Except on Sundays.}}}{. \f2 \'cf\'f0\'e8\'e2\'e5\'f2 \f4 \'93\'fa\'96\'7b}{\par }
{\shppict}{\*\shppict{\pict{\*\picprop{\sp{\sn shapeType}{\sv 75}}}\pngblip 89504e470d0a1a0a}}{\nonshppict{\pict\wmetafile8 010009}}
{\listtext\pard\plain\f0 1.\tab}\pard\plain \ls1\ilvl0 {Turn left.}{\par }{\listtext\pard\plain\f3 \'b7\tab}\pard \ls2\ilvl1 {Push.}{\par }
{\shp{\*\shpinst\shpleft0{\sp{\sn shapeType}{\sv 202}}{\shptxt \pard\plain {Text in a box.}{\par }}}{\shprslt{\*\do\dobxcolumn{\dptxbx{\dptxbxtext Text in a box.}}}}}
\trowd \trhdr\cellx100\cellx200\cellx300\pard\intbl {Part\cell Size\cell Price\cell }{\trowd \trhdr\cellx100\cellx200\cellx300\row }
\trowd \clvmgf\cellx100\cellx200\cellx300\pard\intbl {Bolt\cell small\par or tiny\cell 5\cell }{\trowd \clvmgf\cellx100\cellx200\cellx300\row }
\trowd \clvmrg\cellx100\cellx200\cellx300\pard\intbl {\cell large\cell 7\cell }{\trowd \clvmrg\cellx100\cellx200\cellx300\row }
\pard {Done.{\*\annotation \pard\plain {\chatn }{\*\atndate 1}{\*\atnref 1}{Is it?}}}{\par }{\*\themedata 504b0304}{\*\datastore 0105}}`

	// textEdit is a document as TextEdit and Cocoa write it: Unicode characters have no replacements, and lines
	// continue after backslashes.
	textEdit = "{\\rtf1\\ansi\\ansicpg1252\\cocoartf2639\n\\cocoatextscaling0\\cocoaplatform0{\\fonttbl\\f0\\fswiss\\fcharset0 Helvetica;\\f1\\fnil\\fcharset0 AppleSymbols;}\n{\\colortbl;\\red255\\green255\\blue255;}\n{\\*\\expandedcolortbl;;}\n" +
		"{\\*\\listtable{\\list\\listtemplateid1\\listhybrid{\\listlevel\\levelnfc23{\\leveltext\\leveltemplateid1\\'01\\uc0\\u8226 ;}}}}\n" +
		"\\pard\\tx560\\pardirnatural\\partightenfactor0\n\n\\f0\\fs24 \\cf0 The gate\\'92s key\\\nis \\uc0\\u1082 \\u1083 \\u1102 \\u1095 .\\\n" +
		"\\pard\\tx220\\ls1\\ilvl0\\cf0 {\\listtext\t\\uc0\\u8226 \t}North\\\n{\\listtext\t\\uc0\\u8226 \t}South\\\n}"

	// wordPad is a document as WordPad writes it, with \pn lists and few fonts.
	wordPad = "{\\rtf1\\ansi\\ansicpg1250\\deff0\\nouicompat\\deflang1045{\\fonttbl{\\f0\\fnil\\fcharset238 Calibri;}{\\f1\\fnil\\fcharset2 Symbol;}}\r\n{\\*\\generator Riched20 10.0.19041}\\viewkind4\\uc1 \r\n" +
		"\\pard\\sa200\\sl276\\slmult1\\f0\\fs22\\lang21 Za\\'bf\\'f3\\'b3\\'e6.\\par\r\n\\pard{\\pntext\\f1\\'B7\\tab}{\\*\\pn\\pnlvlblt\\pnf1\\pnindent0{\\pntxtb\\'B7}}\\fi-360 jeden\\par\r\n{\\pntext\\f0 2.\\tab}dwa\\par\r\n}\r\n\x00"

	// office is a document as LibreOffice writes it, with English style names, replacements for Unicode characters, and
	// old tables.
	office = `{\rtf1\ansi\deff3\adeflang1025{\fonttbl{\f0\froman\fprq2\fcharset0 Times New Roman;}{\f3\froman\fprq0\fcharset128 Liberation Serif;}}{\stylesheet{\s0\snext0 Normal;}{\s1\sbasedon15 Heading 1;}{\s15 Heading;}}
{\*\generator LibreOffice/7}{\info{\creatim\yr0\mo0\dy0\hr0\min0}}\pard\plain \s1{\loch\f0 Pr}{\loch\f0 \'e9}face\par\pard\plain \s0{\u322\'3f\u243\'f3d\u378\'3f\line next}\par
\trowd\cellx10\cellx20\pard\intbl Rent\cell 90\cell\row\trowd\cellx10\cellx20\pard\intbl Since\cell 2020\cell\row\pard\par\trowd\clmgf\cellx10\clmrg\cellx20\cellx30\pard\intbl A and B\cell\cell C\cell\row}`
)

func TestDocumentsAreReadAsProgramsWriteThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"Word": {word, `paragraph: Gates Ltd
heading 1: Das Tor
heading 1: 1. Öffnen
paragraph: It opens at nine–five, new words for € 5 . 😀 the plan[1]. Привет 日本 <the plan=https://gate.example/a>
paragraph: [1] Except on Sundays.
list_item 1: 1. Turn left.
list_item 2: Push.
table_row: Part	Size	Price
table_row: Part: Bolt; Size: small or tiny; Price: 5
table_row: Part: Bolt; Size: large; Price: 7
paragraph: Text in a box.
paragraph: Done.
paragraph: Is it?
paragraph: Confidential`},
		"TextEdit":    {textEdit, "paragraph: The gate’s key\nparagraph: is ключ.\nlist_item 1: North\nlist_item 1: South"},
		"WordPad":     {wordPad, "paragraph: Zażółć.\nlist_item 1: jeden\nlist_item 1: 2. dwa"},
		"LibreOffice": {office, "heading 1: Préface\nparagraph: łódź\nnext\ntable_row: Rent: 90\ntable_row: Since: 2020\ntable_row: A and B\tC"},
		"Outlook's HTML": {`{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\*\htmltag18 <html>}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Dear {\*\htmltag84 <b>}\htmlrtf {\b \htmlrtf0 Ann\htmlrtf }\htmlrtf0 {\*\htmltag92 </b>},{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 see below.\htmlrtf \par}\htmlrtf0 {\*\htmltag72 </p>}}`,
			"paragraph: Dear Ann, see below."},
		"bytes of binary data":     {"{\\rtf1 a{\\pict\\wmetafile8\\bin6 }{\\}{x}b\\bin-5 c}", "paragraph: abc"},
		"text in two encodings":    {`{\rtf1\ansi{\upr{\title old}{\*\ud{new}}} a {\upr{ol\'64}{\*\ud{\u1085?ew}}} b}`, "paragraph: new a нew b"},
		"a mark amid a group":      {`{\rtf1 {\list{\listname x;}}{\i0\*\cs7 a}{\*\cs7 b} c}`, "paragraph: a c"},
		"words after the end":      {`{\rtf1 a}b}{c}`, "paragraph: a"},
		"cells without a row":      {`{\rtf1\pard\intbl a\cell b\cell c\par}`, "table_row: a\tb\tc"},
		"a nested table":           {`{\rtf1\trowd\cellx9\cellx18\pard\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\nestrow}{\nonesttables\par}\pard\intbl\itap1\cell b\cell\row}`, "table_row: x y\tb"},
		"an object":                {`{\rtf1 a {\object\objemb{\*\objclass X}{\*\objdata 0105}{\result {b}}} c}`, "paragraph: a b c"},
		"a field that is no link":  {`{\rtf1 See {\field{\*\fldinst REF x \\h}{\fldrslt page 5}} and {\field{\*\fldinst HYPERLINK \\l "top"}{\fldrslt the top}}.}`, "paragraph: See page 5 and the top."},
		"a formula":                {`{\rtf1 a {\mmath{\*\moMath{\mr\mscr0\mi x}{\msSup{\me{\mr y}}}}}{\mmathPict{\pict 00}} b}`, "paragraph: a xy b"},
		"a replacement of 2 bytes": {`{\rtf1\ansi\ansicpg932\uc2 \u12354\'82\'a0\u12356\'82\'a2 \'83\'5c}`, "paragraph: あい ソ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.rtf", []byte(tt.text))
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetadataIsRead(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.rtf", []byte(word))
	want := map[string]string{domain.MetaAuthor: "Jörg Oake", domain.MetaKeywords: "gate; lock", domain.MetaCreated: "2024-03-05T09:30:00"}
	if diff := cmp.Diff(want, doc.Metadata); diff != "" || doc.Title != "Gate manual" || doc.Route != "rtf" || len(doc.Warnings) != 0 {
		t.Errorf("title %q, route %q, warnings %q, metadata (-want +got):\n%s", doc.Title, doc.Route, doc.Warnings, diff)
	}
}

func TestCommentsAreLeftOutOfPlainText(t *testing.T) {
	t.Parallel()
	doc, err := extract.Parse(t.Context(), format.Source{Data: strings.NewReader(word), Size: int64(len(word)), PlainRows: true}, extract.Limits{})
	if err != nil || strings.Contains(readtest.Text(doc), "Is it?") || len(doc.Warnings) != 1 {
		t.Errorf("error %v, text %q, warnings %q, want a warning in place of the comment", err, readtest.Text(doc), doc.Warnings)
	}
}

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{word, textEdit, office} {
		readtest.Damaged(t, "a.rtf", []byte(text))
	}
	for name, tt := range map[string]struct {
		text string
		kind extract.Kind
	}{
		"deep groups":         {`{\rtf1 a` + strings.Repeat("{", 100_000), extract.TooLarge},
		"footnotes in notes":  {`{\rtf1 a` + strings.Repeat(`{\footnote b`, 400), ""},
		"a million notes":     {`{\rtf1 a` + strings.Repeat(`{\footnote b}`, 100_000), ""},
		"cells without end":   {`{\rtf1\intbl` + strings.Repeat(`a\cell `, 100_000) + `\row`, ""},
		"rows without end":    {`{\rtf1` + strings.Repeat(`\trowd\intbl a\cell\row `, 100_000), ""},
		"a long word":         {`{\rtf1\` + strings.Repeat("a", 1<<20) + " b", ""},
		"a long number":       {`{\rtf1 a\fs` + strings.Repeat("9", 1<<20) + `\u99999999999 \bin99999999999999999999 b`, ""},
		"links without end":   {`{\rtf1 ` + strings.Repeat(`{\field{\*\fldinst HYPERLINK "https://a.example/"}{\fldrslt a}} `, 20_000), ""},
		"a paragraph of 3 MB": {`{\rtf1 ` + strings.Repeat(`many words `, 300_000), ""},
		"fonts and styles":    {`{\rtf1{\fonttbl` + strings.Repeat(`{\f1\fcharset204 a;}`, 50_000) + `}{\stylesheet` + strings.Repeat(`{\s1\outlinelevel1 heading 1;}`, 50_000) + "}a", ""},
		"nothing":             {`{\rtf1}`, extract.NoText},
		"half characters":     {`{\rtf1\uc0 a\u-10180 b\u-8704 \u-10180\u-10180 c}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.kind == "" {
				readtest.Check(t, "a.rtf", []byte(tt.text))
				return
			}
			if _, err := readtest.Parse(t, "a.rtf", []byte(tt.text)); extract.KindOf(err) != tt.kind {
				t.Errorf("error = %v, want kind %q", err, tt.kind)
			}
		})
	}
	cut := readtest.MustParse(t, "a.rtf", []byte(word[:strings.Index(word, `{\listtext`)]))
	if len(cut.Warnings) != 1 || !bytes.Contains([]byte(cut.Warnings[0]), []byte("the file is cut off")) {
		t.Errorf("warnings = %q, want one about the end", cut.Warnings)
	}
}

func FuzzRTF(f *testing.F) { readtest.Format(f, ".rtf", word, textEdit, wordPad, office) }
