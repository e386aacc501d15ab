package drill

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// clocks are how far the clocks of a drill are off. They may step while it runs.
type clocks struct{ rows, hosts atomic.Int64 }

// ofRows is the database's clock.
func (c *clocks) ofRows() time.Time { return off(time.Now(), time.Duration(c.rows.Load())) }

// ofHosts is the clock of the functions that the drill names.
func (c *clocks) ofHosts() time.Time { return off(time.Now(), time.Duration(c.hosts.Load())) }

// off is what [time.Now] tells at that moment where the wall clock is off by whole seconds. How much
// time has passed a Go program measures by another clock, which no host's step moves: a time has the
// readings of both, and its methods move them together. So the wall's is changed by hand, where a
// time with both keeps its seconds.
func off(now time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&now)) += uint64(int64(d/time.Second)) << 30 //nolint:gosec // a negative one wraps, as it should
	return now
}

// set makes clocks that are off from the beginning.
func (d Drill) clocks() *clocks {
	if d.rowsOff == 0 && d.hostsOff == 0 && !d.stepping {
		return nil
	}
	c := &clocks{}
	c.rows.Store(int64(d.rowsOff))
	c.hosts.Store(int64(d.hostsOff))
	return c
}
