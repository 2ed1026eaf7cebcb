package citation

import (
	"errors"
	"strings"
)

// ErrStopped is returned by Delivery.Write at a stop sequence. The answer is then complete, and the provider can stop.
var ErrStopped = errors.New("the answer has reached a stop sequence")

// stopFilter ends the answer before the first complete stop sequence, even one that spans several writes. It holds back
// text only while it may be the start of a sequence.
type stopFilter struct {
	sequences []string
	pending   string // start of a sequence
}

// write processes more text. It returns the text that can be emitted and whether a stop sequence was found.
func (s *stopFilter) write(piece string) (text string, stopped bool) {
	text = s.pending + piece
	begin, end := -1, len(text)+1
	for _, sequence := range s.sequences {
		i := strings.Index(text, sequence)
		if i < 0 || sequence == "" {
			continue
		}
		if e := i + len(sequence); e < end || e == end && i < begin {
			begin, end = i, e
		}
	}
	if begin >= 0 {
		s.pending = ""
		return text[:begin], true
	}
	held := 0
	for _, sequence := range s.sequences {
		for n := min(len(sequence)-1, len(text)); n > held; n-- {
			if strings.HasSuffix(text, sequence[:n]) {
				held = n
			}
		}
	}
	s.pending = text[len(text)-held:]
	return text[:len(text)-held], false
}

// close returns any text held back.
func (s *stopFilter) close() string {
	text := s.pending
	s.pending = ""
	return text
}
