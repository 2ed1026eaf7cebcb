package pdfobject

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

	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// deflated compresses a string with zlib.
func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	w.Close()
	return b.String()
}

// content returns the data in the stream under the catalogue's Data entry.
func content(t *testing.T, data []byte) string {
	t.Helper()
	f, err := Open(data, false)
	if err != nil {
		if f, err = Open(data, true); err != nil {
			t.Fatalf("Open: %v", err)
		}
	}
	got, err := f.Stream(f.Trailer().Key("Root").Key("Data"))
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	return string(got)
}

const catalogue = "<< /Type /Catalog /Pages 3 0 R /Data 2 0 R >>"

func TestStreamsAreUnpacked(t *testing.T) {
	t.Parallel()
	const text = "BT /F 10 Tf (text in a stream) Tj ET"
	ascii := make([]byte, ascii85.MaxEncodedLen(len(text)))
	ascii = ascii[:ascii85.Encode(ascii, []byte(text))]
	rows := func(kind byte, change func(line, before []byte) string) string {
		const columns = 6
		rest := text + strings.Repeat(" ", columns-len(text)%columns)
		before := make([]byte, columns)
		var out strings.Builder
		for i := 0; i < len(rest); i += columns {
			line := []byte(rest[i : i+columns])
			out.WriteByte(kind)
			out.WriteString(change(line, before))
			before = line
		}
		return deflated(out.String())
	}
	tests := map[string]string{
		"plain":                     extracttest.Stream("", text),
		"Flate":                     extracttest.Stream("/Filter /FlateDecode", deflated(text)),
		"Flate without its end":     extracttest.Stream("/Filter /FlateDecode", deflated(text)[:len(deflated(text))-4]),
		"hexadecimal digits":        extracttest.Stream("/Filter /ASCIIHexDecode", fmt.Sprintf("%x>", text)),
		"base 85":                   extracttest.Stream("/Filter /ASCII85Decode", string(ascii)+"~>"),
		"run lengths":               extracttest.Stream("/Filter /RunLengthDecode", string(rune(len(text)-1))+text+"\x80"),
		"LZW without any repeats":   extracttest.Stream("/Filter /LZWDecode", lzw(text)),
		"a chain in short names":    extracttest.Stream("/Filter [/AHx /Fl]", fmt.Sprintf("%x>", deflated(text))),
		"parameters for one filter": extracttest.Stream("/Filter [/AHx /Fl] /DecodeParms [null << /Predictor 1 >>]", fmt.Sprintf("%x>", deflated(text))),
		"rows as they are":          extracttest.Stream("/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 6 >>", rows(0, func(l, _ []byte) string { return string(l) })),
		"differences to the left": extracttest.Stream("/Filter /FlateDecode /DecodeParms << /Predictor 11 /Columns 6 >>", rows(1, func(l, _ []byte) string {
			out := []byte{l[0]}
			for i := 1; i < len(l); i++ {
				out = append(out, l[i]-l[i-1])
			}
			return string(out)
		})),
		"differences to the row above": extracttest.Stream("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 6 >>", rows(2, func(l, b []byte) string {
			var out []byte
			for i := range l {
				out = append(out, l[i]-b[i])
			}
			return string(out)
		})),
		"a length that is wrong":     strings.Replace(extracttest.Stream("", text), "/Length ", "/Length 9", 1),
		"a length that is its own":   "<< /Length 2 0 R >>\nstream\n" + text + "\nendstream",
		"a length that is not there": "<< >>\nstream\n" + text + "\nendstream",
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := content(t, extracttest.PDF(catalogue, stream)); strings.TrimRight(got, " ") != text {
				t.Errorf("content = %q, want %q", got, text)
			}
		})
	}
}

// lzw encodes a string with 9-bit codes. It clears the table before longer codes would be needed.
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
	// The example in ISO 32000: 45 45 45 45 45 65 45 45 45 66.
	got := unLZW([]byte{0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01}, true)
	if want := "-----A---B"; string(got) != want {
		t.Errorf("unLZW = %q, want %q", got, want)
	}
}

