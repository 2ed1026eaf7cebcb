package extract

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestLongCodeIsCutBetweenLinesThatKeepTheirIndentation(t *testing.T) {
	t.Parallel()
	line := "\t\tcall(argument, another, third)\n"
	code := strings.Repeat(line, 2*maxBlockBytes/len(line))
	var got []string
	s := &sink{left: 1 << 30, max: 1 << 30, emit: func(b domain.Block) error {
		got = append(got, b.Text)
		return nil
	}}
	if err := s.add(domain.Block{Kind: domain.BlockCode, Text: code}); err != nil {
		t.Fatal(err)
	}
	if len(got) < 2 {
		t.Fatalf("the code came in %d block, want several", len(got))
	}
	if joined := strings.Join(got, "\n") + "\n"; joined != code {
		t.Errorf("the blocks together have %d bytes, the code %d; the second begins %q", len(joined), len(code), got[1][:10])
	}
}
