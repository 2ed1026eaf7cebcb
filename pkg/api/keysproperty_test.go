package api_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// keyedRequest is one of several requests sharing an idempotency key. At most one of them may be executed.
type keyedRequest struct{ key, variant int }

func (r keyedRequest) name() string { return fmt.Sprintf("key %d, request %d", r.key, r.variant) }

// createdByKeys holds the lists in which the created resources appear.
var createdByKeys = []string{"/agents", "/datastores", "/datasources"}

func (r keyedRequest) list() string { return createdByKeys[r.key%len(createdByKeys)] }

func (r keyedRequest) send(s *service, store string) *response {
	body := object{"name": r.name()}
	if r.list() == "/datasources" {
		body = object{"name": r.name(), "datastoreId": store, "type": "text", "config": object{"text": "What is told under " + r.name() + "."}}
	}
	return s.call("POST", r.list(), body, "Idempotency-Key", fmt.Sprint("k", r.key))
}

// TestAKeyCreatesOneResourceInAnyOrderOfRequests sends concurrent requests that share a few idempotency keys. Some
// processes die before storing the response. Each key must create exactly one resource. Retries of its request must get
// the stored response, and other requests with the key must get a conflict.
func TestAKeyCreatesOneResourceInAnyOrderOfRequests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			const keys, variants, rounds = 9, 3, 40
			s, m := newKillableClaims(t)
			store := s.newDatastore()
			rng := rand.New(rand.NewPCG(seed, 10))
			answers, owners := map[int]string{}, map[int]int{}
			judge := func(r keyedRequest, a *response) {
				if a.status != 201 {
					return
				}
				if first, known := answers[r.key]; known && (owners[r.key] != r.variant || first != string(a.body)) {
					t.Errorf("%s is answered with %s; request %d with %s", r.name(), a.body, owners[r.key], first)
				}
				answers[r.key], owners[r.key] = string(a.body), r.variant
			}
			conflicts := func(r keyedRequest, a *response) {
				if a.status == 201 {
					return
				}
				a.problem(409)
				if owner, known := owners[r.key]; (!known || owner == r.variant) && a.header.Get("Retry-After") == "" {
					t.Errorf("%s is turned away for good, request %d has the key: %s", r.name(), owner, a.body)
				}
			}
			for range rounds {
				sent := make([]keyedRequest, 1+rng.IntN(6))
				got := make([]*response, len(sent))
				m.killed.Store(rng.IntN(3) == 0)
				var all sync.WaitGroup
				for i := range sent {
					sent[i] = keyedRequest{rng.IntN(keys), rng.IntN(variants)}
					if i > 0 && rng.IntN(2) == 0 {
						sent[i].key = sent[i-1].key
					}
					all.Go(func() { got[i] = sent[i].send(s, store) })
				}
				all.Wait()
				m.killed.Store(false)
				if t.Failed() {
					return
				}
				for i, r := range sent {
					judge(r, got[i])
				}
				for i, r := range sent {
					conflicts(r, got[i])
				}
				if rng.IntN(2) == 0 {
					s.clock.advance(catalog.IdempotencyLease + time.Second)
				}
			}
			s.clock.advance(catalog.IdempotencyLease + time.Second)
			want := map[string]int{}
			for key := range keys {
				for variant := range variants {
					r := keyedRequest{key, variant}
					a := r.send(s, store)
					judge(r, a)
					conflicts(r, a)
					if owner, known := owners[key]; known && owner == variant && a.status != 201 {
						t.Errorf("%s is not answered again: %s", r.name(), a.body)
					}
				}
				want[keyedRequest{key, owners[key]}.name()] = 1
			}
			made := map[string]int{}
			for _, list := range createdByKeys {
				for _, item := range s.call("GET", list, nil).want(200).object().list("data") {
					if name := object(item.(map[string]any)).text("name"); name != "Handbook" {
						made[name]++
					}
				}
			}
			for name, n := range made {
				if n != want[name] {
					t.Errorf("there are %d of %s, want %d", n, name, want[name])
				}
			}
			if len(made) != keys {
				t.Errorf("%d keys have made %d things", keys, len(made))
			}
		})
	}
}
