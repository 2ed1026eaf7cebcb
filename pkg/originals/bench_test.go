package originals

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
)

func BenchmarkPut(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		for _, size := range []int{10 << 10, 10 << 20} {
			b.Run(fmt.Sprintf("sync=%t/%dKiB", !noSync, size>>10), func(b *testing.B) {
				s, err := Open(b.Context(), connect(b, natsd.Options{NoSync: noSync}).JetStream(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				data := content(size)
				b.SetBytes(int64(size))
				for b.Loop() {
					key := UploadKey(domain.NewID())
					if _, err := s.Put(b.Context(), key, bytes.NewReader(data), PutOptions{MaxBytes: 1 << 30}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b, Options{})
	key := UploadKey(domain.NewID())
	const size = 10 << 20
	if _, err := s.Put(b.Context(), key, bytes.NewReader(content(size)), PutOptions{MaxBytes: 1 << 30}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, err := read(b, s, key); err != nil {
			b.Fatal(err)
		}
	}
}
