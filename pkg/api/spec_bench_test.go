package api

import "testing"

// BenchmarkLoadSpec is a good part of what a first start takes.
func BenchmarkLoadSpec(b *testing.B) {
	for b.Loop() {
		if _, err := loadSpec(Options{}.withDefaults()); err != nil {
			b.Fatal(err)
		}
	}
}
