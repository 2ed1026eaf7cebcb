package rules

import (
	"encoding/json"
	"testing"
)

// FuzzFaults applies every operation's rules to arbitrary objects. The rules must accept values of any type, and faults
// must have a field and a message.
func FuzzFaults(f *testing.F) {
	for _, body := range []string{
		`{"type":"web_site","config":{"sitemap":7,"refresh":"1m","include":["/a",1],"headers":{"Cookie":null,"a b":"c"}}}`,
		`{"type":"qa","custom_id":"a","config":{"question":[],"answer":" ","custom_id":"b"},"metadata":{"custom_id":"c"}}`,
		`{"config":"x","metadata":{"a":[1,{"b":[]}]},"documents":[null,{"metadata":7,"custom_id":"a"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"image_url"},7]},[]],"tools":"x","logprobs":1,"user":"\u0007"}`,
		`{"scopes":["query",7,"read"],"agentId":[],"allowedOrigins":["ftp://a",{}],"promptTemplate":"{query}","filters":{"metadata":[]}}`,
		`{"type":"web_page","url":"https://a.example","config":{"source_url":"http://u:p@","max_pages":1}}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var body map[string]any
		if json.Unmarshal([]byte(text), &body) != nil {
			return
		}
		for id := range byOperation {
			for _, fault := range Faults(id, body) {
				if fault.Field == "" || fault.Message == "" {
					t.Errorf("%s: an empty fault: %+v", id, fault)
				}
			}
		}
	})
}

func TestAnOperationWithoutRulesHasNoFaults(t *testing.T) {
	t.Parallel()
	if faults := Faults("ListAgents", map[string]any{"type": "qa"}); faults != nil {
		t.Errorf("%v", faults)
	}
	if faults := Faults("CreateDatasource", map[string]any{"type": "qa"}); len(faults) != 2 {
		t.Errorf("a qa without question and answer has the faults %v", faults)
	}
}
