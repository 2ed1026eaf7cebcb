package natsd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func connect(t *testing.T, s *Server) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

// If the stream has an index and a message's sequence is damaged, the server allocates memory for all sequences up to
// the damaged one.
func TestADamagedSequenceIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	nc, js := connect(t, s)
	if _, err := js.CreateStream(testContext(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	const payload = "twelve bytes"
	for range 5 {
		if _, err := js.Publish(testContext(t), "s", []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	shutdown(t, s)
	path := filepath.Join(dir, "jetstream", "$G", "streams", "S", "msgs", "1.blk")
	block, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const record = headerBytes + len("s") + len(payload) + 8 // the last 8 bytes are the checksum
	if len(block) != 5*record {
		t.Fatalf("the block has %d bytes, want %d", len(block), 5*record)
	}
	block[3*record+4+6] ^= 1 // the sequence of the fourth message
	if err := os.WriteFile(path, block, 0o600); err != nil {
		t.Fatal(err)
	}

	s = start(t, Options{Dir: dir})
	nc, js = connect(t, s)
	defer nc.Close()
	stream, err := js.Stream(testContext(t), "S")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 3 {
		t.Errorf("the stream has %d messages, want the three before the damage", n)
	}
	ack, err := js.Publish(testContext(t), "s", []byte(payload))
	if err != nil || ack.Sequence < 4 {
		t.Errorf("a new message is stored as %+v: %v", ack, err)
	}
}

// NATS neither recovers a consumer with unreadable state nor allows creating it again, so its files must go first.
func TestADamagedConsumerCanBeCreatedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy}
	s := start(t, Options{Dir: dir})
	nc, js := connect(t, s)
	if _, err := js.CreateStream(testContext(t), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker", "other"} {
		config.Durable = name
		made, err := js.CreateConsumer(testContext(t), "S", config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(testContext(t), "s", []byte("x")); err != nil {
			t.Fatal(err)
		}
		m, err := made.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DoubleAck(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	shutdown(t, s)
	state := filepath.Join(dir, "jetstream", "$G", "streams", "S", "obs", "worker", "o.dat")
	if info, err := os.Stat(state); err != nil || info.Size() == 0 {
		t.Fatalf("the consumer's state is not where it was looked for: %v", err)
	}
	if err := os.WriteFile(state, []byte{255}, 0o600); err != nil {
		t.Fatal(err)
	}

	s = start(t, Options{Dir: dir})
	nc, js = connect(t, s)
	defer nc.Close()
	config.Durable = "worker"
	if _, err := js.CreateConsumer(testContext(t), "S", config); err != nil {
		t.Errorf("the consumer cannot be made again: %v", err)
	}
	other, err := js.Consumer(testContext(t), "S", "other")
	if err != nil {
		t.Fatalf("the consumer beside it is gone: %v", err)
	}
	if at := other.CachedInfo().AckFloor.Stream; at == 0 {
		t.Error("the consumer beside it has forgotten where it was")
	}
	stream, err := js.Stream(testContext(t), "S")
	if err != nil || stream.CachedInfo().State.Msgs != 2 {
		t.Errorf("the stream has lost messages: %v", err)
	}
}
