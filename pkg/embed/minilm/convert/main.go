// Command convert creates package minilm's files from the published model all-MiniLM-L6-v2. It reads the directory
// written by "sluice models pull all-MiniLM-L6-v2" and verifies that its files are the published ones. The output is
// reproducible:
//
//	go run ./pkg/embed/minilm/convert data/models/all-MiniLM-L6-v2 pkg/embed/minilm/model
//
// Each row of the word vectors and of the linear layers' weights is converted to 8-bit integers with a single scale.
// Other tensors stay 32-bit floats. Tensors not needed for sentence vectors are dropped: the pooler, the position ids,
// the positions after the maximum length, and the vocabulary's placeholders "[unused…]".
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/embed/pull"
)

const (
	source    = "all-MiniLM-L6-v2"
	hidden    = 384
	maxTokens = 256 // max_seq_length from the published sentence_bert_config.json
)

// config is the published configuration, with the converted model's sizes and without unused fields.
const config = `{
  "_name_or_path": "sentence-transformers/all-MiniLM-L6-v2",
  "model_type": "bert",
  "hidden_size": %d,
  "num_hidden_layers": 6,
  "num_attention_heads": 12,
  "intermediate_size": 1536,
  "hidden_act": "gelu",
  "layer_norm_eps": 1e-12,
  "vocab_size": %d,
  "max_position_embeddings": %d,
  "pad_token_id": 0,
  "position_embedding_type": "absolute"
}
`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: convert MODEL-DIRECTORY OUTPUT-DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "convert: %v\n", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	weights, err := readPublished(from, "model.safetensors")
	if err != nil {
		return err
	}
	tokenizer, err := readPublished(from, "tokenizer.json")
	if err != nil {
		return err
	}
	vocabulary, rows, err := keptWords(tokenizer)
	if err != nil {
		return fmt.Errorf("reading the vocabulary: %w", err)
	}
	tensors, err := parse(weights)
	if err != nil {
		return fmt.Errorf("reading model.safetensors: %w", err)
	}
	out, err := quantise(tensors, rows)
	if err != nil {
		return err
	}
	model, err := encode(out)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"config.json":               fmt.Appendf(nil, config, hidden, len(vocabulary), maxTokens),
		"sentence_bert_config.json": fmt.Appendf(nil, "{\"max_seq_length\": %d}\n", maxTokens),
		"model.safetensors":         model,
		"vocab.txt":                 []byte(strings.Join(vocabulary, "\n") + "\n"),
	}
	var sums []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sums = fmt.Appendf(sums, "%s  %s\n", digestOf(files[name]), name)
	}
	files["SHA256SUMS"] = sums
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return fmt.Errorf("writing the model: %w", err)
		}
	}
	return nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// readPublished reads one of the model's files and verifies that it is the published one.
