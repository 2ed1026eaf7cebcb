// Command bleve fills and searches a Bleve index for benchpeers: bleve fill|ask <workload folder> <seconds per figure>
// <idle seconds>. The last line of its output is JSON, in the same format as peers.py's. It is a separate module, to
// keep its dependencies out of Sluice.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
)

// Number of texts per batch.
const batch = 1000

// workload is what this command needs from the workload file.
type workload struct {
	Best      int
	Questions []struct{ Common string }
}

// figure holds the results for one kind of query; times are in seconds.
type figure struct{ P50, P99, Rate, CPU, Recall float64 }

// told is the command's output.
type told struct {
	Fill    float64           `json:",omitempty"`
	Open    float64           `json:",omitempty"`
	Memory  int64             `json:",omitempty"`
	Figures map[string]figure `json:",omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: bleve fill|ask <folder> <seconds> <idle seconds>")
	}
	each, err := strconv.ParseFloat(args[2], 64)
	if err != nil {
		return err
	}
	idle, err := strconv.ParseFloat(args[3], 64)
	if err != nil {
		return err
	}
	var t told
	if args[0] == "fill" {
		t, err = fill(args[1])
	} else {
		t, err = ask(args[1], seconds(each), seconds(idle))
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func fill(folder string) (told, error) {
	texts, err := os.Open(filepath.Join(folder, "texts.txt"))
	if err != nil {
		return told{}, err
	}
	defer texts.Close()
	began := time.Now()
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = "en"
	mapping.ScoringModel = "bm25"
	index, err := bleve.New(filepath.Join(folder, "bleve"), mapping)
	if err != nil {
		return told{}, err
	}
	waiting := index.NewBatch()
	lines := bufio.NewScanner(texts)
	lines.Buffer(nil, 1<<20)
	for row := 0; lines.Scan(); row++ {
		if err := waiting.Index(strconv.Itoa(row), map[string]string{"text": lines.Text()}); err != nil {
			return told{}, err
		}
		if waiting.Size() == batch {
			if err := index.Batch(waiting); err != nil {
				return told{}, err
			}
			waiting.Reset()
		}
	}
	err = errors.Join(lines.Err(), index.Batch(waiting), index.Close())
	return told{Fill: time.Since(began).Seconds()}, err
}

func ask(folder string, each, idle time.Duration) (told, error) {
	data, err := os.ReadFile(filepath.Join(folder, "workload.json"))
	if err != nil {
		return told{}, err
	}
	var w workload
	if err := json.Unmarshal(data, &w); err != nil {
		return told{}, err
	}
	data = nil
	debug.FreeOSMemory()
	before, err := memory()
	if err != nil {
		return told{}, err
	}
	began := time.Now()
	index, err := bleve.Open(filepath.Join(folder, "bleve"))
	if err != nil {
		return told{}, err
	}
	one := func(at int) error {
		match := bleve.NewMatchQuery(w.Questions[at%len(w.Questions)].Common)
		match.SetField("text")
		request := bleve.NewSearchRequestOptions(match, w.Best, 0, false)
		request.Fields = []string{"text"}
		found, err := index.Search(request)
		if err == nil && len(found.Hits) == 0 {
			err = errors.New("nothing is found")
		}
		return err
	}
	if err := one(0); err != nil {
		return told{}, err
	}
	t := told{Open: time.Since(began).Seconds(), Figures: map[string]figure{}}
	for _, clients := range []int{1, 8} {
		if t.Figures[fmt.Sprint("words/", clients)], err = measure(one, len(w.Questions), clients, each); err != nil {
			return told{}, err
		}
	}
	time.Sleep(idle)
	debug.FreeOSMemory()
	after, err := memory()
	t.Memory = after - before
	return t, errors.Join(err, index.Close())
}

// measure first asks every question once, if there is time. It then runs `clients` concurrent clients, which ask one
// question after another.
func measure(one func(int) error, questions, clients int, each time.Duration) (figure, error) {
	warmed := time.Now()
	for at := 0; at < questions && time.Since(warmed) < each; at++ {
		if err := one(at); err != nil {
			return figure{}, err
		}
	}
	var next atomic.Int64
	var mu sync.Mutex
	var waits []time.Duration
	var faults []error
	used, began := processor(), time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for time.Since(began) < each {
				start := time.Now()
				err := one(int(next.Add(1)))
				took := time.Since(start)
				mu.Lock()
				waits = append(waits, took)
				faults = append(faults, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	passed := time.Since(began)
	used = processor() - used
	slices.Sort(waits)
	return figure{
		P50: waits[len(waits)/2].Seconds(), P99: waits[min(len(waits)-1, len(waits)*99/100)].Seconds(),
		Rate: float64(len(waits)) / passed.Seconds(), CPU: used.Seconds() / float64(len(waits)),
	}, errors.Join(faults...)
}

// processor returns the process's CPU time.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns the process's anonymous resident memory in bytes.
func memory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("the system does not report the memory of a process")
}
