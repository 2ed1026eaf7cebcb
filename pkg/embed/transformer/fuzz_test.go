package transformer

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzSafetensors(f *testing.F) {
	f.Add(tinyModels["mean"].Safetensors(f, 60)[:4000])
	f.Add([]byte("\x4a\x00\x00\x00\x00\x00\x00\x00" + `{"x":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}}                  ` + "abcd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parseSafetensors(data)
		if err != nil {
			return
		}
		decodeAll(t, tensors)
	})
}

// decodeAll checks that the data of each tensor matches its shape.
func decodeAll(t *testing.T, tensors map[string]tensor) {
	t.Helper()
	for name, x := range tensors {
		n, err := elements(x.shape)
		if err != nil {
			t.Fatalf("tensor %q: %v", name, err)
		}
		x.decode(make([]float32, n), 0)
	}
}

func FuzzONNX(f *testing.F) {
	tensors, err := parseSafetensors(tinyModels["mean"].Safetensors(f, 60))
	if err != nil {
		f.Fatal(err)
	}
	for name := range tensors {
		if !strings.Contains(name, "layer.0.output.dense") {
			delete(tensors, name)
		}
	}
	f.Add(asONNX(tensors))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parseONNX(data)
		if err != nil {
			return
		}
		decodeAll(t, tensors)
	})
}

func FuzzTokenizer(f *testing.F) {
	for _, name := range []string{"mean", "unigram"} {
		file, _ := tinyModels[name].Tokenizer()
		data, err := json.Marshal(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, want := range expectations(f, "testdata/"+name+".jsonl") {
			f.Add(data, want.Text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		const words, limit = 200, 40
		tokenizer, err := parseTokenizer(data, words)
		if err != nil {
			return
		}
		tokens := tokenizer.tokens(text, limit)
		if len(tokens) > limit {
			t.Errorf("%d tokens, at most %d are wanted", len(tokens), limit)
		}
		for _, token := range tokens {
			if token < 0 || token >= words {
				t.Errorf("token %d is out of range", token)
			}
		}
	})
}

func FuzzCharacterMap(f *testing.F) {
	f.Add(tinyCharacterMap(), "ab e\u0301")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := parseCharacterMap(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		m.apply(text)
	})
}
