package transformer

import (
	"slices"
	"testing"
)

func TestTheFastestSupportedKernelIsSelected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		has  features
		want []string
	}{
		{features{}, []string{"portable"}},
		{features{avx512: true, vnni: true}, []string{"portable"}}, // these kernels also need AVX2, for sums and normalisation
		{features{avx2: true}, []string{"avx2", "portable"}},
		{features{avx2: true, vnni: true}, []string{"avx2", "portable"}},
		{features{avx2: true, avx512: true}, []string{"avx512", "avx2", "portable"}},
		{features{avx2: true, avx512: true, vnni: true}, []string{"avx512vnni", "avx512", "avx2", "portable"}},
	} {
		var names []string
		for _, kn := range kernelsWith(c.has) {
			names = append(names, kn.name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%+v: %v, want %v", c.has, names, c.want)
		}
	}
}
