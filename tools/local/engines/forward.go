package engines

import (
	"context"
	"io"
	"net"
)

// forward forwards the listener's connections to the address until the listener is closed. If it can't connect, it
// closes the client's connection, as if the server were down.
func forward(l net.Listener, to string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
			defer cancel()
			onward, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				return
			}
			defer onward.Close()
			done := make(chan struct{}, 2)
			pipe := func(dst, src net.Conn) {
				_, _ = io.Copy(dst, src)
				if half, ok := dst.(*net.TCPConn); ok {
					_ = half.CloseWrite()
				}
				done <- struct{}{}
			}
			go pipe(onward, conn)
			go pipe(conn, onward)
			<-done
			<-done
		}()
	}
}
