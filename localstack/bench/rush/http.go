package rush

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// patience bounds one answer.
const patience = time.Minute

// connection is a keep-alive connection. net/http's client would cost more than many
// an answer, on the cores of the server that is measured.
type connection struct {
	conn net.Conn
	in   *bufio.Reader
	head []byte
	out  []byte
}

// HTTP opens doors to a server: POST path, with the shopper's token.
func HTTP(address, path string) func() (Door, error) {
	head := []byte("POST " + path + " HTTP/1.1\r\nHost: " + address + "\r\nContent-Length: 0\r\nAuthorization: Bearer ")
	return func() (Door, error) {
		conn, err := net.Dial("tcp", address) //nolint:noctx // loopback
		if err != nil {
			return nil, err
		}
		return &connection{conn: conn, in: bufio.NewReader(conn), head: head}, nil
	}
}

// Close ends the connection.
func (c *connection) Close() { _ = c.conn.Close() }

// Press sends a request and reads its answer.
func (c *connection) Press(_ context.Context, token string) (int, error) {
	c.out = append(append(append(c.out[:0], c.head...), token...), "\r\n\r\n"...)
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, err
	}
	return c.answer()
}

// answer reads a status and passes over the rest, whose length must be given.
func (c *connection) answer() (int, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("no answer: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("an answer without its length")
	}
	_, err = c.in.Discard(length)
	return status, err
}
