package answer

import (
	"github.com/sluice/sluice/pkg/answer/support"
	"github.com/sluice/sluice/pkg/domain"
)

// Judge sets the sentences of the answer, with their support, and the highlights of its sources.
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
