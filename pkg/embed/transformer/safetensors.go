package transformer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	maxWeights       = 4 << 30  // maximum size of a weights file in bytes; supported models have up to 2.3 GB
	maxHeader        = 16 << 20 // maximum size of the header in bytes
	maxTensors       = 20_000
	maxTensorNameLen = 512
)

var errMalformed = errors.New("malformed")

// Suffix for the name of the tensor that holds an int8 tensor's row scales.
const scaleSuffix = "_scale"

// parseSafetensors returns the weights in a safetensors file by name: floating-point tensors, and two-dimensional int8
// tensors with one scale per row. The scales are in a float32 tensor whose name ends in scaleSuffix. Other tensors,
// such as position ids, are skipped. The tensors share the memory of data.
//
// A file consists of the header's length (8 bytes), the header (JSON) and the numbers.
func parseSafetensors(data []byte) (map[string]tensor, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: a file of %d bytes is too short for safetensors", errMalformed, len(data))
	}
	size := binary.LittleEndian.Uint64(data)
	data = data[8:]
	if size > uint64(min(len(data), maxHeader)) {
		return nil, fmt.Errorf("%w: its header has %d bytes, but the file has %d (it may be a Git LFS pointer, or incomplete)", errMalformed, size, len(data)+8)
	}
	header, data := data[:size], data[size:]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, fmt.Errorf("%w header: %w", errMalformed, err)
	}
	if len(entries) > maxTensors {
		return nil, fmt.Errorf("%w: it has %d tensors; the limit is %d", errMalformed, len(entries), maxTensors)
	}
	tensors := make(map[string]tensor, len(entries))
	for name, raw := range entries {
		if name == "__metadata__" || len(name) > maxTensorNameLen {
			continue
		}
		t, ok, err := parseEntry(raw, data)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if ok {
			tensors[name] = t
		}
	}
	return tensors, attachScales(tensors)
}

// attachScales attaches row scales to int8 tensors and removes int8 tensors that have none.
func attachScales(tensors map[string]tensor) error {
	for name, t := range tensors {
		if t.dtype != int8s {
			continue
		}
		s, ok := tensors[name+scaleSuffix]
		if !ok {
			delete(tensors, name)
			continue
		}
		if len(t.shape) != 2 || len(t.data) == 0 || s.dtype != float32s || !slices.Equal(s.shape, t.shape[:1]) {
			return fmt.Errorf("%w: tensor %q of shape %v has scales of shape %v; it needs one float32 per row", errMalformed, name, t.shape, s.shape)
		}
		t.scales = make([]float32, t.shape[0])
		s.decode(t.scales, 0)
		tensors[name] = t
	}
	return nil
}

func parseEntry(raw json.RawMessage, data []byte) (t tensor, ok bool, err error) {
	var entry struct {
		Dtype   string    `json:"dtype"`
		Shape   []int     `json:"shape"`
		Offsets [2]uint64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &entry); err != nil {
		return tensor{}, false, fmt.Errorf("%w: %w", errMalformed, err)
	}
	switch entry.Dtype {
	case "F32":
		t.dtype = float32s
	case "F16":
		t.dtype = float16s
	case "BF16":
		t.dtype = bfloat16s
	case "I8":
		t.dtype = int8s
	default:
		return tensor{}, false, nil
	}
	n, err := elements(entry.Shape)
	if err != nil {
		return tensor{}, false, fmt.Errorf("%w: %w", errMalformed, err)
	}
	begin, end := entry.Offsets[0], entry.Offsets[1]
	if begin > end || end > uint64(len(data)) {
		return tensor{}, false, fmt.Errorf("%w: a tensor needs bytes %d to %d, but the file has only %d (it may be incomplete)", errMalformed, begin, end, len(data))
	}
	if uint64(n)*uint64(t.dtype.size()) != end-begin {
		return tensor{}, false, fmt.Errorf("%w: a tensor has %d bytes, which does not match its shape %v and type %s", errMalformed, end-begin, entry.Shape, entry.Dtype)
	}
	t.shape, t.data = entry.Shape, data[begin:end]
	return t, true, nil
}
