package outlook_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// unicodeText returns a stream with UTF-16 text, as written by Outlook.
func unicodeText(id int, text string) entry {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return entry{name: fmt.Sprintf("__substg1.0_%04X001F", id), data: b}
}

func narrowText(id int, text string) entry {
	return entry{name: fmt.Sprintf("__substg1.0_%04X001E", id), data: []byte(text)}
}

func binaryValue(id int, data string) entry {
	return entry{name: fmt.Sprintf("__substg1.0_%04X0102", id), data: []byte(data)}
}

// fixed returns the stream that holds a message's fixed-size properties. The keys of `values` combine a property's
// identifier and type.
func fixed(header int, values map[uint32]uint64) entry {
	b := make([]byte, header)
	for tag, v := range values {
		b = binary.LittleEndian.AppendUint32(b, tag)
		b = binary.LittleEndian.AppendUint32(b, 6)
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return entry{name: "__properties_version1.0", data: b}
}

func folder(name string, children ...entry) entry {
	return entry{name: name, children: children, folder: true}
}

func fileTime(t time.Time) uint64 { return uint64(t.Unix()*1e7) + 116444736000000000 }

var sent = time.Date(2024, 3, 5, 9, 30, 0, 0, time.UTC)

func recipient(n int, kind uint64, name, email string) entry {
	return folder(fmt.Sprintf("__recip_version1.0_#%08X", n), fixed(8, map[uint32]uint64{0x0c150003: kind}), unicodeText(0x3001, name), unicodeText(0x39fe, email))
}

func attachment(n int, name, kind, data string, more ...entry) entry {
	return folder(fmt.Sprintf("__attach_version1.0_#%08X", n), append([]entry{fixed(8, map[uint32]uint64{0x37050003: 1}), unicodeText(0x3707, name), unicodeText(0x370e, kind), binaryValue(0x3701, data)}, more...)...)
}

// message returns a message as Outlook saves it for mail from Exchange. It has recipient addresses, plain text and
// HTML, an attached file, a picture in the text, and an attached message.
func message() []byte {
	return container([]entry{
		fixed(32, map[uint32]uint64{0x00390040: fileTime(sent), 0x3fde0003: 1252, 0x3ffd0003: 1252}),
		unicodeText(0x001a, "IPM.Note"), unicodeText(0x0037, "Schlüssel für das Tor"), unicodeText(0x0c1a, `Jörg "Joe" Oake`), unicodeText(0x0c1f, "/O=GATE/CN=JOERG"), unicodeText(0x5d01, "joerg@gate.example"),
		unicodeText(0x0e04, "Ann Lee; Bo"), unicodeText(0x1000, "The keys are with the porter.\r\n\r\nJörg\r\n"),
		binaryValue(0x1013, "<html><head><meta charset=windows-1252></head><body><p>The keys are with the porter, sch\xf6n.</p><img src=\"cid:plan\"></body></html>"),
		recipient(0, 1, "Ann Lee", "ann@gate.example"), recipient(1, 1, "Bo", "bo@gate.example"), recipient(2, 2, "Team, Night", "night@gate.example"), recipient(3, 3, "Hidden", "bcc@gate.example"),
		attachment(0, "prices.csv", "text/csv", "part,price\nbolt,5\nbar,7\n"),
		attachment(1, "plan.png", "image/png", "\x89PNG\r\n\x1a\n", unicodeText(0x3712, "plan")),
		folder("__attach_version1.0_#00000002", fixed(8, map[uint32]uint64{0x37050003: 5}), unicodeText(0x3001, "Earlier"),
			folder("__substg1.0_3701000D", fixed(24, map[uint32]uint64{0x0e060040: fileTime(sent.Add(-time.Hour))}), unicodeText(0x0037, "Earlier"), unicodeText(0x0c1a, "Ann Lee"), unicodeText(0x1000, "Where are the keys?"),
				attachment(0, "big.txt", "text/plain", strings.Repeat("A long list of keys. ", 400)))),
	})
}

func TestMessagesAreReadLikeMail(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "keys.msg", message())
	want := `heading 1: Schlüssel für das Tor
paragraph: From: Jörg "Joe" Oake <joerg@gate.example>
To: Ann Lee <ann@gate.example>, Bo <bo@gate.example>
Cc: Team, Night <night@gate.example>
Date: Tue, 05 Mar 2024 09:30:00 +0000
paragraph: The keys are with the porter.
paragraph: Jörg
heading 2: prices.csv
table_row row 1: part	price
table_row row 2: part: bolt; price: 5
table_row row 3: part: bar; price: 7
heading 2: Earlier
paragraph: From: Ann Lee
Date: Tue, 05 Mar 2024 08:30:00 +0000
paragraph: Where are the keys?
heading 3: big.txt
paragraph: A long list`
	got, _, _ := strings.Cut(readtest.Lines(doc), " of keys.")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if doc.MIMEType != "application/vnd.ms-outlook" || doc.Route != "msg" || doc.Title != "Schlüssel für das Tor" || doc.Metadata[domain.MetaCreated] != "2024-03-05T09:30:00Z" || len(doc.Warnings) != 0 {
		t.Errorf("type %q, route %q, title %q, metadata %v, warnings %q", doc.MIMEType, doc.Route, doc.Title, doc.Metadata, doc.Warnings)
	}
}

