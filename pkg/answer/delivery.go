package answer

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// delivery passes an answer on while it checks the citations and gathers the text.
type delivery struct {
	fragments []domain.Fragment
	cites     *citer
	emit      func(string) error // nil: the text is only gathered
	text      strings.Builder
	failed    error // what emit failed with
}

func newDelivery(fragments []domain.Fragment, emit func(string) error) *delivery {
	return &delivery{fragments: fragments, cites: newCiter(len(fragments)), emit: emit}
}

// write takes the next piece of the provider's text.
func (d *delivery) write(piece string) error {
	if d.text.Len()+len(piece) > maxAnswerBytes {
		return domain.Errorf(domain.CodeUnavailable, "the model's answer is longer than %d bytes, the most that is taken; set maxTokens", maxAnswerBytes)
	}
	return d.pass(d.cites.write(piece))
}

// finish passes on what the citation check still held back.
func (d *delivery) finish() error { return d.pass(d.cites.close()) }

func (d *delivery) pass(text string) error {
	if d.failed != nil {
		return d.failed
	}
	if text == "" {
		return nil
	}
	if d.emit != nil {
		if d.failed = d.emit(text); d.failed != nil {
			return d.failed
		}
	}
	d.text.WriteString(text)
	return nil
}

// sources returns the fragments cited so far under the numbers shown, or all when none was cited.
func (d *delivery) sources() []domain.Fragment {
	cited := d.cites.cited()
	if len(cited) == 0 {
		return d.fragments
	}
	out := make([]domain.Fragment, len(cited))
	for i, n := range cited {
		out[i] = d.fragments[n-1]
		out[i].Citation = i + 1
	}
	return out
}
