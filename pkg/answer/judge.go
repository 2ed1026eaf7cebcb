package answer

import (
	"github.com/sluice/sluice/pkg/answer/support"
	"github.com/sluice/sluice/pkg/domain"
)

// Judge compares the answer with its sources. It sets the answer's Sentences and each source's Highlights.
func (a *Answer) Judge(agent domain.Agent) {
	result := support.Judge(a.Text, a.Sources)
	a.Sentences = result.Sentences
	for i := range a.Sources {
		a.Sources[i].Highlights = result.Highlights[i]
	}
	if agent.UnsupportedMode() == domain.KeepUnsupported {
		return
	}
	for i, s := range a.Sentences {
		a.Sentences[i].Unsupported = s.Support != nil && *s.Support < support.Threshold
	}
}
