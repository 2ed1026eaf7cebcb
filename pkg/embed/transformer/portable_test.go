package transformer

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestFusedOperationsAreRoundedOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(14, 15))
	number := func(spread int) float32 {
		v := math.Float32frombits(r.Uint32()&(1<<31|1<<23-1) | 127<<23)
		if r.IntN(2) == 0 {
			v = float32(math.Round(float64(v*16)) / 16) // few bits, so that sums are often between two numbers
		}
		return float32(math.Ldexp(float64(v), r.IntN(2*spread+1)-spread))
	}
	exact := func(x, y, z float32) float32 {
		sum := new(big.Float).SetPrec(1000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		sum.Add(sum, big.NewFloat(float64(z)))
		v, _ := sum.Float32()
		return v
	}
	twice := 0 // results that two roundings would get wrong
	for i := range 300_000 {
		x, y, z := number(4), number(4), number(30)
		switch i % 3 {
		case 0: // subnormal results
			x, z = float32(math.Ldexp(float64(x), -130)), float32(math.Ldexp(float64(z), -140))
		case 1: // sums close to the middle between two numbers
			small := math.Ldexp(1, -14-r.IntN(9))
			z = float32(1 + math.Ldexp(float64(r.IntN(1<<23)), -23))
			x, y = float32(math.Ldexp(1+small, -24)), float32(1-small)
		}
		want := exact(x, y, z)
		for name, got := range map[string]float32{"fma32": fma32(x, y, z), "fmaEmulated": fmaEmulated(x, y, z)} {
			if got != want {
				t.Fatalf("%s(%x, %x, %x) = %x, want %x", name, x, y, z, got, want)
			}
		}
		if float32(float64(x)*float64(y)+float64(z)) != want {
			twice++
		}
	}
	if twice == 0 {
		t.Error("no result depends on how often it is rounded")
	}
	inf := float32(math.Inf(1))
	if v := fmaEmulated(inf, 1, 1); v != inf {
		t.Errorf("with infinity: %v", v)
	}
	if v := fmaEmulated(inf, 0, 1); v == v {
		t.Errorf("infinity times zero: %v", v)
	}
}
