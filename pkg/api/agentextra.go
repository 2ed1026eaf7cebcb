package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/domain"
)

// agentExtra returns the fields of a request's agent that the document does not know, as they were sent. Of names that an agent in an
// answer has, nothing is kept: clients send back what they have read.
func (s *server) agentExtra(ctx context.Context) domain.AgentExtra {
	c, _ := ctx.(*gin.Context)
	if c == nil {
		return nil
	}
	body, _ := c.Request.Body.(*checkedBody)
	if body == nil {
		return nil
	}
	var all domain.AgentExtra
	if json.Unmarshal(bytes.TrimPrefix(body.raw, []byte("\ufeff")), &all) != nil { // it has been found valid
		return nil
	}
	for name := range all {
		if s.spec.agentFields[name] {
			delete(all, name)
		}
	}
	return all
}

// agentResponse is an answer with an agent. The generated types of answers lose the method by which an agent is written with fields that
// the document does not know.
type agentResponse struct {
	status int
	agent  Agent
}

func (r agentResponse) write(w http.ResponseWriter) error {
	encoded, err := json.Marshal(r.agent)
	if err != nil {
		return fmt.Errorf("encoding an agent: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, err = w.Write(append(encoded, '\n'))
	return err
}

// VisitCreateAgentResponse implements CreateAgentResponseObject.
func (r agentResponse) VisitCreateAgentResponse(w http.ResponseWriter) error { return r.write(w) }

// VisitGetAgentResponse implements GetAgentResponseObject.
func (r agentResponse) VisitGetAgentResponse(w http.ResponseWriter) error { return r.write(w) }

// VisitUpdateAgentResponse implements UpdateAgentResponseObject.
func (r agentResponse) VisitUpdateAgentResponse(w http.ResponseWriter) error { return r.write(w) }

// VisitDeleteAgentResponse implements DeleteAgentResponseObject.
func (r agentResponse) VisitDeleteAgentResponse(w http.ResponseWriter) error { return r.write(w) }
