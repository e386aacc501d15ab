package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The longest message that is taken; brokers refuse larger ones too.
const maxFrame = 100 << 20

// A conversation is one connection's requests for metadata whose answers are still to come.
type conversation struct {
	relay string

	mu   sync.Mutex
	asks map[int32]int16 // correlation id → version
}

// copiers are for requests and for answers.
func (c *conversation) copiers() (there, back func(io.Writer, io.Reader)) {
	c.asks = make(map[int32]int16)
	frames := func(look func([]byte) ([]byte, error)) func(io.Writer, io.Reader) {
		return func(to io.Writer, from io.Reader) {
			for {
				frame, err := readFrame(from)
				if err == nil {
					frame, err = look(frame)
				}
				if err == nil {
					_, err = to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)) //nolint:gosec // at most maxFrame and an address
				}
				if err != nil {
					return // both connections end with it
				}
			}
		}
	}
	return frames(c.request), frames(c.answer)
}

func readFrame(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 4 || size > maxFrame {
		return nil, fmt.Errorf("relay: a message of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(from, frame)
	return frame, err
}

// request begins with key, version and correlation id.
func (c *conversation) request(frame []byte) ([]byte, error) {
	if len(frame) < 8 {
		return nil, errors.New("relay: a short request")
	}
	if key := int16(binary.BigEndian.Uint16(frame)); key == kmsg.Metadata.Int16() { //nolint:gosec // the protocol's own type
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asks[int32(binary.BigEndian.Uint32(frame[4:]))] = int16(binary.BigEndian.Uint16(frame[2:])) //nolint:gosec // as above
	}
	return frame, nil
}

// answer begins with the correlation id, and in newer versions a byte for tags.
func (c *conversation) answer(frame []byte) ([]byte, error) {
	id := int32(binary.BigEndian.Uint32(frame)) //nolint:gosec // the protocol's own type
	c.mu.Lock()
	version, asked := c.asks[id]
	delete(c.asks, id)
	c.mu.Unlock()
	if !asked {
		return frame, nil
	}
	metadata := kmsg.NewPtrMetadataResponse()
	metadata.Version = version
	head := 4
	if metadata.IsFlexible() {
		head = 5
	}
	if err := metadata.ReadFrom(frame[min(head, len(frame)):]); err != nil {
		return nil, fmt.Errorf("relay: metadata: %w", err)
	}
	if len(metadata.Brokers) != 1 {
		return nil, fmt.Errorf("relay: a cluster of %d brokers, want 1", len(metadata.Brokers))
	}
	host, port, err := net.SplitHostPort(c.relay)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return nil, err
	}
	metadata.Brokers[0].Host, metadata.Brokers[0].Port = host, int32(number)
	return metadata.AppendTo(frame[:head:head]), nil
}
