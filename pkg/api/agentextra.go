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

// agentExtra returns, unchanged, the fields of a request's agent that the API document does not define. Fields of an agent in a
// response are dropped, because clients send back the agents that they have read.
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
	if json.Unmarshal(bytes.TrimPrefix(body.raw, []byte("\ufeff")), &all) != nil { // not reached: the body has been validated
		return nil
	}
	for name := range all {
		if s.spec.agentFields[name] {
			delete(all, name)
		}
	}
	return all
}

// agentResponse is a response with an agent. The generated response types lose the method that writes the agent's additional fields.
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