func TestTextsOfOldMessagesAreInTheirCodePage(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.msg", container([]entry{
		fixed(32, map[uint32]uint64{0x3ffd0003: 1251}), narrowText(0x0037, "\xca\xeb\xfe\xf7\xe8"), folder("__recip_version1.0_#00000000", fixed(8, map[uint32]uint64{0x0c150003: 1}), narrowText(0x3001, "\xc1\xee\xf0\xe8\xf1")), narrowText(0x1000, "\xca\xeb\xfe\xf7\xe8 \xf3 \xe2\xee\xf0\xee\xf2."),
	}))
	if diff := cmp.Diff("heading 1: Ключи\nparagraph: To: Борис\nparagraph: Ключи у ворот.", readtest.Lines(doc)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestTheTextMayBeCompressedRTF(t *testing.T) {
	t.Parallel()
	// The example in MS-OXRTFCP, section 3.1: the RTF text {\rtf1\ansi\ansicpg1252\pard hello world}.
	packed := "\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\x0a\x00rcpg125B2\x0a\xf3 hel\x09\x00 bw\x05\xb0ld}\x0a\x80\x0f\xa0"
	plain := "\x36\x00\x00\x00\x2a\x00\x00\x00MELA\x00\x00\x00\x00{\\rtf1\\ansi\\ansicpg1252\\pard hello world}"
	for name, data := range map[string]string{"packed": packed, "plain": plain} {
		doc := readtest.MustParse(t, "a.msg", container([]entry{fixed(32, nil), unicodeText(0x0037, "Greeting"), binaryValue(0x1009, data)}))
		if diff := cmp.Diff("heading 1: Greeting\nparagraph: hello world", readtest.Lines(doc)); diff != "" {
			t.Errorf("%s: blocks (-want +got):\n%s", name, diff)
		}
	}
}

func TestSignedMessagesAreReadAndEncryptedOnesNamed(t *testing.T) {
	t.Parallel()
	signed := readtest.MustParse(t, "a.msg", container([]entry{fixed(32, nil), unicodeText(0x001a, "IPM.Note.SMIME.MultipartSigned"), unicodeText(0x0037, "Signed"),
		attachment(0, "smime.p7m", "multipart/signed", "Content-Type: multipart/signed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\nThe signed words.\r\n--x\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\n\r\nMII=\r\n--x--\r\n")}))
	if text := readtest.Text(signed); !strings.Contains(text, "The signed words.") {
		t.Errorf("text = %q, warnings %q, want the signed words", text, signed.Warnings)
	}
	sealed := readtest.MustParse(t, "a.msg", container([]entry{fixed(32, nil), unicodeText(0x001a, "IPM.Note.SMIME"), unicodeText(0x0037, "Sealed"), attachment(0, "smime.p7m", "application/pkcs7-mime", "MII=")}))
	if len(sealed.Warnings) != 1 || !strings.Contains(sealed.Warnings[0], "S/MIME") {
		t.Errorf("warnings = %q, want one that names S/MIME", sealed.Warnings)
	}
}

func TestMessagesAreKnownByTheirContent(t *testing.T) {
	t.Parallel()
	small := container([]entry{fixed(32, nil), unicodeText(0x0037, "Words")})
	old := container([]entry{{name: "WordDocument", data: []byte("words")}})
	for _, tt := range []struct {
		head                 []byte
		name, declared, want string
	}{
		{small, "", "", "application/vnd.ms-outlook"},
		{small, "a.doc", "application/msword", "application/vnd.ms-outlook"},
		{old, "a.msg", "", "application/vnd.ms-outlook"},
		{old, "", "application/vnd.ms-outlook", "application/vnd.ms-outlook"},
		{old, "a.doc", "", "application/x-ole-storage"},
	} {
		if got := extract.DetectType(tt.head, tt.name, tt.declared); got != tt.want {
			t.Errorf("DetectType(%q, %q) = %q, want %q", tt.name, tt.declared, got, tt.want)
		}
	}
	if _, err := readtest.Parse(t, "a.msg", old); extract.KindOf(err) != extract.Unsupported || !strings.Contains(err.Error(), "not an Outlook message") {
		t.Errorf("error = %v, want Unsupported", err)
	}
}

func TestHostileMessages(t *testing.T) {
	t.Parallel()
	data := message()
	readtest.Damaged(t, "keys.msg", data)
	for _, at := range []int{30, 40, 44, 48, 60, 64, 68, 72, 76, 80} { // each field of the header
		for _, v := range []uint32{0, 1, 0xffff, 0x7fffffff, 0xfffffffe, 0xffffffff} {
			changed := append([]byte(nil), data...)
			binary.LittleEndian.PutUint32(changed[at:], v)
			readtest.Check(t, "keys.msg", changed)
		}
	}
	nested := []entry{fixed(24, nil), unicodeText(0x0037, "innermost")}
	for range 8 {
		nested = []entry{fixed(24, nil), unicodeText(0x0037, "inner"), folder("__attach_version1.0_#00000000", fixed(8, nil), folder("__substg1.0_3701000D", nested...))}
	}
	nested[0] = fixed(32, nil)
	doc := readtest.MustParse(t, "a.msg", container(nested))
	if len(doc.Warnings) == 0 || strings.Contains(readtest.Text(doc), "innermost") {
		t.Errorf("text %q, warnings %q, want a warning in place of the innermost message", readtest.Text(doc), doc.Warnings)
	}
}

func FuzzOutlook(f *testing.F) {
	readtest.Format(f, ".msg", string(message()), string(container([]entry{fixed(32, nil), unicodeText(0x0037, "Words"), binaryValue(0x1009, "\x10\x00\x00\x00\x10\x00\x00\x00LZFu\x00\x00\x00\x00\x00{\\rtf1 a}")})))
}
