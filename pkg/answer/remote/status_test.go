package remote

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfAllServersAreParsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body     string
		want     Status
		tooLong  bool
		filtered bool
	}{
		"OpenAI": {
			body:    `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			want:    Status{Code: "context_length_exceeded", Param: "messages", Message: "This model's maximum context length is 8192 tokens."},
			tooLong: true,
		},
		"Azure's filter": {
			body:     `{"error":{"code":"content_filter","message":"The response was filtered","param":"prompt","status":400,"innererror":{}}}`,
			want:     Status{Code: "content_filter", Param: "prompt", Message: "The response was filtered"},
			filtered: true,
		},
		"Anthropic": {
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			want: Status{Code: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum"}, tooLong: true,
		},
		"vLLM, at the top": {
			body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","param":null,"code":400}`,
			want: Status{Code: "BadRequestError", Message: "This model's maximum context length is 4096 tokens. However, you requested 5000"}, tooLong: true,
		},
		"llama.cpp": {
			body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`,
			want: Status{Code: "exceed_context_size_error", Message: "the request exceeds the available context size"}, tooLong: true,
		},
		"Ollama":                 {body: `{"error":"model \"x\" not found"}`, want: Status{Message: `model "x" not found`}},
		"FastAPI":                {body: `{"detail":"Not Found"}`, want: Status{Message: `"Not Found"`}},
		"a proxy's page":         {body: "<html>\n <h1>502   Bad Gateway</h1></html>", want: Status{Message: "<html> <h1>502 Bad Gateway</h1></html>"}},
		"JSON that says nothing": {body: `{}`},
		"nothing":                {},
		"no object":              {body: `[1]`, want: Status{Message: "[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.want.HTTP = 400
			got := ReadStatus(400, []byte(test.body))
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Error(diff)
			}
			if got.TooLong() != test.tooLong || got.Filtered() != test.filtered {
				t.Errorf("too long %v, filtered %v", got.TooLong(), got.Filtered())
			}
		})
	}
}

func FuzzReadStatus(f *testing.F) {
	for _, body := range []string{`{"error":{"message":"a","code":1}}`, `{"error":"a"}`, `{"error":null,"detail":[{}]}`, "<html>", "\xff", `{"error":{"message":{}}}`, "{\"error\":\"\xc3\xc3\"}"} {
		f.Add(400, []byte(body))
	}
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		s := ReadStatus(code, body)
		// The JSON decoder replaces each invalid byte with U+FFFD, which takes three bytes.
		if len(s.Message) > len("\ufffd")*len(body)+len("…") || !utf8.ValidString(s.Message) {
			t.Errorf("%q became %q", body, s.Message)
		}
		s.TooLong()
		(&ModelLimits{}).Learn("m", s, Parameters{"temperature": 1, "max_tokens": 9})
	})
}

func TestARejectedSystemRoleIsRecognised(t *testing.T) {
	t.Parallel()
	sent := Parameters{SystemRole: 1, "temperature": 0.3, "stream_options": 1}
	for status, words := range map[int][]string{
		400: {
			"System role not supported", "system messages are not supported by this model", "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
			"Conversation roles must alternate user/assistant/user/assistant/...", "Only user and assistant roles are supported!", "Only user, assistant and tool roles are supported, with the exception of an initial optional system message!",
			"Developer instruction is not enabled for models/gemma-3-27b-it", "invalid role: system", "Invalid message role 'system'", "'system' is not one of ['user', 'assistant'] - 'messages.0.role'",
			"messages[0].role: Input should be 'user' or 'assistant'",
		},
		422: {"unknown role \"system\""},
		500: {"Value is not callable: System role not supported at row 3", "Conversation roles must alternate user/model/user/model/..."},
	} {
		for _, text := range words {
			var q ModelLimits
			if !q.Learn("m", &Status{HTTP: status, Message: text}, sent) || !q.Of("m").Refuses(SystemRole) || q.Of("m").Refuses("temperature") {
				t.Errorf("%d %s: not read as a refusal of the system role", status, text)
			}
			if q.Learn("m", &Status{HTTP: status, Message: text}, Parameters{"temperature": 0.3}) {
				t.Errorf("%d %s: learned anew though no such message was sent", status, text)
			}
		}
	}
	for status, words := range map[int][]string{
		400: {"The system is busy", "Unknown field system_fingerprint", "temperature is not supported", "messages must not be empty", "The model is not available on this system"},
		500: {"boom", "system error"},
		404: {"System role not supported"},
	} {
		for _, text := range words {
			var q ModelLimits
			q.Learn("m", &Status{HTTP: status, Message: text}, sent)
			if q.Of("m").Refuses(SystemRole) {
				t.Errorf("%d %s: read as a refusal of the system role", status, text)
			}
		}
	}
}

func TestRejectionsTeachTheLimitsOfAModel(t *testing.T) {
	t.Parallel()
	sent := Parameters{"temperature": 0.3, "top_p": 0.1, "max_tokens": 9000, "stream_options": 1}
	for name, test := range map[string]struct {
		status  Status
		refused string
		most    float64
	}{
		"the parameter that it names in its field": {status: Status{HTTP: 400, Param: "temperature", Message: "Unsupported value: use top_p"}, refused: "temperature"},
		"the first that it names in its words":     {status: Status{HTTP: 400, Message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}, refused: "max_tokens"},
		"also with the status for what is invalid": {status: Status{HTTP: 422, Message: "extra fields not permitted: stream_options"}, refused: "stream_options"},
		"the most that it writes":                  {status: Status{HTTP: 400, Message: "max_tokens is too large: 9000. This model supports at most 4096 completion tokens"}, most: 4096},
		"nothing from a name within another":       {status: Status{HTTP: 400, Message: "top_p_min and my_temperature are unknown"}},
		"nothing from what was not sent":           {status: Status{HTTP: 400, Param: "messages", Message: "messages must not be empty"}},
		"nothing from a most that is more":         {status: Status{HTTP: 400, Message: "max_tokens must be at most 10000"}},
		"nothing from a window that is too small":  {status: Status{HTTP: 400, Message: "max_tokens and prompt exceed the maximum context length"}},
		"nothing from a failure":                   {status: Status{HTTP: 500, Message: "temperature"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var q ModelLimits
			learned := q.Learn("m", &test.status, sent)
			if want := test.refused != "" || test.most > 0; learned != want {
				t.Fatalf("learned: %v", learned)
			}
			known := q.Of("m")
			for name := range sent {
				if known.Refuses(name) != (name == test.refused) {
					t.Errorf("%s is refused: %v", name, known.Refuses(name))
				}
			}
			if want := max(test.most, 0); want > 0 && known.MaxTokens(9000) != want || known.MaxTokens(100) != 100 {
				t.Errorf("at most %v", known.MaxTokens(9000))
			}
			if q.Of("other").Refuses(test.refused) {
				t.Error("another model is taken for the same")
			}
		})
	}
}
