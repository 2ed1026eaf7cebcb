package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// covered is a JavaScript expression that returns how many pixels of the chat's last message are hidden behind the
// input box. A result of 0 or less means that the whole message is visible.
const covered = `Math.ceil([...document.querySelectorAll('.turn')].at(-1).getBoundingClientRect().bottom - document.querySelector('.ask').getBoundingClientRect().top)`

// TestTheChatScrollsWithItsAnswers asks several questions in a wide and in a narrow window. The page must scroll until
// the end of each answer is visible.
func TestTheChatScrollsWithItsAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	agent := kettleAgent(s)
	for name, size := range map[string][2]int64{"desk": {1280, 700}, "phone": {360, 640}} {
		t.Run(name, func(t *testing.T) {
			c := open(&service{TB: t, base: s.base})
			c.do("sizing the window", chromedp.EmulateViewport(size[0], size[1]))
			c.signIn()
			c.at("#/agents/" + agent)
			for n := 1; n <= 4; n++ {
				c.typeText(".ask textarea", "How much does the kettle hold?\r")
				c.until(fmt.Sprintf(`document.querySelectorAll('.turn.assistant .cite').length === %d`, n))
				if hidden := value[int](c, covered); hidden > 0 {
					t.Errorf("answer %d: the input box hides %d pixels of it", n, hidden)
				}
			}
			if end := value[int](c, `Math.round(document.documentElement.scrollHeight - innerHeight - scrollY)`); end > 1 {
				t.Errorf("after the last answer the page is %d pixels away from its end", end)
			}
		})
	}
}

// TestTheChatKeepsThePositionOfAReaderWhoScrolledUp has a model write a long answer. The page follows the answer until
// the reader scrolls up.
func TestTheChatKeepsThePositionOfAReaderWhoScrolledUp(t *testing.T) {
	t.Parallel()
	paragraphs := make(chan string)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for text := range paragraphs {
			fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	s := start(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+model.URL, "SLUICE_CHAT_MODEL=m")
	agent := kettleAgent(s)
	c := open(s)
	c.do("sizing the window", chromedp.EmulateViewport(800, 600))
	c.signIn()
	c.at("#/agents/" + agent)
	c.typeText(".ask textarea", "How much does the kettle hold?\r")
	written := 0
	write := func(n int) {
		for range n {
			written++
			paragraphs <- fmt.Sprintf("Paragraph %d: the kettle holds three litres.\n\n", written)
		}
		c.until(fmt.Sprintf(`document.querySelectorAll('.turn.assistant .md p').length === %d`, written))
	}
	for range 6 {
		write(5)
		if hidden := value[int](c, covered); hidden > 0 {
			t.Fatalf("after %d paragraphs the input box hides %d pixels of the answer", written, hidden)
		}
	}
	c.do("scrolling up", chromedp.Evaluate[chromedp.Void](`scrollTo(0, 100)`))
	write(5)
	close(paragraphs)
	c.until(`document.querySelector('.turn.assistant:not([aria-busy])')`)
	if y := value[int](c, `Math.round(scrollY)`); y != 100 {
		t.Errorf("the page has moved a reader from 100 to %d", y)
	}
}

// TestAConversationShowsTheSameMarksAsTheAnswer has a model make a claim that no source supports and then reopens the
// conversation.
func TestAConversationShowsTheSameMarksAsTheAnswer(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"The kettle holds three litres [1]. The Emperor of Brazil gave it 90 handles [1]."}}]}`+"\n\n")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	s := start(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+model.URL, "SLUICE_CHAT_MODEL=m")
	agent := kettleAgent(s)
	c := open(s)
	c.signIn()
	c.at("#/agents/" + agent)
	c.typeText(".ask textarea", "How much does the kettle hold?\r")
	const marked = `document.querySelector('.turn.assistant mark.unsupported')`
	c.until(marked)
	if text := value[string](c, marked+`.textContent`); !strings.HasPrefix(text, "The Emperor of Brazil") {
		t.Errorf("%q is marked", text)
	}
	const shown = `document.querySelector('.turn.assistant').outerHTML`
	answered := value[string](c, shown)
	c.do("opening the conversation again", chromedp.Reload())
	c.until(marked)
	if again := value[string](c, shown); again != answered {
		t.Errorf("the conversation shows\n%s\nthe answer was\n%s", again, answered)
	}
}

func kettleAgent(s *service) string {
	s.Helper()
	var store, agent struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Handbook"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Kettle",
		"config": map[string]any{"text": "The kettle in the kitchen holds three litres. It was bought in May."}}, nil)
	s.settled(store.ID, 1, stepTimeout)
	s.call(http.MethodPost, "/agents", map[string]any{"name": "Support", "datastoreIds": []string{store.ID}}, &agent)
	return agent.ID
}
