package transformer

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

// message encodes a message from alternating field numbers and values. Integers become varints, all other values bytes.
func message(parts ...any) []byte {
	var out []byte
	for i := 0; i < len(parts); i += 2 {
		number := protowire.Number(parts[i].(int))
		switch v := parts[i+1].(type) {
		case int:
			out = protowire.AppendVarint(protowire.AppendTag(out, number, protowire.VarintType), uint64(v))
		case string:
			out = protowire.AppendString(protowire.AppendTag(out, number, protowire.BytesType), v)
		case []byte:
			out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), v)
		}
	}
	return out
}

// asONNX encodes tensors as exporters do: linear layers' weights are transposed and lose their names. Only the nodes
// that add the biases still show the layers' names.
func asONNX(tensors map[string]tensor) []byte {
	var graph []byte
	for i, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		layer, isWeight := strings.CutSuffix(name, ".weight")
		if isWeight && len(t.shape) == 2 && tensors[layer+".bias"].data != nil {
			t, name = t.transposed(), "onnx::MatMul_"+layer
			bias, product := layer+".bias", "product_"+layer
			sum := []string{bias, product}
			if i%2 == 0 {
				slices.Reverse(sum)
			}
			graph = append(graph, message(
				onnxGraphNode, message(onnxNodeInput, "x", onnxNodeInput, name, onnxNodeOutput, product, onnxNodeType, "MatMul"),
				onnxGraphNode, message(onnxNodeInput, sum[0], onnxNodeInput, sum[1], onnxNodeOutput, "y", onnxNodeType, "Add"))...)
		}
		part := message(onnxTensorType, map[dtype]int{float32s: 1, float16s: 10, bfloat16s: 16}[t.dtype], onnxTensorName, name, onnxTensorRaw, t.data)
		packed := []byte{}
		for _, dim := range t.shape {
			if i%2 == 0 {
				part = append(part, message(onnxTensorDims, dim)...)
			} else {
				packed = protowire.AppendVarint(packed, uint64(dim))
			}
		}
		if i%2 == 1 {
			part = append(part, message(onnxTensorDims, packed)...)
		}
		graph = append(graph, message(onnxGraphInitializer, part)...)
	}
	graph = append(graph, message(onnxGraphInitializer, message(onnxTensorType, 7, onnxTensorName, "a shape", onnxTensorDims, 1, onnxTensorRaw, "12345678"))...)
	return message(1, 9, 2, "exporter", onnxModelGraph, graph)
}

func TestAnONNXFileIsTheSameModel(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"model.onnx", "onnx/model.onnx"} {
		for _, m := range []tinymodel.Model{tinyModels["mean"], tinyModels["half"], tinyModels["first"]} {
			usual := mustOpen(t, Config{}, m, nil)
			exported := mustOpen(t, Config{}, m, func(directory string) {
				path := filepath.Join(directory, "model.safetensors")
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				tensors, err := parseSafetensors(data)
				if err != nil {
					t.Fatal(err)
				}
				tinymodel.WriteFile(t, directory, place, asONNX(tensors))
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			})
			if !slices.Equal(mustEmbed(t, usual, embed.Query, "the cat")[0], mustEmbed(t, exported, embed.Query, "the cat")[0]) {
				t.Errorf("%s: the vectors differ", place)
			}
		}
	}
}

func TestONNXFilesThatHoldNoWeightsAreRefused(t *testing.T) {
	t.Parallel()
	initializer := func(parts ...any) []byte {
		return message(onnxModelGraph, message(onnxGraphInitializer, message(parts...)))
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":              {nil, "no floating-point weights"},
		"whole numbers":        {initializer(onnxTensorType, 3, onnxTensorName, "x", onnxTensorDims, 1, onnxTensorRaw, "1"), "quantised"},
		"weights elsewhere":    {initializer(onnxTensorType, 1, onnxTensorName, "x", onnxTensorDims, 1, onnxTensorLocation, 1), "is in another file"},
		"too few bytes":        {initializer(onnxTensorType, 1, onnxTensorName, "x", onnxTensorDims, 2, onnxTensorRaw, "1234"), "4 bytes, which does not match its shape [2]"},
		"a dimension past all": {initializer(onnxTensorType, 1, onnxTensorName, "x", onnxTensorDims, 1<<62, onnxTensorRaw, "1234"), "out of bounds"},
		"text":                 {[]byte("version https://git-lfs.github.com/spec/v1"), "malformed ONNX"},
	} {
		if _, err := parseONNX(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
