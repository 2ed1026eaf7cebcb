package responses

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
)

// parse returns a reader for the body.
func parse(t *testing.T, body string) jsonbody.Object {
	t.Helper()
	value, faults := jsonbody.Parse([]byte(body))
	fields, ok := value.(map[string]any)
	if len(faults) > 0 || !ok {
		t.Fatalf("%s: %v", body, faults)
	}
	return jsonbody.NewObject(fields, "")
}

func spoken(d dialogue) string {
	var out []string
	for _, m := range d.before {
		out = append(out, string(m.Role)+": "+m.Text)
	}
	out = append(out, "question: "+d.question)
	for _, turn := range d.after {
		said := turn.Text
		for _, c := range turn.Calls {
			said += fmt.Sprintf(" %s=%s(%s)", c.ID, c.Name, c.Arguments)
		}
		if turn.ResultOf != "" {
			said = turn.ResultOf + " gives " + said
		}
		out = append(out, strings.TrimSpace(said))
	}
	if d.instructions != "" {
		out = append(out, "instructions: "+d.instructions)
	}
	return strings.Join(out, "\n")
}

func TestItemsBecomeADialogue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ input, want string }{
		"a text": {`"How?"`, "question: How?"},
		"a message without a type, in parts": {
			`[{"role":"user","content":[{"type":"input_text","text":"How"},{"type":"input_text","text":"long?"}]}]`, "question: How\nlong?",
		},
		"earlier messages and instructions": {
			`[{"role":"system","content":"Be brief."},{"role":"user","content":"A?"},{"type":"message","role":"assistant","id":"m","status":"completed","content":[{"type":"output_text","text":"B.","annotations":[]}]},
			  {"role":"developer","content":"Be kind."},{"role":"user","content":"C?"}]`,
			"user: A?\nassistant: B.\nquestion: C?\ninstructions: Be brief.\n\nBe kind.",
		},
		"parallel function calls and their results": {
			`[{"role":"user","content":"W?"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call","call_id":"b","name":"g","arguments":"{\"x\":1}"},
			  {"type":"function_call_output","call_id":"b","output":"2"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"}]}]`,
			"question: W?\na=f({}) b=g({\"x\":1})\nb gives 2\na gives 1",
		},
		"text before a function call": {
			`[{"role":"user","content":"W?"},{"role":"assistant","content":"Let me see."},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"1"}]`,
			"question: W?\nLet me see. a=f({})\na gives 1",
		},
		"function calls of an earlier question": {
			`[{"role":"user","content":"W?"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"1"},{"role":"assistant","content":"One."},{"role":"user","content":"And?"}]`,
			"user: W?\nassistant: One.\nquestion: And?",
		},
		"the result of a call before the question": {
			`[{"role":"user","content":"W?"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"user","content":"And?"},{"type":"function_call_output","call_id":"a","output":"1"}]`,
			"user: W?\nquestion: And?\na=f({})\na gives 1",
		},
		"a search that is sent back": {
			`[{"role":"user","content":"W?"},{"type":"file_search_call","id":"fs_1","status":"completed","queries":["w"],"results":null},{"role":"assistant","content":"X."},{"role":"user","content":"Y?"}]`,
			"user: W?\nassistant: X.\nquestion: Y?",
		},
	} {
		o := parse(t, `{"input":`+test.input+`}`)
		items := readInput(o)
		if len(o.Faults()) > 0 {
			t.Errorf("%s: %v", name, o.Faults())
			continue
		}
		d, err := readDialogue(items)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(test.want, spoken(d)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		// Items must have the same meaning after being stored and read back.
		var again []item
		for _, i := range items {
			again = append(again, storedItem(encode(i.fields)))
		}
		if d, err := readDialogue(again); err != nil || spoken(d) != test.want {
			t.Errorf("%s, stored: %q %v", name, spoken(d), err)
		}
	}
}

