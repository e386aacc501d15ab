package forecast

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

//go:embed prices/us-east-1.json
var northVirginia []byte

// A Price is one entry of a list.
type Price struct {
	Price  float64 `json:"price"`
	Per    string  `json:"per"`
	Basis  string  `json:"basis"` // listed, derived or assumed
	Source string  `json:"source"`
}

// Prices are those of one region at one date.
type Prices struct {
	Region   string           `json:"region"`
	Date     string           `json:"date"`
	Currency string           `json:"currency"`
	Note     string           `json:"note"`
	Prices   map[string]Price `json:"prices"`
}

// priced are the entries that a list must have.
var priced = []string{
	"edgeRequest", "edgeBytes", "edgeFunction", "firewallRequest", "firewallMonth", "gatewayCall",
	"lambdaRequest", "lambdaSecond", "provisioned", "provisionedRun", "instance", "poller",
	"redisNode", "broker", "brokerStorage", "database", "databaseStorage", "endpoint", "logBytes",
}

// ReadPrices reads a list, or without a name the one of us-east-1 that is built in.
func ReadPrices(name string) (Prices, error) {
	text := northVirginia
	if name != "" {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return Prices{}, fmt.Errorf("forecast: price list: %w", err)
		}
	}
	var p Prices
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return Prices{}, fmt.Errorf("forecast: price list: %w", err)
	}
	if p.Date == "" || p.Region == "" || p.Currency == "" {
		return Prices{}, fmt.Errorf("forecast: price list: it needs region, date and currency")
	}
	var missing []string
	for _, key := range priced {
		entry, ok := p.Prices[key]
		if !ok || entry.Price <= 0 || entry.Source == "" || entry.Basis == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return Prices{}, fmt.Errorf("forecast: price list: no price with basis and source for %s", strings.Join(missing, ", "))
	}
	return p, nil
}

// Name says which list it is.
func (p Prices) Name() string { return p.Region + ", " + p.Date + ", " + p.Currency }

func (p Prices) of(key string) float64 { return p.Prices[key].Price }

// Assumed names the entries that no source was read for.
func (p Prices) Assumed() (keys []string) {
	for _, key := range priced {
		if p.Prices[key].Basis == "assumed" {
			keys = append(keys, key)
		}
	}
	return keys
}
