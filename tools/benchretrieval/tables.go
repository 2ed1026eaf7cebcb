package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/eval"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Quality requirements, as bounds on differences in nDCG@10.
const (
	minGainBuiltIn      = 0.01  // minimum lead in the English collections' mean over BM25, with the built-in model
	minGainModel        = 0.035 // the same with a sentence-transformer
	maxLoss             = 0.01  // maximum shortfall against BM25 on any collection
	maxEngineDifference = 0.01  // maximum difference between engines on any collection
)

// writeCollections writes the tables for the collections: their figures, the means, and whether the figures meet the
// requirements.
func writeCollections(out io.Writer, s settings, results []result) {
	for _, engine := range s.engines {
		fmt.Fprintf(out, "\n### nDCG@10 by collection, %s engine\n\n", engine)
		writeEngine(out, s, engine, results)
	}
	if slices.Contains(s.engines, "embedded") && slices.Contains(s.engines, "milvus") {
		fmt.Fprint(out, "\n### Difference between the engines, nDCG@10\n\n")
		writeAgreement(out, s, results)
	}
	fmt.Fprint(out, "\n### What the figures are held against\n\n")
	for _, engine := range s.engines {
		writeBounds(out, s, engine, results)
	}
}

func writeEngine(out io.Writer, s settings, engine string, results []result) {
	main := s.modes[0]
	bench.Header(out, 1, slices.Concat([]string{"collection", "questions", "BM25"}, s.modes, []string{main + " − BM25", "R@10", "R@100", "MRR@10"})...)
	row := func(name string, questions int, group []result) {
		fmt.Fprintf(out, "| %s | %d | %s |", name, questions, bench.Figure("%.4f", meanBM25(group)))
		for i, mode := range s.modes {
			in := interval(group, way{engine, mode}, func(c scores) []float64 { return c.ndcg })
			if i == 0 {
				fmt.Fprintf(out, " **%.4f** [%.3f, %.3f] |", in.Mean, in.Low, in.High)
			} else {
				fmt.Fprintf(out, " %.4f |", in.Mean)
			}
		}
		w := way{engine, main}
		fmt.Fprintf(out, " %s | %.4f | %.4f | %.4f |\n", signed(gain(group, w)),
			interval(group, w, func(c scores) []float64 { return c.recall10 }).Mean,
			interval(group, w, func(c scores) []float64 { return c.recall100 }).Mean,
			interval(group, w, func(c scores) []float64 { return c.mrr }).Mean)
	}
	for _, r := range results {
		row(r.name, r.questions(), []result{r})
	}
	inEnglish, others := splitByLanguage(results)
	for _, g := range []struct {
		name  string
		group []result
	}{{"mean, English", inEnglish}, {"mean, others", others}} {
		if len(g.group) > 1 {
			n := 0
			for _, r := range g.group {
				n += r.questions()
			}
			row(fmt.Sprintf("**%s** (%d)", g.name, len(g.group)), n, g.group)
		}
	}
}

func writeAgreement(out io.Writer, s settings, results []result) {
	bench.Header(out, 1, append([]string{"collection"}, s.modes...)...)
	largest := make([]float64, len(s.modes))
	for _, r := range results {
		fmt.Fprintf(out, "| %s |", r.name)
		for i, mode := range s.modes {
			d := r.ndcg(way{"milvus", mode}) - r.ndcg(way{"embedded", mode})
			largest[i] = max(largest[i], math.Abs(d))
			fmt.Fprintf(out, " %s |", signed(d))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "| **largest** |")
	for _, d := range largest {
		fmt.Fprintf(out, " **%.4f** |", d)
	}
	fmt.Fprintln(out)
}

// writeBounds writes which of the project's quality requirements the engine meets in the first mode measured.
func writeBounds(out io.Writer, s settings, engine string, results []result) {
	w := way{engine, s.modes[0]}
	verdict := func(holds bool, format string, args ...any) {
		mark := "yes"
		if !holds {
			mark = "**no**"
		}
		fmt.Fprintf(out, "- %s, %s: %s: %s\n", engine, w.mode, fmt.Sprintf(format, args...), mark)
	}
	judged := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.bm25 == 0 })
	inEnglish, others := splitByLanguage(judged)
	minimum := minGainBuiltIn
	if s.model != "" {
		minimum = minGainModel
	}
	if len(inEnglish) > 0 {
		g := gain(inEnglish, w)
		verdict(g >= minimum, "mean over the English collections at least %.3f above BM25 (%s)", minimum, signed(g))
	}
	for _, group := range []struct {
		name    string
		results []result
	}{{"English", inEnglish}, {"other", others}} {
		var under []string
		for _, r := range group.results {
			if d := gain([]result{r}, w); d < -maxLoss {
				under = append(under, r.name+" "+signed(d))
			}
		}
		if len(group.results) > 0 {
			verdict(len(under) == 0, "no %s collection more than %.2f under BM25 (%s)", group.name, maxLoss, cmp.Or(strings.Join(under, ", "), "none of "+fmt.Sprint(len(group.results))))
		}
	}
	if s.model != "" && slices.Contains(s.modes, "dense") && len(inEnglish) > 0 {
		above := 0
		for _, r := range inEnglish {
			if r.ndcg(w) > max(r.bm25, r.ndcg(way{engine, "dense"})) {
				above++
			}
		}
		verdict(6*above >= 5*len(inEnglish), "above both BM25 and dense alone on five of six English collections (%d of %d)", above, len(inEnglish))
	}
	if engine == "milvus" && slices.Contains(s.engines, "embedded") {
		var apart []string
		for _, r := range results {
			for _, mode := range s.modes {
				if d := r.ndcg(way{"milvus", mode}) - r.ndcg(way{"embedded", mode}); math.Abs(d) > maxEngineDifference {
					apart = append(apart, r.name+" "+mode+" "+signed(d))
				}
			}
		}
		verdict(len(apart) == 0, "the engines agree within %.2f (%s)", maxEngineDifference, cmp.Or(strings.Join(apart, ", "), "everywhere"))
	}
}

func splitByLanguage(results []result) (inEnglish, others []result) {
	for _, r := range results {
		if slices.Contains(english, r.name) {
			inEnglish = append(inEnglish, r)
		} else {
			others = append(others, r)
		}
	}
	return inEnglish, others
}

func (r result) questions() int {
	for _, c := range r.scores {
		return len(c.ndcg)
	}
	return 0
}

func (r result) ndcg(w way) float64 { return bench.Mean(r.scores[w].ndcg) }

// interval returns a metric's unweighted mean over the collections, with its confidence interval.
func interval(group []result, w way, of func(scores) []float64) eval.Interval {
	values := lists.Map(group, func(r result) []float64 { return of(r.scores[w]) })
	return eval.BootstrapMeans(values)
}

// meanBM25 returns BM25's mean nDCG@10, or NaN if any collection's figure is unknown.
func meanBM25(group []result) float64 {
	sum := 0.0
	for _, r := range group {
		if r.bm25 == 0 {
			return math.NaN()
		}
		sum += r.bm25
	}
	return sum / float64(len(group))
}

// gain is the collections' mean nDCG@10 minus BM25's, or NaN if BM25's is unknown.
func gain(group []result, w way) float64 {
	sum := 0.0
	for _, r := range group {
		sum += r.ndcg(w)
	}
	return sum/float64(len(group)) - meanBM25(group)
}

func signed(f float64) string { return bench.Figure("%+.4f", f) }
