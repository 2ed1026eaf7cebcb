package jobs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

func BenchmarkPublish(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%t", !noSync), func(b *testing.B) {
			broker := openBroker(b, connect(b, startServer(b, natsd.Options{NoSync: noSync})), Options{})
			for b.Loop() {
				publish(b, broker, newJob(domain.JobIngest))
			}
		})
		b.Run(fmt.Sprintf("sync=%t/16 at a time", !noSync), func(b *testing.B) {
			broker := openBroker(b, connect(b, startServer(b, natsd.Options{NoSync: noSync})), Options{})
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					publish(b, broker, newJob(domain.JobIngest))
				}
			})
		})
	}
}

// BenchmarkWork measures the overhead per job: fetching it, counting the attempt, acknowledging it, and deleting its
// counts.
func BenchmarkWork(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%t", !noSync), func(b *testing.B) {
			broker := openBroker(b, connect(b, startServer(b, natsd.Options{NoSync: noSync})), Options{})
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan struct{})
			for range b.N {
				publish(b, broker, newJob(domain.JobIngest))
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.ResetTimer()
			ended := make(chan error, 1)
			go func() {
				ended <- broker.Work(ctx, domain.LaneIngest, WorkerOptions{Concurrency: 4, Observe: func(Outcome) {
					if left.Add(-1) == 0 {
						close(done)
					}
				}}, func(context.Context, domain.Job) error { return nil })
			}()
			<-done
			b.StopTimer()
			cancel()
			<-ended
		})
	}
}

func BenchmarkConsume(b *testing.B) {
	servers := map[string]func(*testing.B) *Broker{
		"embedded": func(b *testing.B) *Broker {
			return openBroker(b, connect(b, startServer(b, natsd.Options{})), Options{})
		},
		"cluster of three": func(b *testing.B) *Broker { return openReplicated(b, natstest.Start(b, 3)) },
	}
	for name, open := range servers {
		for _, limit := range []int{1, MaxBatch} {
			b.Run(fmt.Sprintf("%s/%d at a time", name, limit), func(b *testing.B) {
				broker := open(b)
				var filling sync.WaitGroup
				for i := range 16 {
					filling.Go(func() {
						for range (b.N + i) / 16 {
							emit(b, broker, event(newJob(domain.JobIngest), domain.EventProgress))
						}
					})
				}
				filling.Wait()
				left, done := b.N, make(chan struct{})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ended := make(chan error, 1)
				b.ResetTimer()
				go func() {
					ended <- broker.ConsumeBatches(ctx, limit, func(_ context.Context, evs []domain.Event) error {
						if left -= len(evs); left == 0 {
							close(done)
						}
						return nil
					})
				}()
				<-done
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				cancel()
				<-ended
			})
		}
	}
}
