package client_test

import (
	"testing"

	"github.com/sluice/sluice/pkg/client"
)

func TestAVectorIsEncodedAsLittleEndianFloats(t *testing.T) {
	t.Parallel()
	for want, vector := range map[string][]float32{"": {}, "AACAPwAAAL8=": {1, -0.5}} {
		if got := client.EncodeVector(vector); *got != any(want) {
			t.Errorf("%v is encoded as %v, want %q", vector, *got, want)
		}
	}
}
