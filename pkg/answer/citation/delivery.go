// Package citation checks a model's text while it streams: it removes citations of fragments that were not in the
// prompt, and breaks links and images that a document may have injected. It also distinguishes citation marks in
// documents from subscripts in code. It imports no provider.
package citation

import (
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of bytes accepted from a provider.
const maxAnswerBytes = 1 << 20

// Delivery emits an answer while it checks citations and then links, and collects the text.
type Delivery struct {
	fragments []domain.Fragment
	cites     *citationFilter
	links     *linkFilter        // after the citations, because removing a mark may join text; nil: links are not checked
	emit      func(string) error // nil: the text is only collected
	Begun     bool               // the provider has sent text
	Text      strings.Builder
	Failed    error // the error of emit
}

// NewDelivery returns a Delivery for the answer to a prompt. If the agent has no documents, only the reader or the
// operator can have asked for a link, so links are not checked. Without documents in the prompt, earlier answers may
// still contain text from documents.
func NewDelivery(p chat.Prompt, emit func(string) error) *Delivery {
	d := &Delivery{fragments: p.Fragments, cites: newCitationFilter(len(p.Fragments)), emit: emit}
	for _, f := range p.Fragments {
		d.cites.learnArrays(f.Text)
	}
	if !p.NoDatastores {
		d.links = newLinkFilter(addressesOf(p))
	}
	return d
}

// Write processes the next piece of the provider's text.
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

// Finish emits the text that the checks still held back.
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

// Sources returns the fragments cited so far, with the numbers shown. If none was cited, it returns the fragments that
// the text is based on.
func (d *Delivery) Sources() []domain.Fragment {
	cited := d.cites.cited()
	if len(cited) == 0 {
		return usedFragments(d.Text.String(), d.fragments)
	}
	out := make([]domain.Fragment, len(cited))
	for i, n := range cited {
		out[i] = d.fragments[n-1]
		out[i].Citation = i + 1
	}
	return out
}
