package pdftext

import (
	"bytes"
	"compress/zlib"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/sha256"
	"encoding/ascii85"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed is a stream object whose data went through the named filter.
func packed(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		panic(err) // a buffer takes everything
	}
	w.Close()
	return b.String()
}

// fileOf writes objects from number 1 on with a table of references, and more into the trailer.
func fileOf(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF", len(objects)+1, trailer, at)
	return b.Bytes()
}

// showing is a file of one page with a content stream object, what the page and the catalogue have besides, and more objects
// from number 5 on.
func showing(content, page, catalogue string, more ...string) []byte {
	return fileOf("", append([]string{
		"<< /Type /Catalog /Pages 2 0 R " + catalogue + " >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F " + helvetica + " >> >> " + page + " >>", content,
	}, more...)...)
}

func TestStreamsAreUnpacked(t *testing.T) {
	t.Parallel()
	const content = "BT /F 10 Tf (text in a stream) Tj ET"
	ascii := make([]byte, ascii85.MaxEncodedLen(len(content)))
	ascii = ascii[:ascii85.Encode(ascii, []byte(content))]
	rows := func(kind byte, change func(line, before []byte) string) string {
		const columns = 6
		text := content + strings.Repeat(" ", columns-len(content)%columns)
		before := make([]byte, columns)
		var out strings.Builder
		for i := 0; i < len(text); i += columns {
			line := []byte(text[i : i+columns])
			out.WriteByte(kind)
			out.WriteString(change(line, before))
			before = line
		}
		return deflated(out.String())
	}
	tests := map[string]string{
		"plain":                     packed("", content),
		"Flate":                     packed("/Filter /FlateDecode", deflated(content)),
		"Flate without its end":     packed("/Filter /FlateDecode", deflated(content)[:len(deflated(content))-4]),
		"hexadecimal digits":        packed("/Filter /ASCIIHexDecode", fmt.Sprintf("%x>", content)),
		"base 85":                   packed("/Filter /ASCII85Decode", string(ascii)+"~>"),
		"run lengths":               packed("/Filter /RunLengthDecode", string(rune(len(content)-1))+content+"\x80"),
		"LZW without any repeats":   packed("/Filter /LZWDecode", lzw(content)),
		"a chain in short names":    packed("/Filter [/AHx /Fl]", fmt.Sprintf("%x>", deflated(content))),
		"parameters for one filter": packed("/Filter [/AHx /Fl] /DecodeParms [null << /Predictor 1 >>]", fmt.Sprintf("%x>", deflated(content))),
		"rows as they are":          packed("/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 6 >>", rows(0, func(l, _ []byte) string { return string(l) })),
		"differences to the left": packed("/Filter /FlateDecode /DecodeParms << /Predictor 11 /Columns 6 >>", rows(1, func(l, _ []byte) string {
			out := []byte{l[0]}
			for i := 1; i < len(l); i++ {
				out = append(out, l[i]-l[i-1])
			}
			return string(out)
		})),
		"differences to the row above": packed("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 6 >>", rows(2, func(l, b []byte) string {
			var out []byte
			for i := range l {
				out = append(out, l[i]-b[i])
			}
			return string(out)
		})),
		"a length that is wrong":     strings.Replace(packed("", content), "/Length ", "/Length 9", 1),
		"a length that is its own":   "<< /Length 4 0 R >>\nstream\n" + content + "\nendstream",
		"a length that is not there": "<< >>\nstream\n" + content + "\nendstream",
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{"text in a stream"}, texts(t, showing(stream, "", ""))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// lzw packs text with codes of nine bits, starting anew before they would grow.
func lzw(s string) string {
	acc, bits := uint64(0), 0
	var out []byte
	put := func(code int) {
		acc = acc<<9 | uint64(code)
		for bits += 9; bits >= 8; bits -= 8 {
			out = append(out, byte(acc>>(bits-8)))
		}
	}
	for i := range len(s) {
		if i%200 == 0 {
			put(256)
		}
		put(int(s[i]))
	}
	put(257)
	return string(append(out, byte(acc<<(8-bits))))
}

func TestLZWCopiesWhatWasSeen(t *testing.T) {
	t.Parallel()
	// The example of ISO 32000: 45 45 45 45 45 65 45 45 45 66.
	got := unLZW([]byte{0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01}, true)
	if want := "-----A---B"; string(got) != want {
		t.Errorf("unLZW = %q, want %q", got, want)
	}
}

func TestObjectsInStreamsAreFound(t *testing.T) {
	t.Parallel()
	inside := "1 0 2 33 3 73 << /Type /Catalog /Pages 2 0 R >><< /Type /Pages /Kids [3 0 R] /Count 1 >><< /Type /Page /Contents 5 0 R /Resources << /Font << /F " + helvetica + " >> >> >>"
	first := strings.Index(inside, "<<")
	inside = strings.Replace(inside, "1 0 2 33 3 73", fmt.Sprintf("1 0 2 %d 3 %d", strings.Index(inside, "<< /Type /Pages")-first, strings.Index(inside, "<< /Type /Page /")-first), 1)
	first = strings.Index(inside, "<<")
	data := fmt.Sprintf("%%PDF-1.5\n4 0 obj\n%s\nendobj\n5 0 obj\n%s\nendobj\ntrailer << /Root 1 0 R >>",
		packed(fmt.Sprintf("/Type /ObjStm /N 3 /First %d /Filter /FlateDecode", first), deflated(inside)), packed("", "BT /F 10 Tf (packed) Tj ET"))
	if diff := cmp.Diff([]string{"packed"}, texts(t, []byte(data))); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// encrypted is a file of one page that opens with the password, encrypted by revision 4 (AES-128) or 5 (AES-256).
func encrypted(revision int, password string) []byte {
	const content = "BT /F 10 Tf (no longer secret) Tj ET"
	seal := func(key []byte, s string) string {
		pad := 16 - len(s)%16
		data := append([]byte(s), bytes.Repeat([]byte{byte(pad)}, pad)...)
		block, err := aes.NewCipher(key)
		if err != nil {
			panic(err) // keys here have the right size
		}
		iv := []byte("0123456789abcdef")
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
		return string(iv) + string(data)
	}
	page := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F " + helvetica + " >> >> >>"}
	if revision == 5 {
		key := []byte("the key of a file has 32 bytes..")
		user := sha256.Sum256([]byte(password + "validate"))
		wrap := sha256.Sum256([]byte(password + "keysalt."))
		block, err := aes.NewCipher(wrap[:])
		if err != nil {
			panic(err) // a sum is a key
		}
		sealed := make([]byte, 32)
		cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(sealed, key)
		dict := fmt.Sprintf("<< /Filter /Standard /V 5 /R 5 /Length 256 /P -4 /U <%x> /UE <%x> /O <%x> /OE <%x> /CF << /StdCF << /CFM /AESV3 >> >> /StmF /StdCF /StrF /StdCF >>",
			string(user[:])+"validatekeysalt.", sealed, strings.Repeat("o", 48), strings.Repeat("e", 32))
		return fileOf("/Encrypt 5 0 R", append(page, packed("", seal(key, content)), dict)...)
	}
	s := security{revision: 4, size: 16, owner: strings.Repeat("o", 32), permissions: 0xfffffffc, metadata: false}
	key := s.key128([]byte(password))
	sum := md5.Sum(passwordPad)
	u := sum[:]
	for i := range 20 {
		u = rc4Text(mixed(key, byte(i)), u)
	}
	object := md5.Sum(append(bytes.Clone(key), "\x04\x00\x00\x00\x00sAlT"...))
	dict := fmt.Sprintf("<< /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /U <%x> /O <%x> /EncryptMetadata false /CF << /StdCF << /CFM /AESV2 >> >> /StmF /StdCF /StrF /Identity >>",
		string(u)+strings.Repeat("\x00", 16), s.owner)
	return fileOf("/Encrypt 5 0 R", append(page, packed("", seal(object[:], content)), dict)...)
}

func TestEncryptedFilesOpenWithAnEmptyPassword(t *testing.T) {
	t.Parallel()
	for _, revision := range []int{4, 5} {
		t.Run(fmt.Sprintf("revision %d", revision), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{"no longer secret"}, texts(t, encrypted(revision, ""))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if _, err := Open(encrypted(revision, "swordfish")); !errors.Is(err, ErrEncrypted) {
				t.Errorf("opening a file with a password: %v, want ErrEncrypted", err)
			}
		})
	}
}

func FuzzFilters(f *testing.F) {
	f.Add([]byte(deflated("some text")), uint8(0), uint8(12))
	f.Add([]byte(lzw("some text")), uint8(1), uint8(1))
	f.Add([]byte("<~87cURD]i~>"), uint8(2), uint8(1))
	f.Add([]byte("\x03abcd\xfe!\x80"), uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, kind, predictor uint8) {
		names := []string{"FlateDecode", "LZWDecode", "ASCII85Decode", "RunLengthDecode", "ASCIIHexDecode"}
		flt := filter{name: names[int(kind)%len(names)], predictor: int(predictor % 16), columns: 5, colours: 1, bits: 8, earlier: 1}
		if out, _ := flt.decode(data); len(out) > 2*maxStream { // an error is a fine result
			t.Errorf("%d bytes", len(out))
		}
	})
}

func FuzzXref(f *testing.F) {
	f.Add([]byte("xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer << /Root 1 0 R /Prev 9 /XRefStm 9 >>\nstartxref\n0\n%%EOF"))
	f.Add([]byte("1 0 obj << /Type /XRef /Size 9999999 /W [1 8 8] /Index [0 4000000000] /Length 3 >>\nstream\nabc\nendstream\nstartxref\n1\n%%EOF"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, search := range []bool{false, true} {
			file, err := openFile(data, search)
			if err != nil {
				continue // an error is a fine result; a panic or no end is not
			}
			for n := range file.entries {
				_, _ = file.stream(n)
				file.image(n)
			}
		}
	})
}
