package transformer

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers in ONNX messages; see https://onnx.ai/onnx/intro/.
const (
	onnxModelGraph = 7

	onnxGraphNode        = 1
	onnxGraphInitializer = 5

	onnxNodeInput  = 1
	onnxNodeOutput = 2
	onnxNodeType   = 4

	onnxTensorDims     = 1
	onnxTensorType     = 2
	onnxTensorFloats   = 4
	onnxTensorName     = 8
	onnxTensorRaw      = 9
	onnxTensorLocation = 14
)

// onnxTypes are the number types allowed for weights.
var onnxTypes = map[uint64]dtype{1: float32s, 10: float16s, 16: bfloat16s}

// parseONNX returns a model's weights under the names they have in safetensors files. Weights share the memory of data,
// unless they had to be transposed. The graph is not executed. It is used only to find out which linear layer uses
// which weights, because exporters transpose and rename weights but keep the names of the layers' biases.
func parseONNX(data []byte) (map[string]tensor, error) {
	tensors := make(map[string]tensor)
	products := make(map[string]string) // maps each matrix product's result to its second factor
	type sum struct{ product, bias string }
	var sums []sum
	err := fields(data, func(number protowire.Number, _ uint64, graph []byte) error {
		if number != onnxModelGraph {
			return nil
		}
		return fields(graph, func(number protowire.Number, _ uint64, part []byte) error {
			switch number {
			case onnxGraphInitializer:
				if len(tensors) >= maxTensors {
					return fmt.Errorf("it has more than %d tensors", maxTensors)
				}
				name, t, ok, err := parseONNXTensor(part)
				if ok {
					tensors[name] = t
				}
				return err
			case onnxGraphNode:
				kind, inputs, output, err := parseONNXNode(part)
				if err != nil || len(inputs) != 2 {
					return err
				}
				switch kind {
				case "MatMul":
					products[output] = inputs[1]
				case "Add":
					sums = append(sums, sum{inputs[0], inputs[1]}, sum{inputs[1], inputs[0]})
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w ONNX: %w", errMalformed, err)
	}
	if len(tensors) == 0 {
		return nil, errors.New("it contains no floating-point weights (it may be a Git LFS pointer, quantised, or not an ONNX file)")
	}
	for _, s := range sums {
		layer, ok := strings.CutSuffix(s.bias, ".bias")
		factor, used := products[s.product]
		if _, named := tensors[layer+".weight"]; !ok || !used || named {
			continue
		}
		if t, ok := tensors[factor]; ok && len(t.shape) == 2 {
			tensors[layer+".weight"] = t.transposed()
			delete(tensors, factor)
		}
	}
	return tensors, nil
}

// transposed returns the transpose of a matrix.
func (t tensor) transposed() tensor {
	rows, columns, size := t.shape[0], t.shape[1], t.dtype.size()
	data := make([]byte, len(t.data))
	for i := range rows {
		for j := range columns {
			copy(data[(j*rows+i)*size:][:size], t.data[(i*columns+j)*size:])
		}
	}
	return tensor{dtype: t.dtype, shape: []int{columns, rows}, data: data}
}

// fields calls visit for each field in a message, with its number and its value or bytes.
func fields(message []byte, visit func(number protowire.Number, value uint64, bytes []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var value uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := visit(number, value, bytes); err != nil {
			return err
		}
	}
	return nil
}

func parseONNXNode(data []byte) (kind string, inputs []string, output string, err error) {
	err = fields(data, func(number protowire.Number, _ uint64, bytes []byte) error {
		switch number {
		case onnxNodeInput:
			inputs = append(inputs, string(bytes))
		case onnxNodeOutput:
			output = string(bytes)
		case onnxNodeType:
			kind = string(bytes)
		}
		return nil
	})
	return kind, inputs, output, err
}

// parseONNXTensor parses an initializer. `ok` is false if its number type is not in onnxTypes.
func parseONNXTensor(data []byte) (name string, t tensor, ok bool, err error) {
	var dims []uint64
	var kind, location uint64
	err = fields(data, func(number protowire.Number, value uint64, bytes []byte) error {
		switch number {
		case onnxTensorDims: // single values or a packed list
			if bytes == nil {
				dims = append(dims, value)
			}
			for len(bytes) > 0 {
				dim, n := protowire.ConsumeVarint(bytes)
				if n < 0 {
					return protowire.ParseError(n)
				}
				dims, bytes = append(dims, dim), bytes[n:]
			}
		case onnxTensorType:
			kind = value
		case onnxTensorFloats, onnxTensorRaw:
			t.data = bytes
		case onnxTensorName:
			name = string(bytes)
		case onnxTensorLocation:
			location = value
		}
		return nil
	})
	if err != nil {
		return "", tensor{}, false, err
	}
	if t.dtype, ok = onnxTypes[kind]; !ok || len(name) > maxTensorNameLen {
		return "", tensor{}, false, nil
	}
	if location != 0 {
		return "", tensor{}, false, fmt.Errorf("tensor %q is in another file, which is not supported; export the model as one file, or use its model.safetensors", name)
	}
	for _, dim := range dims {
		t.shape = append(t.shape, int(min(dim, maxWeights+1)))
	}
	n, err := elements(t.shape)
	if err != nil {
		return "", tensor{}, false, fmt.Errorf("tensor %q: %w", name, err)
	}
	if n*t.dtype.size() != len(t.data) {
		return "", tensor{}, false, fmt.Errorf("tensor %q has %d bytes, which does not match its shape %v", name, len(t.data), t.shape)
	}
	return name, t, true, nil
}
