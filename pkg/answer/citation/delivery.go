// Package citation passes a model's text on while it checks it: citations of documents that were not given, links and images that a
// document may have wanted. It also tells citation marks in documents from subscripts in code. It knows no provider.
package citation

import (
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// maxAnswerBytes bounds what is taken from a provider.
const maxAnswerBytes = 1 << 20

// Delivery passes an answer on while it checks the citations, then the links, and gathers the text.
type Delivery struct {
	fragments []domain.Fragment
	cites     *citer
	links     *linkFilter        // after the citations: what taking out a mark brings together is looked at. nil: links pass
	emit      func(string) error // nil: the text is only gathered
	Begun     bool               // the provider has said something
	Text      strings.Builder
	Failed    error // what emit failed with
}

// NewDelivery delivers the answer to a prompt. Where the prompt holds no documents, nobody but the reader and the operator
// could have asked for a link, and all of them pass.
func NewDelivery(p chat.Prompt, emit func(string) error) *Delivery {
	d := &Delivery{fragments: p.Fragments, cites: newCiter(len(p.Fragments)), emit: emit}
	if len(p.Fragments) > 0 {
		d.links = newLinkFilter(addressesOf(p))
	}
	return d
}

// Write takes the next piece of the provider's text.
func (d *Delivery) Write(piece string) error {
	d.Begun = true
	if d.Text.Len()+len(piece) > maxAnswerBytes {
		return domain.Errorf(domain.CodeUnavailable, "the model's answer is longer than %d bytes, the most that is taken; set maxTokens", maxAnswerBytes)
	}
	text := d.cites.write(piece)
	if d.links != nil {
		text = d.links.write(text)
	}
	return d.pass(text)
}

// Finish passes on what the checks still held back.
func (d *Delivery) Finish() error {
	text := d.cites.close()
	if d.links != nil {
		text = d.links.write(text) + d.links.close()
	}
	return d.pass(text)
}

func (d *Delivery) pass(text string) error {
	if d.Failed != nil {
		return d.Failed
	}
	if text == "" {
		return nil
	}
	if d.emit != nil {
		if d.Failed = d.emit(text); d.Failed != nil {
			return d.Failed
		}
	}
	d.Text.WriteString(text)
	return nil
}

// Sources returns the fragments cited so far under the numbers shown, or those that the text rests on when none was cited.
func (d *Delivery) Sources() []domain.Fragment {
	cited := d.cites.cited()
	if len(cited) == 0 {
		return used(d.Text.String(), d.fragments)
	}
	out := make([]domain.Fragment, len(cited))
	for i, n := range cited {
		out[i] = d.fragments[n-1]
		out[i].Citation = i + 1
	}
	return out
}
