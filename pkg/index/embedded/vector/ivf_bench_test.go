package vector

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/index/embedded/topk"
)

var (
	approximateRows = flag.String("approximate.rows", "1000000", "numbers of vectors that BenchmarkApproximate draws of each kind")
	approximateKind = flag.String("approximate.kinds", "clusters,topics", "kinds of vectors that BenchmarkApproximate draws")
	approximateDims = flag.Int("approximate.dimensions", 384, "of the vectors that BenchmarkApproximate draws")
)

// BenchmarkApproximate alternates IVF searches with scans of all codes on many vectors, and compares their cost and
// recall. Besides random vectors, it uses those in the -recall.vectors and -recall.queries files.
func BenchmarkApproximate(b *testing.B) {
	for size := range strings.SplitSeq(*approximateRows, ",") {
		rows, err := strconv.Atoi(size)
		if err != nil {
			b.Fatal(err)
		}
		for kind := range strings.SplitSeq(*approximateKind, ",") {
			var source drawn
			switch kind {
			case "clusters":
				source = clusters(*approximateDims, 2000, 0.8)
			case "topics":
				source = topics(*approximateDims, 400)
			default:
				continue
			}
			b.Run(fmt.Sprintf("%s/rows=%d", kind, rows), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(71, 72))
				next := func() []float32 { return source.next(rng) }
				s, snap := spaceOfVectors(b, source.dimensions, rows, next)
				var queries [][]float32
				for range 100 {
					queries = append(queries, next())
				}
				benchIVF(b, s, snap, queries)
			})
		}
	}
	if *recallVectors != "" {
		b.Run("given", func(b *testing.B) {
			rows, queries := readVectors(b, *recallVectors), readVectors(b, *recallQueries)
			i := 0
			s, snap := spaceOfVectors(b, *recallLength, len(rows), func() []float32 { i++; return rows[i-1] })
			benchIVF(b, s, snap, queries)
		})
	}
}

func benchIVF(b *testing.B, s *Files, snap *Set, queries [][]float32) {
	rand.New(rand.NewPCG(73, 74)).Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	queries = queries[:min(len(queries), 200)]
	began, used := time.Now(), processorTime(b)
	with := ivfOf(b, s, snap)
	b.Logf("%d rows: making cells took %v, of the processor %v", snap.Rows, time.Since(began).Round(time.Millisecond), (processorTime(b) - used).Round(time.Millisecond))
	if !with.IVF.Usable() {
		b.Skip("these vectors are better looked at all")
	}
	var bytes [2]int64 // size of the IVF and of all other files
	for i, paths := range [][]string{{s.ivf.centroids.Path, s.ivf.means.Path, s.ivf.codes.Path}, {s.Full.Path, s.codesPath(snap.Epoch), s.int8Path(snap.Epoch)}} {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			bytes[i] += info.Size()
		}
	}
	began = time.Now()
	reopened := &Files{Dir: s.Dir}
	again := *with
	again.IVF = with.IVF.State(0).IVF()
	if err := reopened.openIVF(&again); err != nil || !again.IVF.Usable() {
		b.Fatalf("cells %+v: %v", again.IVF, err)
	}
	b.Logf("%d cells, reach %.3f, %.1f MB beside %.1f MB, opened in %v", with.IVF.Lists, with.IVF.Radius, float64(bytes[0])/1e6, float64(bytes[1])/1e6, time.Since(began))
	if err := reopened.ivf.close(); err != nil {
		b.Fatal(err)
	}
	for _, limit := range calibratedLimits {
		b.Run(fmt.Sprintf("nearest=%d", limit), func(b *testing.B) {
			var all, few []time.Duration
			var looked, found float64
			for b.Loop() {
				all, few, looked, found = all[:0], few[:0], 0, 0
				for i, q := range queries {
					before := processorTime(b)
					want, err := ScanCodes(b.Context(), with, nil, q, limit, int(with.Rows))
					if err != nil {
						b.Fatal(err)
					}
					between := processorTime(b)
					got, n, err := ScanLists(b.Context(), with, q, limit)
					if err != nil {
						b.Fatal(err)
					}
					if i >= len(queries)/10 { // the first tenth only loads the files into memory
						all, few = append(all, between-before), append(few, processorTime(b)-between)
					}
					looked += float64(n) / float64(with.Rows) / float64(len(queries))
					found += shareOf(want.Best, got.Best) / float64(len(queries))
				}
			}
			median := func(d []time.Duration) float64 { slices.Sort(d); return float64(d[len(d)/2].Microseconds()) }
			b.ReportMetric(median(all), "cpu-µs/all")
			b.ReportMetric(median(few), "cpu-µs/cells")
			b.ReportMetric(median(few)/median(all), "of-all")
			b.ReportMetric(100*looked, "%looked")
			b.ReportMetric(found, "recall")
		})
	}
}

// shareOf returns the fraction of wanted rows found. Rows that tie with the last wanted row also count.
func shareOf(want, got []topk.Scored) float64 {
	top := topk.New(len(want))
	for _, w := range want {
		top.Offer(w)
	}
	best := top.Best(len(want))
	near := slices.DeleteFunc(slices.Clone(got), func(h topk.Scored) bool { return h.Score < best[len(best)-1].Score })
	return float64(len(near)) / float64(len(best))
}
