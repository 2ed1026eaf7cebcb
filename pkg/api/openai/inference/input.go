package inference

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai/cl100k"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of texts per request, as in OpenAI's API.
const maxInputs = 2048

// inputs are the texts to embed: a string, an array of strings, an array of tokens, or an array of such arrays.
type inputs []string

const inputForms = "it must be a string, an array of strings, or an array of tokens"

// UnmarshalJSON implements json.Unmarshaler.
func (in *inputs) UnmarshalJSON(raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	list, isList := value.([]any)
	if !isList {
		text, err := inputText("input", value)
		*in = inputs{text}
		return err
	}
	if len(list) == 0 {
		return domain.Invalid("input", "is an empty array; it must contain text")
	}
	if _, isToken := list[0].(float64); isToken {
		text, err := inputText("input", list)
		*in = inputs{text}
		return err
	}
	if len(list) > maxInputs {
		return domain.Invalid("input", "has %d items; the limit is %d", len(list), maxInputs)
	}
	*in = make(inputs, len(list))
	for i, item := range list {
		text, err := inputText(fmt.Sprintf("input[%d]", i), item)
		if err != nil {
			return err
		}
		(*in)[i] = text
	}
	return nil
}

// inputText returns a text sent as a string or as tokens.
func inputText(field string, value any) (string, error) {
	var text string
	switch value := value.(type) {
	case string:
		text = value
	case []any:
		tokens := make([]int, len(value))
		for i, item := range value {
			number, isNumber := item.(float64)
			if !isNumber || number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
				return "", domain.Invalid(fmt.Sprintf("%s[%d]", field, i), "is %s; a token is a whole number", jsonbody.Describe(item))
			}
			tokens[i] = int(number)
		}
		var err error
		if text, err = cl100k.Decode(tokens); err != nil {
			return "", domain.Invalid(field, "cannot be converted to text: %v", err)
		}
	default:
		return "", domain.Invalid(field, "is %s; %s", jsonbody.Describe(value), inputForms)
	}
	if strings.TrimSpace(text) == "" {
		return "", domain.Invalid(field, "is empty; it must contain text")
	}
	return text, nil
}
