package sale

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/currency"
)

var pricePattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,4}))?$`)

// decimals tells how many digits the currency's smallest unit has: 2 for EUR,
// 0 for JPY, 3 for KWD.
func decimals(code string) (int, error) {
	unit, err := currency.ParseISO(code)
	if err != nil || unit.String() != code || code == "XXX" || code == "XTS" { // no currency, and a test's
		return 0, fmt.Errorf("currency %q is not an ISO 4217 code", code)
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale, nil
}

// ParsePrice reads an exact amount such as "19.99" into the currency's smallest
// unit. More digits than the currency has are refused, never rounded.
func ParsePrice(text, code string) (int64, error) {
	scale, err := decimals(code)
	if err != nil {
		return 0, err
	}
	m := pricePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("price %q is not an amount such as 19.99", text)
	}
	if len(m[2]) > scale {
		return 0, fmt.Errorf("price %q has more than the %d decimals of %s", text, scale, code)
	}
	minor, err := strconv.ParseInt(m[1]+m[2]+strings.Repeat("0", scale-len(m[2])), 10, 64)
	if err != nil || minor > math.MaxInt64/2 {
		return 0, fmt.Errorf("price %q is too large", text)
	}
	return minor, nil
}

// FormatPrice is the inverse of [ParsePrice]: 1999 EUR is "19.99".
func FormatPrice(minor int64, code string) string {
	scale, err := decimals(code)
	if err != nil || scale == 0 {
		return strconv.FormatInt(minor, 10)
	}
	digits := fmt.Sprintf("%0*d", scale+1, minor)
	return digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
