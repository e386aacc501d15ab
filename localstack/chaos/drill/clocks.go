package drill

import (
	"sync/atomic"
	"time"
)

// clocks are how far the clocks of a drill are off. They may step while it runs.
type clocks struct{ rows, hosts atomic.Int64 }

// ofRows is the database's clock.
func (c *clocks) ofRows() time.Time { return time.Now().Add(time.Duration(c.rows.Load())) }

// ofHosts is the clock of the functions that the drill names.
func (c *clocks) ofHosts() time.Time { return time.Now().Add(time.Duration(c.hosts.Load())) }

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
