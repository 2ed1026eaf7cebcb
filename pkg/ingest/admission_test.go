package ingest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice/sluice/pkg/domain"
)

// admissionTest simulates one workspace's documents waiting for admission.
type admissionTest struct {
	t         *testing.T
	admission *Admission
	ctx       context.Context
	workspace string
	reading   chan struct{} // one element per document read
	inside    chan func()   // leave functions of admitted documents
	failed    chan error
}

func newAdmissionTest(t *testing.T, admission *Admission, ctx context.Context) *admissionTest {
	return &admissionTest{t: t, admission: admission, ctx: ctx, reading: make(chan struct{}, 100), inside: make(chan func(), 100), failed: make(chan error, 100)}
}

// comes starts reading n documents with `text` bytes of text each.
func (c *admissionTest) comes(n, text int) {
	for range n {
		go func() {
			_, leave, err := c.admission.read(c.ctx, c.workspace, func() (*domain.Document, error) {
				c.reading <- struct{}{}
				return &domain.Document{Blocks: []domain.Block{{Text: strings.Repeat("a", text)}}}, nil
			})
			if err != nil {
				c.failed <- err
				return
			}
			c.inside <- leave
		}()
	}
}

func (c *admissionTest) want(inside, read int) {
	c.t.Helper()
	synctest.Wait()
	if len(c.inside) != inside || len(c.reading) != read {
		c.t.Errorf("%d documents are inside and %d were read, want %d and %d", len(c.inside), len(c.reading), inside, read)
	}
}

func (c *admissionTest) empty() {
	for {
		synctest.Wait()
		select {
		case leave := <-c.inside:
			leave()
		default:
			return
		}
	}
}

func TestMoreShortThanLongDocumentsAreAdmitted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ text, inside, read int }{
		"short":  {shortText, 12, 15}, // three more have been read and are waiting in reading slots
		"middle": {middleText, 6, 9},
		"long":   {longText, 3, 6},
		"huge":   {longText + 1, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newAdmissionTest(t, NewAdmission(1, 3), t.Context())
				c.comes(20, want.text)
				c.want(want.inside, want.read)
				c.empty()
				c.want(0, 20)
			})
		})
	}
}

func TestAWaitingDocumentOccupiesItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newAdmissionTest(t, NewAdmission(8, 1), t.Context())
		c.comes(1, longText)
		c.want(1, 1)
		c.comes(1, longText)
		c.want(1, 2)
		c.comes(1, 1)
		c.want(1, 2) // the third document is not read
		c.empty()
		c.want(0, 3)
	})
}

func TestAFailedOrCancelledDocumentFreesItsWeight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		admission := NewAdmission(1, 1)
		damaged := errors.New("damaged")
		if _, _, err := admission.read(t.Context(), "", func() (*domain.Document, error) { return nil, damaged }); !errors.Is(err, damaged) {
			t.Errorf("the error is %v", err)
		}
		first := newAdmissionTest(t, admission, t.Context())
		first.comes(1, longText)
		first.want(1, 1)
		ctx, cancel := context.WithCancel(t.Context())
		gone := newAdmissionTest(t, admission, ctx)
		gone.comes(3, longText) // one is waiting for admission, the others are waiting to be read
		gone.want(0, 1)
		cancel()
		synctest.Wait()
		if len(gone.failed) != 3 {
			t.Errorf("%d of 3 have gone", len(gone.failed))
		}
		first.empty()
		last := newAdmissionTest(t, admission, t.Context())
		last.comes(1, longText)
		last.want(1, 1)
		last.empty()
	})
}

// TestAWorkspaceLeavesRoomForOthers adds as many documents as possible for one workspace and then a few for another
// workspace.
func TestAWorkspaceLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		admission := NewAdmission(1, 2)
		many := newAdmissionTest(t, admission, t.Context())
		many.comes(20, longText+1)
		many.want(1, 3) // two more have been read and are waiting
		few := newAdmissionTest(t, admission, t.Context())
		few.workspace = "few"
		few.comes(2, shortText)
		few.want(1, 2) // documents of the second workspace are admitted one at a time
		few.empty()
		many.empty()
		many.want(0, 20)
	})
}
