package transformer

import (
	"math"
	"os"
	"testing"
)

// TestARealModelAgreesWithItsReference tests the model in the SLUICE_TEST_MODEL directory, which is too large for the
// repository. SLUICE_TEST_MODEL_REFERENCE is a file from testdata/reference.py.
func TestARealModelAgreesWithItsReference(t *testing.T) {
	t.Parallel()
	directory, reference := os.Getenv("SLUICE_TEST_MODEL"), os.Getenv("SLUICE_TEST_MODEL_REFERENCE")
	if directory == "" || reference == "" {
		t.Skip("SLUICE_TEST_MODEL and SLUICE_TEST_MODEL_REFERENCE name no model")
	}
	e, err := Open(Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	want := expectations(t, reference)
	worst := requireEqual(t, e, want)
	t.Logf("%s, %s: %d texts, similarity at least %.8f", e.Model().ID, e.Kernel(), len(want), worst)
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
