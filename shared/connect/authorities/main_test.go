package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// made is a certificate of that name, which signs itself.
func made(t *testing.T, name string, ca bool, until time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now(), NotAfter: until,
		IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestCollect(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../rds.pem")
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(file), "\n")
	if !strings.HasSuffix(head, ", by rds.sh") {
		t.Errorf("rds.pem begins with %q, want where it is from", head)
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	long := now.AddDate(90, 0, 0)
	const young = "Amazon RDS mx-central-1 Root CA ECC384 G1"
	if got, err := collect(string(file), now); err != nil || got != body {
		t.Errorf("rds.pem again: got another file, %v", err)
	}
	// As JavaScript, as in the npm package.
	script := "'" + strings.ReplaceAll(strings.TrimSuffix(body, "\n"), "\n", "\\n' +\n    '") + "'"
	if got, err := collect(script, now); err != nil || got != body {
		t.Errorf("rds.pem as a script: got another file, %v", err)
	}
	got, err := collect(made(t, young, true, long)+made(t, "Amazon RDS Beta us-east-1 Root CA RSA2048 G1", true, long)+string(file)+made(t, "Somebody", true, long), now)
	if err != nil || strings.Count(got, "# "+young+"\n") != 1 || strings.Count(got, "BEGIN") != strings.Count(body, "BEGIN")+1 {
		t.Errorf("with a young region: got %v, want it and nothing else besides", err)
	}
	for name, more := range map[string]string{
		"no authority":      made(t, young, false, long),
		"one that runs out": made(t, young, true, now.AddDate(1, 0, 0)),
		"two of a name":     made(t, young, true, long) + made(t, young, true, long),
		"nonsense":          "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		if _, err := collect(string(file)+more, now); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, err := collect("<html>", now); err == nil {
		t.Error("no bundle: got no error")
	}
}

// The regions that rds.pem has, each by all three kinds. docs/deploy.md names them too.
func TestRegions(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../rds.pem")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	for line := range strings.Lines(string(file)) {
		if name, ok := strings.CutPrefix(line, "# Amazon RDS "); ok {
			region, _, _ := strings.Cut(name, " ")
			kinds[region]++
		}
	}
	var got []string
	for region, n := range kinds {
		if got = append(got, region); n != 3 {
			t.Errorf("%s: got %d authorities, want 3", region, n)
		}
	}
	slices.Sort(got)
	want := []string{
		"af-south-1", "ap-east-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2",
		"ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ca-central-1", "eu-central-1", "eu-central-2",
		"eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3", "me-central-1", "me-south-1",
		"sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("regions: got %q, want %q", got, want)
	}
	document, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, region := range want {
		if !strings.Contains(string(document), region) {
			t.Errorf("docs/deploy.md does not name %s among the regions whose databases are verified", region)
		}
	}
}
