package mail

import (
	"bytes"
	"testing"

	"github.com/sluice/sluice/pkg/extract/charset"
)

func TestTransferEncodingsWithFaultsAreDecoded(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a=3Db": "a=b", "a=3db=": "a=b", "a=\nb": "ab", "a= \t\r\nb": "ab", "a=xb": "a=xb", "50 = 50": "50 = 50"} {
		if got := decodeQuotedPrintable([]byte(in)); string(got) != want {
			t.Errorf("quoted-printable %q = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"d29yZHM=": "words", "d29y\r\n ZHM": "words", "d29yZHM=d29yZHM=": "wordswords"[:5], "d29yZ": "wor"} {
		if got := charset.DecodeBase64([]byte(in)); !bytes.HasPrefix(got, []byte(want)) {
			t.Errorf("base64 %q = %q, want %q", in, got, want)
		}
	}
}
