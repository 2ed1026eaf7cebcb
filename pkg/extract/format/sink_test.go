package format

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestLongCodeIsCutBetweenLinesThatKeepTheirIndentation(t *testing.T) {
	t.Parallel()
	line := "\t\tcall(argument, another, third)\n"
	code := strings.Repeat(line, 2*MaxBlockBytes/len(line))
	var got []string
	s := &Sink{Left: 1 << 30, Max: 1 << 30, Emit: func(b domain.Block) error {
		got = append(got, b.Text)
		return nil
	}}
	if err := s.Add(domain.Block{Kind: domain.BlockCode, Text: code}); err != nil {
		t.Fatal(err)
	}
	if len(got) < 2 {
		t.Fatalf("the code came in %d block, want several", len(got))
	}
	if joined := strings.Join(got, "\n") + "\n"; joined != code {
		t.Errorf("the blocks together have %d bytes, the code %d; the second begins %q", len(joined), len(code), got[1][:10])
	}
}
