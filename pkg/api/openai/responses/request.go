package responses

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on a request. They also limit the size of a stored response.
const (
	maxBody        = 2 << 20 // bytes in the body
	maxTools       = 128
	maxID          = 200     // bytes in an id or a name
	maxText        = 1 << 20 // bytes in a text
	maxPairs       = 16      // metadata pairs
	maxPairKey     = 64      // characters
	maxPairValue   = 512     // characters
	maxInclude     = 20
	maxToolCalls   = 1000
	maxLogprobs    = 20
	maxTemperature = 2
)

type params struct {
	model        string
	input        []item
	instructions *string
	previous     string // id of the previous response, or ""
	conversation string // "" for none
	tools        tools
	format       json.RawMessage // as in answer.Request; nil means text
	text         json.RawMessage // the `text` parameter, as returned
	maxTokens    *int
	maxToolCalls *int
	temperature  *float64
	topP         *float64
	presence     *float64
	frequency    *float64
	parallel     bool
	store        bool
	stream       bool
	background   bool
	results      bool // whether to include file search results
	truncation   string
	metadata     map[string]string
	user         *string
	safety       *string
	cacheKey     *string
	effort       *string
	summary      *string
}

// parameters lists the request fields that have an effect or are echoed. Other fields are ignored and listed in a
// response header, because OpenAI's clients may send parameters newer than this service.
var parameters = []string{
	"background", "conversation", "frequency_penalty", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
	"model", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key", "safety_identifier", "service_tier",
	"store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

func bodyOf(c *gin.Context) (jsonbody.Object, error) {
	fields, err := openai.BodyOf(c)
	if err != nil {
		return jsonbody.Object{}, err
	}
	if body, ok := c.Request.Body.(*transfer.Checked); ok && len(body.Raw) > maxBody {
		return jsonbody.Object{}, problem.TooLarge(maxBody)
	}
	return jsonbody.NewObject(fields, ""), nil
}

// read parses the request for a new response.
func (s *Service) read(c *gin.Context) (p params, err error) {
	o, err := bodyOf(c)
	if err != nil {
		return p, err
	}
	p = params{
		model: short(o, "model"), instructions: o.Text("instructions", answer.MaxInstructionBytes),
		maxTokens: o.Int("max_output_tokens", 1, answer.MaxAnswerTokens), maxToolCalls: o.Int("max_tool_calls", 1, maxToolCalls),
		temperature: o.Number("temperature", 0, maxTemperature), topP: o.Number("top_p", 0, 1),
		presence: o.Number("presence_penalty", -2, 2), frequency: o.Number("frequency_penalty", -2, 2),
		parallel: o.Bool("parallel_tool_calls", true), store: o.Bool("store", true),
		stream: o.Bool("stream", false), background: o.Bool("background", false), results: readInclude(o),
		truncation: o.OneOf("truncation", "disabled", "auto"), metadata: readMetadata(o),
		user: o.Text("user", maxID), safety: o.Text("safety_identifier", maxID), cacheKey: o.Text("prompt_cache_key", maxID),
		input: readInput(o), tools: readTools(o),
	}
	if p.model == "" {
		o.Fault("model", "is required; send the id of an agent or the name of a chat model")
	}
	p.readState(o)
	p.readText(o)
	if reasoning, ok := o.Object("reasoning"); ok {
		p.effort, p.summary = reasoning.Text("effort", maxID), reasoning.Text("summary", maxID)
	}
	if o.Has("prompt") {
		o.Fault("prompt", "is not supported, because this service has no prompt templates; send instructions and input")
	}
	if n := o.Int("top_logprobs", 0, maxLogprobs); n != nil && *n > 0 {
		o.Fault("top_logprobs", "is %d; this service returns no log probabilities, so leave it out", *n)
	}
	if err := problem.Invalid(o.Faults()); err != nil {
		return p, err
	}
	openai.Ignored(c, slices.DeleteFunc(o.Names(), func(name string) bool { return slices.Contains(parameters, name) })...)
	return p, nil
}

// readState reads the parameters that name earlier items.
func (p *params) readState(o jsonbody.Object) {
	p.previous = short(o, "previous_response_id")
	if _, isText := o.Value("conversation").(string); isText {
		p.conversation = short(o, "conversation")
	} else if c, ok := o.Object("conversation"); ok {
		if p.conversation = short(c, "id"); p.conversation == "" {
			c.Fault("id", "is required; send the id of a conversation")
		}
	}
	if p.previous != "" && p.conversation != "" {
		o.Fault("previous_response_id", "cannot be combined with conversation; send only one of them")
	}
	if p.background && !p.store {
		o.Fault("store", "is false, but background responses must be stored; leave it out")
	}
}

func (p *params) readText(o jsonbody.Object) {
	p.text = json.RawMessage(`{"format":{"type":"text"}}`)
	text, ok := o.Object("text")
	if !ok {
		return
	}
	shown := map[string]any{}
	if v := text.Text("verbosity", maxID); v != nil {
		shown["verbosity"] = *v
	}
	shown["format"] = map[string]any{"type": "text"}
	if format, ok := text.Object("format"); ok {
		shown["format"] = p.readFormat(format)
	}
	p.text = encode(shown)
}

// readFormat reads text.format and returns it.
func (p *params) readFormat(format jsonbody.Object) map[string]any {
	shown := map[string]any{"type": format.OneOf("type", "text", "json_object", "json_schema")}
	switch shown["type"] {
	case "json_object":
		p.format = json.RawMessage(`{"type":"json_object"}`)
	case "json_schema":
		schema, _ := format.Object("schema")
		if !format.Has("schema") {
			format.Fault("schema", "is required with the type json_schema; send a JSON schema, or the type json_object")
		}
		if !format.Has("name") {
			format.Fault("name", "is required with the type json_schema")
		}
		inner := map[string]any{"name": short(format, "name"), "schema": schema.Fields(), "strict": format.Bool("strict", false)}
		if d := format.Text("description", answer.MaxInstructionBytes); d != nil {
			inner["description"] = *d
		}
		p.format = encode(map[string]any{"type": "json_schema", "json_schema": inner})
		maps.Copy(shown, inner)
	}
	return shown
}

// encode converts a value parsed from JSON back to JSON.
func encode(v any) json.RawMessage {
	encoded, err := json.Marshal(v)
	if err != nil { // cannot happen, because the value consists of texts, finite numbers, lists and maps
		return json.RawMessage("null")
	}
	return encoded
}

// short returns a string field's value, or "" if it is missing or has a fault, such as exceeding maxID bytes.
func short(o jsonbody.Object, name string) string { return valueOf(o.Text(name, maxID)) }

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func readMetadata(o jsonbody.Object) map[string]string {
	out := map[string]string{}
	metadata, _ := o.Object("metadata")
	names := metadata.Names()
	if len(names) > maxPairs {
		o.Fault("metadata", "has %d pairs; the limit is %d", len(names), maxPairs)
		return out
	}
	for _, name := range names {
		text := valueOf(metadata.Text(name, maxText))
		if n := utf8.RuneCountInString(name); n > maxPairKey {
			metadata.Fault(name, "has a key of %d characters; the limit is %d", n, maxPairKey)
		}
		if n := utf8.RuneCountInString(text); n > maxPairValue {
			metadata.Fault(name, "has %d characters; the limit is %d", n, maxPairValue)
		}
		out[name] = text
	}
	return out
}

const includeResults = "file_search_call.results"

// includable are the values allowed in `include`. Only the first has an effect. The others request data that this
// service doesn't have.
var includable = []string{
	includeResults, "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
	"computer_call_output.output.image_url", "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}

// checkInclude checks the values in `include` and reports whether they request file search results.
func checkInclude(names []string) (results bool, err error) {
	for _, name := range names {
		if !slices.Contains(includable, name) {
			return false, domain.Invalid("include", "contains %s; leave it out, or send %s", jsonbody.Describe(name), includeResults)
		}
	}
	return slices.Contains(names, includeResults), nil
}

func readInclude(o jsonbody.Object) bool {
	results, err := checkInclude(o.Strings("include", maxInclude))
	if err != nil {
		o.Fault("include", "%s", err.Error())
	}
	return results
}

// queryInclude is checkInclude for a query string. Clients either repeat the parameter or write include[].
func queryInclude(c *gin.Context) (results bool, err error) {
	query := c.Request.URL.Query()
	return checkInclude(append(query["include"], query["include[]"]...))
}
