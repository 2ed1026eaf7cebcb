package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
)

// TestPagesAreConsistentUnderConcurrentChanges pages through agents with every limit while agents are created and
// deleted between pages. Agents that exist throughout must be listed exactly once.
func TestPagesAreConsistentUnderConcurrentChanges(t *testing.T) {
	t.Parallel()
	s := newService(t)
	random := rand.New(rand.NewPCG(1, 2))
	var there []string
	for range 40 {
		there = append(there, s.newAgent(object{}))
	}
	for round := range 12 {
		stays := map[string]int{}
		for _, id := range there {
			stays[id] = 0
		}
		limit := 1 + random.IntN(15)
		for cursor, pages := "", 0; ; pages++ {
			if pages > 200 {
				t.Fatalf("round %d: there is no end of the pages", round)
			}
			page := s.call("GET", fmt.Sprintf("/agents?limit=%d&cursor=%s", limit, url.QueryEscape(cursor)), nil).want(200).object()
			shown, _ := page["data"].([]any)
			if len(shown) > limit {
				t.Fatalf("round %d: %d agents on a page of %d", round, len(shown), limit)
			}
			for _, one := range shown {
				agent, _ := one.(map[string]any)
				id, _ := agent["id"].(string)
				if _, known := stays[id]; known {
					stays[id]++
				}
			}
			next, more := page["nextCursor"].(string)
			if !more {
				break
			}
			cursor = next
			switch random.IntN(4) {
			case 0:
				there = append(there, s.newAgent(object{}))
			case 1:
				at := random.IntN(len(there))
				gone := there[at]
				there = append(there[:at], there[at+1:]...)
				delete(stays, gone)
				s.call("DELETE", "/agents/"+gone, nil).want(200)
			}
		}
		for id, times := range stays {
			if times != 1 {
				t.Errorf("round %d, by %d: agent %s was shown %d times", round, limit, id, times)
			}
		}
	}
}

// TestMalformedCursorsAreRefused changes each byte of a cursor, truncates it and extends it. The service must survive,
// and its error for an invalid cursor must name the field.
func TestMalformedCursorsAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for range 3 {
		s.newAgent(object{})
	}
	good, _ := s.call("GET", "/agents?limit=1", nil).want(200).object()["nextCursor"].(string)
	if good == "" {
		t.Fatal("there is no cursor")
	}
	spoiled := []string{good + "A", good + good, good[1:], good[:len(good)-1]}
	for at := range len(good) {
		for _, c := range []byte("A_9~%") {
			changed := []byte(good)
			changed[at] = c
			spoiled = append(spoiled, string(changed))
		}
	}
	refused := 0
	for _, cursor := range spoiled {
		switch a := s.call("GET", "/agents?limit=1&cursor="+url.QueryEscape(cursor), nil); a.status {
		case http.StatusOK: // the changed cursor is valid
		case http.StatusBadRequest:
			refused++
			if a.fault("cursor") == "" {
				t.Errorf("%q: %s", cursor, a.body)
			}
		default:
			t.Errorf("%q is answered %d: %s", cursor, a.status, a.body)
		}
	}
	if refused < len(spoiled)/10 {
		t.Errorf("only %d of %d spoiled cursors are refused", refused, len(spoiled))
	}
	for _, cursor := range []string{"nonsense", "~~~~", "%00", "\u202e", "0"} {
		if s.call("GET", "/agents?cursor="+url.QueryEscape(cursor), nil).fault("cursor") == "" {
			t.Errorf("%q is taken for a cursor", cursor)
		}
	}
}

// TestACursorOfAnotherListIsRefused passes each list's cursor to all other lists.
func TestACursorOfAnotherListIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for range 2 {
		s.newAgent(object{})
		s.newText(s.newDatastore(object{}), "The trial lasts 30 days.")
	}
	cursors := map[string]string{}
	for _, list := range []string{"/agents", "/datasources", "/datastores"} {
		next, _ := s.call("GET", list+"?limit=1", nil).want(200).object()["nextCursor"].(string)
		if next == "" {
			t.Fatalf("%s has no cursor", list)
		}
		cursors[list] = next
	}
	for _, list := range []string{"/agents", "/datasources", "/datastores", "/conversations"} {
		for of, cursor := range cursors {
			a := s.call("GET", list+"?limit=1&cursor="+url.QueryEscape(cursor), nil)
			if list == of {
				a.want(200)
			} else if a.want(400); a.fault("cursor") == "" {
				t.Errorf("%s with the cursor of %s: %s", list, of, a.body)
			}
		}
	}
}
