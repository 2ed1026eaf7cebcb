package transformer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

// integerModel returns a tiny model's weights twice: as 8-bit integers with scales, and as floats.
func integerModel(tb testing.TB) (integers, floats map[string]tensor) {
	tb.Helper()
	m := tinyModels["mean"]
	_, words := m.Tokenizer()
	tensors, err := parseSafetensors(m.Safetensors(tb, words))
	if err != nil {
		tb.Fatal(err)
	}
	integers, floats = maps.Clone(tensors), maps.Clone(tensors)
	for name, t := range tensors {
		if len(t.shape) != 2 || strings.Contains(name, "position") || strings.Contains(name, "token_type") {
			continue
		}
		values := make([]float32, len(t.data)/4)
		t.decode(values, 0)
		var numbers, scales, decoded []byte
		for row := range slices.Chunk(values, t.shape[1]) {
			var top float32
			for _, v := range row {
				top = max(top, v, -v)
			}
			scale := top / 127
			scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(scale))
			for _, v := range row {
				n := int8(math.RoundToEven(float64(v / scale)))
				numbers = append(numbers, byte(n))
				decoded = binary.LittleEndian.AppendUint32(decoded, math.Float32bits(float32(n)*scale))
			}
		}
		integers[name] = tensor{dtype: int8s, shape: t.shape, data: numbers}
		integers[name+scaleSuffix] = tensor{shape: t.shape[:1], data: scales}
		floats[name] = tensor{shape: t.shape, data: decoded}
	}
	return integers, floats
}

func safetensorsOf(tb testing.TB, tensors map[string]tensor) []byte {
	tb.Helper()
	header := map[string]any{}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		header[name] = map[string]any{"dtype": map[dtype]string{float32s: "F32", int8s: "I8"}[t.dtype], "shape": t.shape,
			"data_offsets": []int{len(data), len(data) + len(t.data)}}
		data = append(data, t.data...)
	}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// withWeights writes the tiny model with these weights to a new directory and returns its path.
func withWeights(tb testing.TB, tensors map[string]tensor) string {
	tb.Helper()
	directory := tinyDirectory(tb, tinyModels["mean"])
	tinymodel.WriteFile(tb, directory, "model.safetensors", safetensorsOf(tb, tensors))
	return directory
}

func TestIntegerWeightsEqualTheFloatsThatTheyStandFor(t *testing.T) {
	t.Parallel()
	integers, floats := integerModel(t)
	one, other := withWeights(t, integers), withWeights(t, floats)
	texts := append([]string{"the cat on a mat", "a"}, benchQueries...)
	for _, kn := range kernels() {
		var vectors [2][][]float32
		for i, directory := range []string{one, other} {
			e, err := open(Config{Directory: directory}, kn)
			if err != nil {
				t.Fatal(err)
			}
			vectors[i] = mustEmbed(t, e, embed.Passage, texts...)
		}
		for i, text := range texts {
			if similarity := cosine(vectors[0][i], vectors[1][i]); similarity < 0.99999 {
				t.Errorf("%s: the vectors of %q have a similarity of %v", kn.name, text, similarity)
			}
		}
	}
}

func TestIntegerWeightsNeedOneScalePerRow(t *testing.T) {
	t.Parallel()
	const name = "encoder.layer.0.output.dense.weight"
	for what, c := range map[string]struct {
		change func(map[string]tensor)
		want   string
	}{
		"no scales": {func(all map[string]tensor) { delete(all, name+scaleSuffix) }, "no floating-point tensor"},
		"too few scales": {func(all map[string]tensor) {
			all[name+scaleSuffix] = tensor{shape: []int{1}, data: make([]byte, 4)}
		}, name},
		"scales in two dimensions": {func(all map[string]tensor) {
			s := all[name+scaleSuffix]
			s.shape = []int{s.shape[0], 1}
			all[name+scaleSuffix] = s
		}, name},
		"integers as scales": {func(all map[string]tensor) {
			rows := all[name].shape[0]
			all[name+scaleSuffix] = tensor{dtype: int8s, shape: []int{rows}, data: make([]byte, rows)}
		}, "tensor"},
		"a vector of integers": {func(all map[string]tensor) {
			all["x"] = tensor{dtype: int8s, shape: []int{4}, data: make([]byte, 4)}
			all["x"+scaleSuffix] = tensor{shape: []int{4}, data: make([]byte, 16)}
		}, `"x"`},
	} {
		integers, _ := integerModel(t)
		c.change(integers)
		_, err := Open(Config{Directory: withWeights(t, integers)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not contain %q", what, err, c.want)
		}
	}
}

// builtinModel is the directory with package minilm's model.
const builtinModel = "../minilm/model"

// builtinDigest is the digest of the built-in model's vectors in the test below. It is the same on every processor. If
// it changes, so do the vectors in existing datastores, and the model needs a new ID.
const builtinDigest = "75e4cefa26f186064c5a8710ef4ae3bfad0869d90f84fd93bb18220db1d9b395"

func TestTheBuiltInModelHasTheSameVectorsOnEveryProcessor(t *testing.T) {
	t.Parallel()
	texts := append([]string{"a", "An example of a text with a few rare words: 0x80070057, Å, 中国.", strings.Repeat("long ", 40)}, benchQueries[:2]...)
	for _, kn := range kernels() {
		e, err := open(Config{Directory: builtinModel}, kn)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		for _, v := range mustEmbed(t, e, embed.Passage, texts...) {
			if err := binary.Write(hash, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != builtinDigest {
			t.Errorf("%s: the vectors have the digest %s, want %s", kn.name, got, builtinDigest)
		}
	}
}

func TestFilesInMemoryAreTheSameModelAsADirectory(t *testing.T) {
	t.Parallel()
	directory := tinyDirectory(t, tinyModels["mean"])
	files := map[string]string{}
	for _, name := range []string{"config.json", "tokenizer.json", "model.safetensors", "sentence_bert_config.json", "1_Pooling/config.json"} {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	want := mustOpen(t, Config{}, tinyModels["mean"], nil)
	got, err := Open(Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	if got.Model() != want.Model() {
		t.Errorf("the model is %v, want %v", got.Model(), want.Model())
	}
	if text := "the cat on a mat"; !slices.Equal(mustEmbed(t, got, embed.Query, text)[0], mustEmbed(t, want, embed.Query, text)[0]) {
		t.Error("the vectors differ")
	}
	delete(files, "config.json")
	if _, err := Open(Config{Files: files}); err == nil || !strings.Contains(err.Error(), "config.json is missing") {
		t.Errorf("without config.json: %v", err)
	}
}
