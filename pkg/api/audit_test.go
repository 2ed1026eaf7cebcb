package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

// audited returns a service and a function that reads new audit log entries.
func audited(t *testing.T) (*scene, func() []object) {
	t.Helper()
	log := &logBuffer{}
	s := newScene(t, func(_ *api.Options, d *api.Deps) { d.Audit = slog.New(slog.NewJSONHandler(log, nil)) })
	read := 0
	return s, func() (lines []object) {
		t.Helper()
		text := log.String()[read:]
		read += len(text)
		for line := range bytes.Lines([]byte(text)) {
			var entry struct {
				Msg   string
				Audit object
			}
			must(t, json.Unmarshal(line, &entry))
			if entry.Msg != "audit" {
				t.Errorf("the line says %q", entry.Msg)
			}
			lines = append(lines, entry.Audit)
		}
		return lines
	}
}

func TestActionsOfKeysAreAudited(t *testing.T) {
	t.Parallel()
	s, audit := audited(t)
	audit()
	made := s.call("POST", "/keys", object{"name": "website"}, "X-Request-Id", "r-1").want(201).object()
	other := s.as(made.text("key"))
	for _, step := range []struct {
		do   func() *response
		want []object
	}{
		{func() *response { return other.call("GET", "/agents", nil) }, []object{{"action": "key.use", "key": made.id()}}},
		{func() *response { return other.call("GET", "/agents", nil) }, nil},
		{func() *response { return other.call("PUT", "/keys/"+s.key+"/limits", object{"queries": 5}) }, []object{{"action": "SetKeyLimits", "key": made.id(), "resource": s.key, "status": 200.0}}},
		{func() *response { return other.call("PUT", "/usage/limits", object{"queries": 5}) }, []object{{"action": "SetLimits", "status": 200.0}}},
		{func() *response { return other.call("DELETE", "/datasources/"+s.datasource, nil) }, []object{{"action": "DeleteDatasource", "key": made.id(), "resource": s.datasource, "status": 200.0}}},
		{func() *response { return other.call("DELETE", "/api/conversations/"+s.conversation, nil) }, []object{{"action": "DeleteConversation", "resource": s.conversation}}},
		{func() *response { return other.call("DELETE", "/agents/"+unusedID, nil) }, []object{{"action": "DeleteAgent", "resource": unusedID, "status": 404.0}}},
		{func() *response { return other.call("DELETE", "/agents/what ever", nil) }, []object{{"action": "DeleteAgent", "resource": "", "status": 404.0}}},
		{func() *response { return s.call("DELETE", "/keys/"+made.id(), nil) }, []object{{"action": "RevokeKey", "resource": made.id(), "status": 200.0}}},
		{func() *response { return other.call("GET", "/agents", nil) }, []object{{"action": "key.refused", "key": "", "count": 1.0}}},
	} {
		audit()
		a := step.do()
		if a.status == http.StatusBadRequest {
			t.Fatalf("%s", a.body)
		}
		got := audit()
		if len(got) != len(step.want) {
			t.Fatalf("the audit has %v, want %v", got, step.want)
		}
		for i, want := range step.want {
			for field, value := range want {
				if got[i][field] != value {
					t.Errorf("the audit has %v, want %s %v", got[i], field, value)
				}
			}
			if got[i]["request"] != a.header.Get("X-Request-Id") || got[i].text("address") == "" {
				t.Errorf("the audit does not say where from and in which request: %v", got[i])
			}
		}
	}
}

func TestACreatedKeyIsAuditedByItsID(t *testing.T) {
	t.Parallel()
	s, audit := audited(t)
	audit()
	made := s.call("POST", "/keys", object{"name": "website"}).want(201).object()
	lines := audit()
	if len(lines) != 1 || lines[0]["action"] != "CreateKey" || lines[0]["resource"] != made.id() || lines[0]["workspace"] != s.ws {
		t.Errorf("%v", lines)
	}
}

func TestRefusalsDoNotFillTheAudit(t *testing.T) {
	t.Parallel()
	s, audit := audited(t)
	audit()
	guess := func(n int) {
		for range n {
			s.as(domain.NewKey()).call("GET", "/agents", nil).problem(403)
		}
	}
	guess(50)
	s.clock.advance(2 * time.Minute)
	guess(1)
	lines := audit()
	if len(lines) != 2 || lines[0]["count"] != 1.0 || lines[1]["count"] != 50.0 {
		t.Errorf("%v", lines)
	}
}

func TestARefusedKeyIsAuditedByItsID(t *testing.T) {
	t.Parallel()
	s, audit := audited(t)
	made := s.call("POST", "/keys", object{"name": "dashboard", "scopes": []string{"read"}}).want(201).object()
	s.as(domain.NewKey()).call("GET", "/agents", nil).problem(403) // another rejected key from the same address
	audit()
	for range 3 {
		s.as(made.text("key")).call("DELETE", "/agents/"+s.agent, nil).problem(403)
	}
	lines := audit()
	if len(lines) != 1 || lines[0]["action"] != "key.refused" || lines[0]["key"] != made.id() || lines[0]["workspace"] != s.ws {
		t.Errorf("%v", lines)
	}
}

func TestTheAuditGoesToTheLogByDefault(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.call("DELETE", "/agents/"+s.agent, nil).want(200)
	if log := s.log.String(); !strings.Contains(log, "audit.action=DeleteAgent") || !strings.Contains(log, "audit.resource="+s.agent) {
		t.Errorf("the log lacks it: %s", log)
	}
}
