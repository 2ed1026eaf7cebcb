// Package citation checks a model's text while it streams. It removes citations of fragments that were not in the
// prompt, and it breaks links and images that a document may have injected. It distinguishes citation markers from
// subscripts in code. It imports no provider.
package citation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum size of a provider's answer in bytes.
const maxAnswerBytes = 1 << 20

// Delivery checks a streamed answer's citations and links. It emits and collects the checked text.
type Delivery struct {
	fragments []domain.Fragment
	stop      stopFilter         // applied to the provider's text first
	gate      Gate               // applied after stop; if nil, all sentences pass
	cites     *citationFilter    // nil if the text is JSON, whose arrays look like citations
	links     *linkFilter        // applied after cites, because removing a marker may join text; nil if not checked
	emit      func(string) error // if nil, the text is only collected
	Begun     bool               // whether the provider has sent text
	Text      strings.Builder
	Failed    error // error returned by emit
}

// Gate removes sentences from an answer while it is being written.
type Gate interface {
	// Write processes more of the answer and returns the text to pass on.
	Write(piece string) string
	// Close returns any text held back.
	Close() string
}

// Use inserts a gate, which receives the provider's text before citations are checked and numbered.
func (d *Delivery) Use(g Gate) { d.gate = g }

// NewDelivery returns a Delivery for the answer to a prompt. It checks links unless the agent has no datastores,
// because then no document can have injected links. It checks links even if the prompt has no documents, because
// earlier answers may contain text from documents.
func NewDelivery(p chat.Prompt, emit func(string) error) *Delivery {
	d := &Delivery{fragments: p.Fragments, stop: stopFilter{sequences: p.Params.Stop}, emit: emit}
	if p.Params.ResponseFormat == nil {
		d.cites = newCitationFilter(len(p.Fragments))
		for _, f := range p.Fragments {
			d.cites.learnArrays(f.Text)
		}
	}
	if !p.NoDatastores {
		d.links = newLinkFilter(addressesOf(p))
	}
	return d
}

// Write processes more of the provider's text. At a stop sequence, it returns ErrStopped.
func (d *Delivery) Write(piece string) error {
	d.Begun = true
	if d.Text.Len()+len(piece) > maxAnswerBytes {
		return domain.Errorf(domain.CodeUnavailable, "the model's answer is longer than the limit of %d bytes; set a lower maxTokens", maxAnswerBytes)
	}
	text, stopped := d.stop.write(piece)
	if d.gate != nil {
		text = d.gate.Write(text)
	}
	if d.cites != nil {
		text = d.cites.write(text)
	}
	if d.links != nil {
		text = d.links.write(text)
	}
	if err := d.pass(text); err != nil || !stopped {
		return err
	}
	return ErrStopped
}

// Finish emits any text the checks still hold back.
func (d *Delivery) Finish() error {
	text := d.stop.close()
	if d.gate != nil {
		text = d.gate.Write(text) + d.gate.Close()
		d.gate = nil // Finish may be called again, for the text that replaces an empty answer
	}
	if d.cites != nil {
		text = d.cites.write(text) + d.cites.close()
	}
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

// Sources returns the fragments cited so far, each with its number in the emitted text, or, if none is cited, the
// fragments that the text is based on.
func (d *Delivery) Sources() []domain.Fragment {
	if d.cites == nil {
		return usedFragments(jsonTexts(d.Text.String()), d.fragments)
	}
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

// jsonTexts returns the strings in a JSON value, one per paragraph, without field names. An incomplete value is
// returned unchanged.
func jsonTexts(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	var out strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out.WriteString(v + "\n\n")
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(value)
	return out.String()
}
