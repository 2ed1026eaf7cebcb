package crawltest

import (
	"fmt"
	"net/http"
	"strings"
)

// addFailures adds pages that are slow or that fail sometimes or always.
func (s *Site) addFailures(lab *page) {
	hub := s.page(lab, "/lab/failures/")
	later := func(x *exchange) {
		x.w.Header().Set("Retry-After", "1")
		http.Error(x.w, "busy", http.StatusServiceUnavailable)
	}
	aborted := func(x *exchange) { // closes the connection in the middle of a body without Content-Length
		x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = x.w.Write([]byte(x.body[:len(x.body)/2]))
		_ = http.NewResponseController(x.w).Flush()
		panic(http.ErrAbortHandler)
	}
	for i := range s.casesPerKind() {
		for name, answer := range inOrder(map[string]func(*exchange){
			"slow": slow, "500-once": first(1, status(http.StatusInternalServerError)), "503-once": first(1, later),
			"reset-once": first(1, cut), "torn-once": first(1, torn), "aborted-once": first(1, aborted),
			"502-twice": first(2, status(http.StatusBadGateway)),
		}) {
			s.page(hub, fmt.Sprintf("/f/%s-%d", name, i)).answer = answer
		}
		for name, code := range inOrder(map[string]int{"missing": http.StatusNotFound, "gone": http.StatusGone}) {
			s.register(hub, fmt.Sprintf("/f/%s-%d", name, i), Expectation{Outcome: Failed, Reason: NotFound}).answer = status(code)
		}
		for name, code := range inOrder(map[string]int{"login": http.StatusUnauthorized, "forbidden": http.StatusForbidden}) {
			s.register(hub, fmt.Sprintf("/f/%s-%d", name, i), Expectation{Outcome: Failed, Reason: Forbidden}).answer = status(code)
		}
		bomb := s.register(hub, fmt.Sprintf("/f/bomb-%d", i), Expectation{Outcome: Failed, Reason: TooLarge})
		bomb.answer = func(x *exchange) {
			x.w.Header().Set("Content-Encoding", "gzip")
			x.w.Header().Set("Content-Type", "text/html")
			_, _ = x.w.Write(x.site.bomb)
		}
		bomb2 := s.register(hub, fmt.Sprintf("/f/bomb-in-bomb-%d", i), Expectation{Outcome: Failed, Reason: TooLarge})
		bomb2.answer = func(x *exchange) {
			x.w.Header().Set("Content-Encoding", "gzip, gzip")
			x.w.Header().Set("Content-Type", "text/html")
			_, _ = x.w.Write(Gzip(x.site.bomb))
		}
		empty := s.register(hub, fmt.Sprintf("/f/empty-%d", i), Expectation{Outcome: Failed, Reason: Empty})
		empty.answer = func(x *exchange) { x.send("text/html", nil) }
		picture := s.register(hub, fmt.Sprintf("/f/picture-%d", i), Expectation{Outcome: Skipped, Reason: WrongType})
		picture.answer = func(x *exchange) { x.send("image/png", []byte("\x89PNG\r\n\x1a\n"+strings.Repeat("\x00", 60))) }
	}
	// Each of these pages uses up all of a crawler's attempts.
	s.register(hub, "/f/500", Expectation{Outcome: Failed, Reason: ServerError}).answer = status(http.StatusInternalServerError)
	s.register(hub, "/f/reset", Expectation{Outcome: Failed, Reason: Broken}).answer = cut
	s.register(hub, "/f/torn", Expectation{Outcome: Failed, Reason: Broken}).answer = torn
}