func TestObjectsInStreamsAreFound(t *testing.T) {
	t.Parallel()
	const first, second = "<< /Type /Catalog /Pages 3 0 R >>", "<< /Data 5 0 R >>"
	numbers := fmt.Sprintf("1 0 3 %d ", len(first))
	data := fmt.Sprintf("%%PDF-1.5\n4 0 obj\n%s\nendobj\n5 0 obj\n%s\nendobj\ntrailer << /Root 1 0 R >>",
		extracttest.Stream(fmt.Sprintf("/Type /ObjStm /N 2 /First %d /Filter /FlateDecode", len(numbers)), deflated(numbers+first+second)), extracttest.Stream("", "packed"))
	f, err := Open([]byte(data), true)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if got, err := f.Stream(f.Trailer().Key("Root").Key("Pages").Key("Data")); err != nil || string(got) != "packed" {
		t.Errorf("content = %q, %v", got, err)
	}
}

// secret is the content of encrypted files.
const secret = "no longer secret"

// encrypted returns a file that opens with the given password. It is encrypted with revision 4 (AES-128) or 5
// (AES-256).
func encrypted(revision int, password string) []byte {
	seal := func(key []byte, s string) string {
		pad := 16 - len(s)%16
		data := append([]byte(s), bytes.Repeat([]byte{byte(pad)}, pad)...)
		block, err := aes.NewCipher(key)
		if err != nil {
			panic(err) // cannot happen: the key has a valid size
		}
		iv := []byte("0123456789abcdef")
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
		return string(iv) + string(data)
	}
	if revision == 5 {
		key := []byte("the key of a file has 32 bytes..")
		user := sha256.Sum256([]byte(password + "validate"))
		wrap := sha256.Sum256([]byte(password + "keysalt."))
		block, err := aes.NewCipher(wrap[:])
		if err != nil {
			panic(err) // cannot happen: a SHA-256 sum has a valid size
		}
		sealed := make([]byte, 32)
		cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(sealed, key)
		dict := fmt.Sprintf("<< /Filter /Standard /V 5 /R 5 /Length 256 /P -4 /U <%x> /UE <%x> /O <%x> /OE <%x> /CF << /StdCF << /CFM /AESV3 >> >> /StmF /StdCF /StrF /StdCF >>",
			string(user[:])+"validatekeysalt.", sealed, strings.Repeat("o", 48), strings.Repeat("e", 32))
		return extracttest.PDFWith("/Encrypt 3 0 R ", catalogue, extracttest.Stream("", seal(key, secret)), dict)
	}
	s := security{revision: 4, size: 16, owner: strings.Repeat("o", 32), permissions: 0xfffffffc, metadata: false}
	key := s.key128([]byte(password))
	sum := md5.Sum(passwordPad)
	u := sum[:]
	for i := range 20 {
		u = rc4Text(mixed(key, byte(i)), u)
	}
	object := md5.Sum(append(bytes.Clone(key), "\x02\x00\x00\x00\x00sAlT"...))
	dict := fmt.Sprintf("<< /Filter /Standard /V 4 /R 4 /Length 128 /P -4 /U <%x> /O <%x> /EncryptMetadata false /CF << /StdCF << /CFM /AESV2 >> >> /StmF /StdCF /StrF /Identity >>",
		string(u)+strings.Repeat("\x00", 16), s.owner)
	return extracttest.PDFWith("/Encrypt 3 0 R ", catalogue, extracttest.Stream("", seal(object[:], secret)), dict)
}

func TestEncryptedFilesOpenWithAnEmptyPassword(t *testing.T) {
	t.Parallel()
	for _, revision := range []int{4, 5} {
		t.Run(fmt.Sprintf("revision %d", revision), func(t *testing.T) {
			t.Parallel()
			if got := content(t, encrypted(revision, "")); got != secret {
				t.Errorf("content = %q, want %q", got, secret)
			}
			if _, err := Open(encrypted(revision, "swordfish"), false); !errors.Is(err, ErrEncrypted) {
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
		if out, _ := flt.decode(data); len(out) > 2*MaxStream { // an error is acceptable
			t.Errorf("%d bytes", len(out))
		}
	})
}

func FuzzXref(f *testing.F) {
	f.Add([]byte("xref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer << /Root 1 0 R /Prev 9 /XRefStm 9 >>\nstartxref\n0\n%%EOF"))
	f.Add([]byte("1 0 obj << /Type /XRef /Size 9999999 /W [1 8 8] /Index [0 4000000000] /Length 3 >>\nstream\nabc\nendstream\nstartxref\n1\n%%EOF"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, search := range []bool{false, true} {
			file, err := find(data, search)
			if err != nil {
				continue // an error is acceptable, but not a panic or an endless loop
			}
			for n := range file.entries {
				file.image(n)
				if o, err := file.load(n); err == nil {
					_, _ = file.unpack(o)
				}
			}
		}
	})
}
