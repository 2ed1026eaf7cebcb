package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/tools/internal/bench"
)

// passageSets lists the collections of long documents. Their questions are answered by passages, not whole documents.
var passageSets = []string{"chroma-chunk", "covidqa"}

// english lists the English collections, for which the report has a separate mean.
var english = []string{"cacm", "cranfield", "med", "nfcorpus", "npl", "scifact-part", "squad-reddit", "time", "xquad-en"}

// collection is a collection in BEIR format.
type collection struct {
	bench.Collection
	bm25 float64 // BM25's nDCG@10; 0 if unknown
}

// baselines reads BM25's nDCG@10 for each collection. The map is empty if the folder has no such figures.
func baselines(folder string) (map[string]float64, error) {
	figures := map[string]float64{}
	data, err := os.ReadFile(filepath.Join(folder, "bm25.json"))
	if errors.Is(err, os.ErrNotExist) {
		return figures, nil
	}
	if err != nil {
		return nil, err
	}
	var read map[string]map[string]any
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("reading bm25.json: %w", err)
	}
	for name, values := range read {
		if f, ok := values["nDCG@10"].(float64); ok {
			figures[name] = f
		}
	}
	return figures, nil
}
