package mcp

import "testing"

func TestToolCallsAreRecognised(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`: `7`,
		`{"jsonrpc":"2.0","id":"seven","method":"tools/call"}`:       `"seven"`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call"}`:          "",
		`{"jsonrpc":"2.0","method":"tools/call"}`:                    "",
		`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`:             "",
		`[{"jsonrpc":"2.0","id":7,"method":"tools/call"}]`:           "",
		`{"jsonrpc":"2.0","id":{"a":1},"method":"tools/call"}`:       "",
		`no JSON`: "",
	} {
		if call, isCall := ReadCall([]byte(message)); string(call.id) != want || isCall != (want != "") {
			t.Errorf("%s: %s, %t", message, call.id, isCall)
		}
	}
}
