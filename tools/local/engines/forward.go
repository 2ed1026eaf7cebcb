package engines

import (
	"context"
	"io"
	"net"
)

// forward forwards every connection of the listener to the address, until the listener is closed. If the address does
// not accept a connection, forward closes it, as a server that is down would.
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