func TestFaultyItemsAreNamed(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`5`:                     "input: is 5; it must be an array",
		`["a"]`:                 `input[0]: is "a"; it must be an object`,
		`[{"role":"critic"}]`:   `input[0].role: is "critic"`,
		`[{"role":"user"}]`:     "input[0].content: is required",
		`[{"type":"web_call"}]`: `input[0].type: is "web_call"`,
		`[{"role":"user","content":[{"type":"input_image","image_url":"x"}]}]`:                                `input[0].content[0].type: is "input_image"`,
		`[{"role":"user","content":[{"type":"input_file","file_id":"x"}]}]`:                                   "vector store",
		`[{"type":"function_call_output","output":"x"}]`:                                                      "input[0].call_id: is required",
		`[{"type":"item_reference"}]`:                                                                         "input[0].id: is required",
		`[{"role":"assistant","content":"A."}]`:                                                               "no user message",
		`[{"role":"user","content":"Q?"},{"role":"assistant","content":"A."}]`:                                "ends with an assistant message",
		`[{"role":"user","content":"Q?"},{"type":"function_call_output","call_id":"c","output":"x"}]`:         `input[1]: has the call_id "c"`,
		`[{"role":"user","content":"Q?"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`: `input[1]: calls the function "f"`,
		`[{"role":"user","content":"Q?"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"},{"type":"function_call_output","call_id":"c","output":"y"}]`: `input[3]: has the call_id "c"`,
	} {
		o := parse(t, `{"input":`+input+`}`)
		items := readInput(o)
		var said string
		for _, f := range o.Faults() {
			said += f.Field + ": " + f.Message
		}
		if said == "" {
			_, err := readDialogue(items)
			said = fmt.Sprint(err)
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s", input, said)
		}
	}
}

func TestToolsAreRead(t *testing.T) {
	t.Parallel()
	const both = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"function","name":"g"},{"type":"file_search","vector_store_ids":["vs_a"],"max_num_results":7,"ranking_options":{"score_threshold":0.4,"hybrid_search":{"embedding_weight":0,"text_weight":1}}}]`
	for choice, want := range map[string]string{
		`"auto"`:                         "f g search auto",
		`"none"`:                         "f g none",
		`{"type":"function","name":"g"}`: "f g search =g",
		`{"type":"file_search"}`:         "search",
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]}`: "f required",
	} {
		o := parse(t, `{`+both+`,"tool_choice":`+choice+`}`)
		got := readTools(o)
		var words []string
		for _, f := range got.functions {
			words = append(words, f.Name)
		}
		if s := got.search; s != nil {
			words = append(words, "search")
			if s.results != 7 || *s.minScore != 0.4 || s.mode != "lexical" || s.stores[0] != "vs_a" {
				t.Errorf("%+v", s)
			}
		}
		if got.choice.Mode != "" {
			words = append(words, got.choice.Mode)
		}
		if got.choice.Name != "" {
			words = append(words, "="+got.choice.Name)
		}
		if s := strings.Join(words, " "); s != want || len(o.Faults()) > 0 {
			t.Errorf("%s: %s, want %s; %v", choice, s, want, o.Faults())
		}
		if len(got.shown) != 3 || !strings.Contains(string(got.shown[1]), `"parameters":null`) {
			t.Errorf("%s", got.shown)
		}
	}
	for body, want := range map[string]string{
		`{"tools":[{"type":"web_search"}]}`:                                                  "tools[0].type",
		`{"tools":[{"type":"function","name":"a b"}]}`:                                       "tools[0].name",
		`{"tools":[{"type":"function","name":"a"},{"type":"function","name":"a"}]}`:          "tools[1].name",
		`{"tools":[{"type":"file_search"}]}`:                                                 "tools[0].vector_store_ids",
		`{"tools":[{"type":"file_search","vector_store_ids":["a"],"max_num_results":51}]}`:   "tools[0].max_num_results",
		`{"tools":[{"type":"file_search","vector_store_ids":["a"]},{"type":"file_search"}]}`: "tools[1]",
		`{"tool_choice":"sometimes"}`:                                                        "tool_choice",
		`{"tool_choice":{"type":"function","name":"missing"}}`:                               "tool_choice.name",
		`{"tools":[{"type":"file_search","vector_store_ids":["a"],"ranking_options":{"hybrid_search":{"embedding_weight":0,"text_weight":0}}}]}`: "tools[0].ranking_options.hybrid_search.embedding_weight",
	} {
		o := parse(t, body)
		readTools(o)
		if len(o.Faults()) != 1 || o.Faults()[0].Field != want {
			t.Errorf("%s: %v, want %s", body, o.Faults(), want)
		}
	}
}

