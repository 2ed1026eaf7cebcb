package engines

import (
	"context"
	"io"
	"net"
)

// forward forwards every connection from the listener to the address until the listener is closed. If it cannot connect
// to the address, it closes the client's connection, so that the server appears to be down.
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
