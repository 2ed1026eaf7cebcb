package jobs

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
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

// BenchmarkWork is what a job costs beside its work: fetch, count, acknowledge, forget.
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
	broker := openBroker(b, connect(b, startServer(b, natsd.Options{})), Options{})
	for range b.N {
		emit(b, broker, event(newJob(domain.JobIngest), domain.EventProgress))
	}
	left, done := b.N, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	b.ResetTimer()
	go func() {
		ended <- broker.Consume(ctx, func(context.Context, domain.Event) error {
			if left--; left == 0 {
				close(done)
			}
			return nil
		})
	}()
	<-done
	b.StopTimer()
	cancel()
	<-ended
}