func TestFiltersAreRead(t *testing.T) {
	t.Parallel()
	for filters, want := range map[string]string{
		`{"type":"gte","key":"a","value":1}`: `{"type":"gte","key":"a","value":1}`,
		`{"type":"or","filters":[{"type":"eq","key":"a","value":"x"},{"type":"nin","key":"b","value":["y","z"]}]}`: `{"type":"or","filters":[{"type":"eq","key":"a","value":"x"},{"type":"nin","key":"b","value":["y","z"]}]}`,
		`{"type":"like","key":"a","value":1}`: "tools[0].filters.type",
	} {
		o := parse(t, `{"tools":[{"type":"file_search","vector_store_ids":["a"],"filters":`+filters+`}]}`)
		got := readTools(o).search.where.String()
		if f := o.Faults(); len(f) > 0 {
			got = f[0].Field
		}
		if got != want {
			t.Errorf("%s: %s, want %s", filters, got, want)
		}
	}
}

func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 513)
	for body, want := range map[string]int{
		`{}`: 0, `{"metadata":null}`: 0, `{"metadata":{"a":"b"}}`: 0, `{"metadata":{"a":1}}`: 1, `{"metadata":[]}`: 1,
		`{"metadata":{"a":"` + long + `"}}`: 1, `{"metadata":{"` + long + `":"a"}}`: 1, `{"metadata":{"a":"` + long[2:] + `"}}`: 0,
	} {
		o := parse(t, body)
		readMetadata(o)
		if len(o.Faults()) != want {
			t.Errorf("%.60s: %v", body, o.Faults())
		}
	}
}

func TestAnItemLeadsToItsResponse(t *testing.T) {
	t.Parallel()
	const id = object.ResponsePrefix + "0198c0de-0000-7000-8000-000000000001"
	for _, item := range []string{object.OutputID(object.TypeMessage, id, 3), object.InputID(object.TypeFunctionOutput, id, 12)} {
		if object.ResponseOf(item) != id {
			t.Errorf("%s leads to %q", item, object.ResponseOf(item))
		}
	}
	for _, other := range []string{"", "msg_", "msg_0198c0de-0000-7000-8000-000000000001", "msg_x_1", "msg_0198c0de-0000-7000-8000-000000000001_x"} {
		if got := object.ResponseOf(other); got != "" {
			t.Errorf("%q leads to %q", other, got)
		}
	}
}

// FuzzItems reads arbitrary items. Those without faults must survive storing and reading back.
func FuzzItems(f *testing.F) {
	for _, seed := range []string{`[{"role":"user","content":"a"}]`, `[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]`, `"a"`, `[{"id":"x"}]`, `[{"type":"reasoning","id":null}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		value, faults := jsonbody.Parse([]byte(`{"input":` + input + `}`))
		fields, ok := value.(map[string]any)
		if !ok || len(faults) > 0 {
			return
		}
		o := jsonbody.NewObject(fields, "")
		items := readInput(o)
		if len(o.Faults()) > 0 {
			return
		}
		first, err := readDialogue(items)
		var again []item
		for _, i := range items {
			if i.kind == object.TypeReference {
				return
			}
			encoded, encErr := json.Marshal(i.fields)
			if encErr != nil {
				t.Fatal(encErr)
			}
			again = append(again, storedItem(encoded))
		}
		second, errAgain := readDialogue(again)
		if (err == nil) != (errAgain == nil) || err == nil && spoken(first) != spoken(second) {
			t.Errorf("%s: %q %v, stored %q %v", input, spoken(first), err, spoken(second), errAgain)
		}
	})
}
