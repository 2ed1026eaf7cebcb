package catalogtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/catalogtest/world"
	"github.com/sluice/sluice/pkg/domain"
)

func testResponses(t *testing.T, open world.Open) {
	response := func(w *world.World) domain.StoredResponse {
		return domain.StoredResponse{
			ID: "resp_" + domain.NewID(), WorkspaceID: w.WS, KeyID: "key", Status: domain.ResponseCompleted,
			HeldUntil: time.UnixMicro(0).UTC(), Input: `[{"id":"msg_1"}]`, Body: `{"id":"r"}`, Trace: `{}`, CreatedAt: w.Clock.Now(),
		}
	}
	queued := func(w *world.World) domain.StoredResponse {
		r := response(w)
		r.Status, r.Background, r.Holder, r.HeldUntil = domain.ResponseQueued, true, "here", w.Clock.Now().Add(time.Minute)
		return r
	}
	item := func(n int) domain.ConversationItem {
		return domain.ConversationItem{ID: fmt.Sprintf("msg_%d", n), Item: fmt.Sprintf(`{"n":%d}`, n)}
	}
	world.Run(t, open, "a response is found in its workspace alone, until it is deleted", func(t *testing.T, w *world.World) {
		r := response(w)
		world.OK(t, w.CreateResponse(w.Ctx, r, ""))
		world.Equal(t, r, world.Must(w.Response(w.Ctx, w.WS, r.ID))(t))
		world.Refused(w.Response(w.Ctx, domain.NewID(), r.ID))(t, domain.CodeNotFound)
		world.Equal(t, domain.CodeConflict, domain.CodeOf(w.CreateResponse(w.Ctx, r, "")))
		world.Equal(t, domain.CodeNotFound, domain.CodeOf(w.DeleteResponse(w.Ctx, domain.NewID(), r.ID)))
		world.OK(t, w.DeleteResponse(w.Ctx, w.WS, r.ID))
		world.Refused(w.Response(w.Ctx, w.WS, r.ID))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "the holder of a response finishes it once", func(t *testing.T, w *world.World) {
		r := queued(w)
		world.OK(t, w.CreateResponse(w.Ctx, r, ""))
		until := w.Clock.Now().Add(time.Hour)
		world.Equal(t, false, world.Must(w.HoldResponse(w.Ctx, r.ID, "elsewhere", domain.ResponseInProgress, until))(t))
		world.Equal(t, true, world.Must(w.HoldResponse(w.Ctx, r.ID, "here", domain.ResponseInProgress, until))(t))
		world.Equal(t, domain.ResponseInProgress, world.Must(w.Response(w.Ctx, w.WS, r.ID))(t).Status)
		r.Status, r.Body = domain.ResponseCompleted, `{"done":true}`
		world.Equal(t, true, world.Must(w.FinishResponse(w.Ctx, r, ""))(t))
		world.Equal(t, r.Body, world.Must(w.Response(w.Ctx, w.WS, r.ID))(t).Body)
		world.Equal(t, false, world.Must(w.FinishResponse(w.Ctx, r, ""))(t))
		world.Equal(t, domain.ResponseCompleted, world.Must(w.CancelResponse(w.Ctx, w.WS, r.ID))(t).Status)
	})
	world.Run(t, open, "a cancelled response is neither held nor finished", func(t *testing.T, w *world.World) {
		r := queued(w)
		world.OK(t, w.CreateResponse(w.Ctx, r, ""))
		world.Equal(t, domain.ResponseCancelled, world.Must(w.CancelResponse(w.Ctx, w.WS, r.ID))(t).Status)
		world.Equal(t, false, world.Must(w.HoldResponse(w.Ctx, r.ID, "here", domain.ResponseInProgress, w.Clock.Now()))(t))
		r.Status = domain.ResponseCompleted
		world.Equal(t, false, world.Must(w.FinishResponse(w.Ctx, r, ""))(t))
		world.Refused(w.CancelResponse(w.Ctx, w.WS, "resp_x"))(t, domain.CodeNotFound)
	})
	world.Run(t, open, "a response whose holder has died fails", func(t *testing.T, w *world.World) {
		r := queued(w)
		world.OK(t, w.CreateResponse(w.Ctx, r, ""))
		world.OK(t, w.FailAbandoned(w.Ctx))
		world.Equal(t, domain.ResponseQueued, world.Must(w.Response(w.Ctx, w.WS, r.ID))(t).Status)
		w.Clock.Advance(2 * time.Minute)
		world.OK(t, w.FailAbandoned(w.Ctx))
		world.Equal(t, domain.ResponseFailed, world.Must(w.Response(w.Ctx, w.WS, r.ID))(t).Status)
	})
	world.Run(t, open, "old responses are forgotten, a batch at a time", func(t *testing.T, w *world.World) {
		for range 101 {
			world.OK(t, w.CreateResponse(w.Ctx, response(w), ""))
		}
		w.Clock.Advance(time.Hour)
		young := response(w)
		world.OK(t, w.CreateResponse(w.Ctx, young, ""))
		before := w.Clock.Now().Add(-time.Minute)
		world.Equal(t, true, world.Must(w.ForgetResponses(w.Ctx, before))(t))
		world.Equal(t, false, world.Must(w.ForgetResponses(w.Ctx, before))(t))
		world.Equal(t, false, world.Must(w.ForgetResponses(w.Ctx, before))(t))
		world.Must(w.Response(w.Ctx, w.WS, young.ID))(t)
	})
	world.Run(t, open, "a response adds its items to its conversation, or is not stored", func(t *testing.T, w *world.World) {
		c := world.Must(w.CreateItemConversation(w.Ctx, domain.ItemConversation{ID: domain.NewID(), WorkspaceID: w.WS}, item(1)))(t)
		world.OK(t, w.CreateResponse(w.Ctx, response(w), c.ID, item(2)))
		r := queued(w)
		world.OK(t, w.CreateResponse(w.Ctx, r, ""))
		r.Status = domain.ResponseCompleted
		world.Equal(t, true, world.Must(w.FinishResponse(w.Ctx, r, c.ID, item(3)))(t))
		world.Equal(t, []domain.ConversationItem{item(1), item(2), item(3)}, world.Must(w.Items(w.Ctx, c.ID, "", false, 10))(t))
		world.OK(t, w.DeleteItemConversation(w.Ctx, w.WS, c.ID))
		r = response(w)
		world.Equal(t, domain.CodeNotFound, domain.CodeOf(w.CreateResponse(w.Ctx, r, c.ID, item(4))))
		world.Refused(w.Response(w.Ctx, w.WS, r.ID))(t, domain.CodeNotFound)
	})
}

func testItemConversations(t *testing.T, open world.Open) {
	item := func(n int) domain.ConversationItem {
		return domain.ConversationItem{ID: fmt.Sprintf("msg_%d", n), Item: fmt.Sprintf(`{"n":%d}`, n)}
	}
	create := func(t *testing.T, w *world.World, items ...domain.ConversationItem) domain.ItemConversation {
		return world.Must(w.CreateItemConversation(w.Ctx, domain.ItemConversation{ID: domain.NewID(), WorkspaceID: w.WS, KeyID: "key", Metadata: map[string]string{"a": "b"}}, items...))(t)
	}
	world.Run(t, open, "a conversation is found and changed in its workspace alone", func(t *testing.T, w *world.World) {
		c := create(t, w)
		world.Equal(t, c, world.Must(w.ItemConversation(w.Ctx, w.WS, c.ID))(t))
		world.Refused(w.ItemConversation(w.Ctx, domain.NewID(), c.ID))(t, domain.CodeNotFound)
		world.Refused(w.UpdateItemConversation(w.Ctx, domain.NewID(), c.ID, nil))(t, domain.CodeNotFound)
		world.Must(w.UpdateItemConversation(w.Ctx, w.WS, c.ID, map[string]string{"c": "d"}))(t)
		world.Equal(t, "d", world.Must(w.ItemConversation(w.Ctx, w.WS, c.ID))(t).Metadata["c"])
		world.Refused(w.CreateItemConversation(w.Ctx, c))(t, domain.CodeConflict)
		world.Equal(t, domain.CodeNotFound, domain.CodeOf(w.DeleteItemConversation(w.Ctx, domain.NewID(), c.ID)))
	})
	world.Run(t, open, "items are listed in both orders, from any item on", func(t *testing.T, w *world.World) {
		c := create(t, w, item(1), item(2))
		world.OK(t, w.AppendItems(w.Ctx, w.WS, c.ID, item(3), item(4)))
		world.Equal(t, []domain.ConversationItem{item(1), item(2), item(3)}, world.Must(w.Items(w.Ctx, c.ID, "", false, 3))(t))
		world.Equal(t, []domain.ConversationItem{item(4)}, world.Must(w.Items(w.Ctx, c.ID, "msg_3", false, 3))(t))
		world.Equal(t, []domain.ConversationItem{item(2), item(1)}, world.Must(w.Items(w.Ctx, c.ID, "msg_3", true, 3))(t))
		world.Refused(w.Items(w.Ctx, c.ID, "msg_9", true, 3))(t, domain.CodeNotFound)
		world.Equal(t, item(2), world.Must(w.Item(w.Ctx, c.ID, "msg_2"))(t))
		world.OK(t, w.DeleteItem(w.Ctx, c.ID, "msg_2"))
		world.Refused(w.Item(w.Ctx, c.ID, "msg_2"))(t, domain.CodeNotFound)
		world.Equal(t, domain.CodeNotFound, domain.CodeOf(w.DeleteItem(w.Ctx, c.ID, "msg_2")))
	})
	world.Run(t, open, "items are added all or none", func(t *testing.T, w *world.World) {
		c := create(t, w, item(1))
		world.Equal(t, domain.CodeConflict, domain.CodeOf(w.AppendItems(w.Ctx, w.WS, c.ID, item(2), item(1))))
		world.Equal(t, domain.CodeNotFound, domain.CodeOf(w.AppendItems(w.Ctx, domain.NewID(), c.ID, item(2))))
		world.Equal(t, 1, len(world.Must(w.Items(w.Ctx, c.ID, "", false, 10))(t)))
	})
	world.Run(t, open, "conversations are forgotten after their last change", func(t *testing.T, w *world.World) {
		old, used := create(t, w, item(1)), create(t, w, item(1))
		w.Clock.Advance(time.Hour)
		world.OK(t, w.AppendItems(w.Ctx, w.WS, used.ID, item(2)))
		world.Equal(t, false, world.Must(w.ForgetItemConversations(w.Ctx, w.Clock.Now().Add(-time.Minute)))(t))
		world.Refused(w.ItemConversation(w.Ctx, w.WS, old.ID))(t, domain.CodeNotFound)
		world.Must(w.ItemConversation(w.Ctx, w.WS, used.ID))(t)
	})
	t.Run("a conversation has a maximum number of items", func(t *testing.T) {
		t.Parallel()
		w := world.New(t, open)
		c := create(t, w)
		items := make([]domain.ConversationItem, catalog.MaxConversationItems)
		for i := range items {
			items[i] = item(i)
		}
		world.OK(t, w.AppendItems(w.Ctx, w.WS, c.ID, items[1:]...))
		world.Equal(t, domain.CodeInvalid, domain.CodeOf(w.AppendItems(w.Ctx, w.WS, c.ID, item(-1), item(-2))))
		world.OK(t, w.AppendItems(w.Ctx, w.WS, c.ID, items[0]))
	})
}
