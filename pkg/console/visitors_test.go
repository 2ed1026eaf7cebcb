package console_test

import (
	"net/http"
	"testing"
)

// TestAVisitorsConversationIsOnlyRead opens a website visitor's conversation and one from the console.
func TestAVisitorsConversationIsOnlyRead(t *testing.T) {
	t.Parallel()
	s := start(t)
	agent := kettleAgent(s)
	s.call(http.MethodPost, "/agents/"+agent+"/query", map[string]any{"query": "How much does the kettle hold?", "visitorId": "ada"}, nil)
	c := open(s)
	c.signIn()
	c.at("#/agents/" + agent)
	c.typeText(".ask textarea", "When was the kettle bought?\r")
	c.waitVisible(".cited a")

	c.at("#/conversations")
	for _, part := range []string{"Support · visitor ada · started ", "Support · from the console · started "} {
		c.until(`[...document.querySelectorAll('.cards li')].some((row) => row.innerText.includes(` + quote(part) + `))`)
	}
	c.click(".cards a[href*='visitorId=ada']")
	c.waitVisible(`.tabs a[href$="/conversations"][aria-current=page]`)
	c.until(`document.querySelector('.note')?.textContent.startsWith('The conversation of visitor ada, from ') && document.querySelectorAll('.turn').length === 2`)
	if n := value[int](c, `document.querySelectorAll('.ask').length`); n != 0 {
		t.Error("a question can be added to a visitor's conversation")
	}

	c.at("#/conversations")
	c.click(".cards a[href*='visitorId=console-']")
	c.typeText(".ask textarea", "How much does the kettle hold?\r")
	c.until(`document.querySelectorAll('.turn.assistant .cite').length === 2`)
	var list struct{ Data []struct{ ID string } }
	s.call(http.MethodGet, "/conversations?agentId="+agent, nil, &list)
	if len(list.Data) != 2 {
		t.Errorf("the conversations are %+v", list.Data)
	}
}
