package sale

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Catalog lists every sale that is not archived, as the purchase functions
// see it. It is made from PostgreSQL and kept in Redis as JSON.
type Catalog struct {
	Sales []Listing `json:"sales"`

	items map[ItemID]*Listing
}

// A Listing is a sale in the catalog with its standing.
type Listing struct {
	Sale
	Standing
}

// NewCatalog indexes listings by item.
func NewCatalog(listings []Listing) *Catalog {
	if listings == nil {
		listings = []Listing{}
	}
	c := &Catalog{Sales: listings, items: make(map[ItemID]*Listing)}
	for i := range listings {
		for _, it := range listings[i].Items {
			c.items[it.ID] = &listings[i]
		}
	}
	return c
}

// ParseCatalog reads what [Catalog.JSON] wrote. A text that says nothing of sales is
// none: by an empty catalog every item is unknown, and shoppers would go.
func ParseCatalog(text []byte) (*Catalog, error) {
	var c Catalog
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("sale: catalog: %w", err)
	}
	if c.Sales == nil {
		return nil, errors.New("sale: catalog: no sales, not even an empty list")
	}
	return NewCatalog(c.Sales), nil
}

// JSON is the catalog's form in Redis.
func (c *Catalog) JSON() ([]byte, error) { return json.Marshal(c) }

// Sale returns the listing of a sale.
func (c *Catalog) Sale(id ID) (*Listing, bool) {
	for i := range c.Sales {
		if c.Sales[i].ID == id {
			return &c.Sales[i], true
		}
	}
	return nil, false
}

// ByItem returns the listing of the sale that offers the item.
func (c *Catalog) ByItem(id ItemID) (*Listing, bool) {
	l, ok := c.items[id]
	return l, ok
}