func readPublished(directory, name string) ([]byte, error) {
	model, ok := pull.Find(source)
	if !ok {
		return nil, fmt.Errorf("models pull does not know %s", source)
	}
	i := slices.IndexFunc(model.Files, func(f pull.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no file %s", source, name)
	}
	content, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil {
		return nil, err
	}
	if got := digestOf(content); got != model.Files[i].SHA256 {
		return nil, fmt.Errorf("%s has the SHA-256 %s; the published file has %s", filepath.Join(directory, name), got, model.Files[i].SHA256)
	}
	return content, nil
}

// keptWords returns the words in the published vocabulary that can occur in texts, in id order. It also returns their
// ids in the published model, i.e. their row numbers in its word vectors.
func keptWords(tokenizer []byte) (words []string, rows []int, err error) {
	var file struct {
		Model struct {
			Vocabulary map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(tokenizer, &file); err != nil {
		return nil, nil, err
	}
	byID := make([]string, len(file.Model.Vocabulary))
	for word, id := range file.Model.Vocabulary {
		if id < 0 || id >= len(byID) || byID[id] != "" || word == "" || strings.Contains(word, "\n") {
			return nil, nil, fmt.Errorf("word %q has the id %d", word, id)
		}
		byID[id] = word
	}
	for id, word := range byID {
		if !strings.HasPrefix(word, "[unused") {
			words, rows = append(words, word), append(rows, id)
		}
	}
	return words, rows, nil
}

// matrix is a float32 tensor. A vector has one row.
type matrix struct {
	shape []int
	data  []float32
}

// parse returns the float32 tensors of a safetensors file.
func parse(file []byte) (map[string]matrix, error) {
	if len(file) < 8 || binary.LittleEndian.Uint64(file) > uint64(len(file)-8) {
		return nil, errors.New("it is too short")
	}
	header, data := file[8:][:binary.LittleEndian.Uint64(file)], file[8+binary.LittleEndian.Uint64(file):]
	var entries map[string]struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, err
	}
	tensors := make(map[string]matrix)
	for name, e := range entries {
		if e.Dtype != "F32" {
			continue
		}
		m := matrix{shape: e.Shape}
		for part := data[e.Offsets[0]:e.Offsets[1]]; len(part) >= 4; part = part[4:] {
			m.data = append(m.data, math.Float32frombits(binary.LittleEndian.Uint32(part)))
		}
		tensors[name] = m
	}
	return tensors, nil
}

// output is a tensor of the converted model.
type output struct {
	dtype string
	shape []int
	data  []byte
}

// quantise converts the published tensors and returns the results by name. It keeps only the given rows of the word
// vectors.
func quantise(tensors map[string]matrix, rows []int) (map[string]output, error) {
	out := make(map[string]output)
	for name, m := range tensors {
		switch {
		case strings.HasPrefix(name, "pooler."):
			continue
		case name == "embeddings.word_embeddings.weight":
			kept := matrix{shape: []int{len(rows), hidden}}
			for _, row := range rows {
				if (row+1)*hidden > len(m.data) {
					return nil, fmt.Errorf("%s has no row %d", name, row)
				}
				kept.data = append(kept.data, m.data[row*hidden:][:hidden]...)
			}
			addIntegers(out, name, kept)
		case name == "embeddings.position_embeddings.weight":
			addFloats(out, name, matrix{shape: []int{maxTokens, hidden}, data: m.data[:maxTokens*hidden]})
		case strings.HasPrefix(name, "encoder.") && len(m.shape) == 2:
			addIntegers(out, name, m)
		default:
			addFloats(out, name, m)
		}
	}
	return out, nil
}

func addFloats(out map[string]output, name string, m matrix) {
	var data []byte
	for _, v := range m.data {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	out[name] = output{dtype: "F32", shape: m.shape, data: data}
}

// addIntegers adds a matrix to the output as two tensors: 8-bit integers and one scale per row.
func addIntegers(out map[string]output, name string, m matrix) {
	width := m.shape[1]
	scales := matrix{shape: m.shape[:1]}
	var data []byte
	for row := range slices.Chunk(m.data, width) {
		scale := bestScale(row)
		scales.data = append(scales.data, scale)
		for _, v := range row {
			data = append(data, byte(integer(v, scale)))
		}
	}
	out[name] = output{dtype: "I8", shape: m.shape, data: data}
	addFloats(out, name+"_scale", scales)
}

// Largest magnitude of an integer.
const top = 127

// integer returns the integer n for which n*scale is closest to v.
func integer(v, scale float32) int8 {
	if scale == 0 {
		return 0
	}
	return int8(max(-top, min(top, math.RoundToEven(float64(v)/float64(scale)))))
}

// bestScale returns the scale with the smallest squared error. This scale may clip the row's largest number. In a row
// of small numbers with a single large one, clipping the large one causes a smaller error than rounding all the others
// more coarsely.
func bestScale(row []float32) float32 {
	var largest float32
	for _, v := range row {
		largest = max(largest, v, -v)
	}
	best, least := float32(0), math.Inf(1)
	for percent := 100; percent >= 60; percent-- {
		scale := largest / top * float32(percent) / 100
		var errors float64
		for _, v := range row {
			d := float64(v) - float64(integer(v, scale))*float64(scale)
			errors += d * d
		}
		if errors < least {
			best, least = scale, errors
		}
	}
	return best
}

// encode returns a safetensors file with the tensors ordered by name.
func encode(tensors map[string]output) ([]byte, error) {
	type entry struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	entries := map[string]any{"__metadata__": map[string]string{"source": "sentence-transformers/" + source, "licence": "Apache-2.0"}}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		entries[name] = entry{t.dtype, t.shape, [2]int{len(data), len(data) + len(t.data)}}
		data = append(data, t.data...)
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), data...), nil
}
