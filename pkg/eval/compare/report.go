package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice/sluice/pkg/eval"
)

// Report is the result of a comparison.
type Report struct {
	K         int           `json:"k"`
	Questions int           `json:"questions"`
	Levels    []Level       `json:"levels"`
	Skipped   []SkippedMode `json:"left_out,omitempty"` // modes the service rejected
}

// SkippedMode is a mode that was not measured.
type SkippedMode struct {
	Mode   Mode   `json:"mode"`
	Reason string `json:"reason"`
}

// Level holds the figures for one kind of judged item: documents or passages. A passage is a fragment that contains an
// answer.
type Level struct {
	Name        string       `json:"level"`
	Questions   int          `json:"questions"` // number of questions judged at this level
	Modes       []ModeReport `json:"modes"`
	Differences []Difference `json:"differences,omitempty"` // difference between each other mode and the first one
}

// ModeReport contains the figures for one mode.
type ModeReport struct {
	Mode   Mode          `json:"mode"`
	NDCG   eval.Interval `json:"ndcg"`
	Recall eval.Interval `json:"recall"`
	MRR    eval.Interval `json:"mrr"`
}

// Difference is the paired difference between two modes.
type Difference struct {
	Mode   Mode            `json:"mode"`
	Than   Mode            `json:"than"`
	NDCG   eval.Difference `json:"ndcg"`
	Recall eval.Difference `json:"recall"`
	MRR    eval.Difference `json:"mrr"`
}

// series contains one mode's metrics. Each slice has one value per question.
type series struct{ ndcg, recall, mrr []float64 }

func (s *series) add(ranking []string, g eval.Grades, k int) {
	s.ndcg = append(s.ndcg, eval.NDCG(ranking, g, k))
	s.recall = append(s.recall, eval.Recall(ranking, g, k))
	s.mrr = append(s.mrr, eval.MRR(ranking, g, k))
}

// fill computes the metrics from each mode's rankings and adds them to the report.
func (r *Report) fill(cases []Case, modes []Mode, found map[Mode][]rankings) {
	documents, passages := map[Mode]*series{}, map[Mode]*series{}
	for _, mode := range modes {
		d, p := &series{}, &series{}
		for i, c := range cases {
			if len(c.Documents) > 0 {
				d.add(found[mode][i].documents, c.Documents, r.K)
			}
			if len(c.Question.Answers) > 0 {
				p.add(found[mode][i].passages, eval.Grades{answered: 1}, r.K)
			}
		}
		documents[mode], passages[mode] = d, p
	}
	r.level("documents", modes, documents)
	r.level("passages", modes, passages)
}

// level adds the Level with the given name, "documents" or "passages", to the report. It adds nothing if no question
// has judgements for this kind of item.
func (r *Report) level(name string, modes []Mode, of map[Mode]*series) {
	n := len(of[modes[0]].ndcg)
	if n == 0 {
		return
	}
	l := Level{Name: name, Questions: n}
	than := modes[0]
	for _, mode := range modes {
		s := of[mode]
		l.Modes = append(l.Modes, ModeReport{mode, eval.Bootstrap(s.ndcg), eval.Bootstrap(s.recall), eval.Bootstrap(s.mrr)})
		if mode == Hybrid {
			than = Hybrid
		}
	}
	for _, mode := range modes {
		if mode == than {
			continue
		}
		a, b := of[than], of[mode]
		l.Differences = append(l.Differences, Difference{mode, than, eval.Compare(a.ndcg, b.ndcg), eval.Compare(a.recall, b.recall), eval.Compare(a.mrr, b.mrr)})
	}
	r.Levels = append(r.Levels, l)
}

func questions(n int) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}

// Write writes the report as human-readable tables.
func (r Report) Write(w io.Writer) error {
	var b strings.Builder
	for _, l := range r.Levels {
		fmt.Fprintf(&b, "%s, %s; mean and 95%% interval\n", strings.ToUpper(l.Name[:1])+l.Name[1:], questions(l.Questions))
		t := tabwriter.NewWriter(&b, 0, 4, 3, ' ', 0)
		fmt.Fprintf(t, "mode\tnDCG@%d\trecall@%[1]d\tMRR@%[1]d\n", r.K)
		for _, m := range l.Modes {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", m.Mode, interval(m.NDCG), interval(m.Recall), interval(m.MRR))
		}
		t.Flush()
		if len(l.Differences) > 0 {
			fmt.Fprintln(&b)
			t = tabwriter.NewWriter(&b, 0, 4, 3, ' ', 0)
			fmt.Fprintf(t, "difference\tnDCG@%d\trecall@%[1]d\tMRR@%[1]d\tbetter, worse\t\n", r.K)
			for _, d := range l.Differences {
				fmt.Fprintf(t, "%s − %s\t%s\t%s\t%s\t%d, %d\t%s\n", d.Mode, d.Than, formatSigned(d.NDCG.Interval), formatSigned(d.Recall.Interval), formatSigned(d.MRR.Interval),
					d.NDCG.Better, d.NDCG.Worse, significance(d))
			}
			t.Flush()
		}
		fmt.Fprintln(&b)
	}
	for _, m := range r.Skipped {
		fmt.Fprintf(&b, "Skipped: %s: %s\n", m.Mode, m.Reason)
	}
	if r.isSmallSample() {
		fmt.Fprintln(&b, "With fewer than 50 questions the intervals are wide, and differences may be due to chance.")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) isSmallSample() bool {
	return slices.ContainsFunc(r.Levels, func(l Level) bool { return l.Questions < 50 })
}

// significance says whether d.Mode's nDCG is significantly better or worse than d.Than's.
func significance(d Difference) string {
	switch {
	case d.NDCG.Low > 0:
		return "better"
	case d.NDCG.High < 0:
		return "worse"
	default:
		return "no significant difference"
	}
}

func interval(i eval.Interval) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", i.Mean, i.Low, i.High)
}

func formatSigned(i eval.Interval) string {
	return strings.ReplaceAll(fmt.Sprintf("%+.3f [%+.3f, %+.3f]", i.Mean, i.Low, i.High), "-", "−")
}
