package answer

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// delivery passes an answer on while it checks the citations, then the links, and gathers the text.
type delivery struct {
	fragments []domain.Fragment
	cites     *citer
	links     *linkFilter        // after the citations: what taking out a mark brings together is looked at. nil: links pass
	emit      func(string) error // nil: the text is only gathered
	begun     bool               // the provider has said something
	text      strings.Builder
	failed    error // what emit failed with
}

// newDelivery delivers the answer to a prompt. Where the prompt holds no documents, nobody but the reader and the operator
// could have asked for a link, and all of them pass.
func newDelivery(p Prompt, emit func(string) error) *delivery {
	d := &delivery{fragments: p.Fragments, cites: newCiter(len(p.Fragments)), emit: emit}
	if len(p.Fragments) > 0 {
		d.links = newLinkFilter(addressesOf(p))
	}
	return d
}

// write takes the next piece of the provider's text.
func (d *delivery) write(piece string) error {
	d.begun = true
	if d.text.Len()+len(piece) > maxAnswerBytes {
		return domain.Errorf(domain.CodeUnavailable, "the model's answer is longer than %d bytes, the most that is taken; set maxTokens", maxAnswerBytes)
	}
	text := d.cites.write(piece)
	if d.links != nil {
		text = d.links.write(text)
	}
	return d.pass(text)
}

// finish passes on what the checks still held back.
func (d *delivery) finish() error {
	text := d.cites.close()
	if d.links != nil {
		text = d.links.write(text) + d.links.close()
	}
	return d.pass(text)
}

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

// sources returns the fragments cited so far under the numbers shown, or those that the text rests on when none was cited.
func (d *delivery) sources() []domain.Fragment {
	cited := d.cites.cited()
	if len(cited) == 0 {
		return used(d.text.String(), d.fragments)
	}
	out := make([]domain.Fragment, len(cited))
	for i, n := range cited {
		out[i] = d.fragments[n-1]
		out[i].Citation = i + 1
	}
	return out
}
