// Command authorities makes rds.pem of a bundle of certificates; ../rds.sh calls it.
//
// It promises that nothing gets in but authorities of Amazon RDS and RDS Proxy, of which each
// region has three and which outlive every server, and that the same bundle gives the same file.
package main

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// authority is what the names look like; those without a region are RDS Proxy's. Left
// out are those of 2019, which have run out, and those of RDS' preview and beta
// environments.
var authority = regexp.MustCompile(`^(Amazon RDS [a-z]{2}(-[a-z]+)+-[0-9] Root CA (RSA2048|RSA4096|ECC384) G1|Amazon Root CA [1-4]|Starfield Services Root Certificate Authority - G2)$`)

var (
	certificate = regexp.MustCompile(`-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----`)
	// joint is how a JavaScript text goes on in its next line.
	joint = regexp.MustCompile(`\\n'\s*\+\s*'`)
	space = regexp.MustCompile(`\s`)
)

func main() {
	log.SetFlags(0)
	text, err := io.ReadAll(os.Stdin)
	if err == nil && len(os.Args) != 2 {
		err = errors.New("usage: authorities WHERE-FROM <bundle >rds.pem")
	}
	var pem string
	if err == nil {
		pem, err = collect(string(text), time.Now())
	}
	if err != nil {
		log.Fatal("authorities: ", err)
	}
	fmt.Printf("# %s, by rds.sh\n%s", os.Args[1], pem)
}

// collect returns the authorities in the order of their names.
func collect(text string, now time.Time) (string, error) {
	found := make(map[string]string)
	for _, match := range certificate.FindAllStringSubmatch(joint.ReplaceAllString(text, "\n"), -1) {
		der, err := base64.StdEncoding.DecodeString(space.ReplaceAllString(match[1], ""))
		if err != nil {
			return "", fmt.Errorf("a certificate that is none: %w", err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return "", fmt.Errorf("a certificate that is none: %w", err)
		}
		name := c.Subject.CommonName
		if !authority.MatchString(name) {
			continue
		}
		// Each has signed itself: a name alone is quickly written.
		if err := c.CheckSignatureFrom(c); err != nil || !c.IsCA || c.NotAfter.Before(now.AddDate(5, 0, 0)) {
			return "", fmt.Errorf("%s is no authority, or not for long: %v, until %s", name, err, c.NotAfter.Format(time.DateOnly))
		}
		lines := slices.Collect(slices.Chunk([]byte(base64.StdEncoding.EncodeToString(der)), 64))
		var block strings.Builder
		fmt.Fprintf(&block, "# %s\n-----BEGIN CERTIFICATE-----\n", name)
		for _, line := range lines {
			fmt.Fprintf(&block, "%s\n", line)
		}
		block.WriteString("-----END CERTIFICATE-----\n")
		if other, twice := found[name]; twice && other != block.String() {
			return "", fmt.Errorf("there are two of %s", name)
		}
		found[name] = block.String()
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	if len(names) < 50 {
		return "", fmt.Errorf("%d authorities: that is no bundle of all regions", len(names))
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		all.WriteString(found[name])
	}
	return all.String(), nil
}
