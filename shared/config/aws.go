package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"flashsale/shared/sigv4"
)

// IAM is the way to log in by a token that the function's role signs. The other
// way, the password in an address, has no name: it is what is done if nothing is said.
const IAM = "iam"

// AWS is what Lambda says of the function and its role. Nobody sets it by hand.
type AWS struct {
	Region          string `env:"AWS_REGION"`
	Endpoint        string `env:"AWS_ENDPOINT_URL"` // of another than AWS, such as LocalStack
	AccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	SecretAccessKey Secret `env:"AWS_SECRET_ACCESS_KEY"`
	SessionToken    Secret `env:"AWS_SESSION_TOKEN"`
}

// Known tells whether there are credentials: on a machine of one's own there are none.
func (a *AWS) Known() bool { return a.Region != "" && a.AccessKeyID != "" && a.SecretAccessKey != "" }

// Signer signs as the function's role.
func (a *AWS) Signer(now func() time.Time) *sigv4.Signer {
	return sigv4.New(a.Region, a.AccessKeyID, a.SecretAccessKey.Reveal(), a.SessionToken.Reveal(), now)
}

// EndpointOf is where a service is asked, such as https://lambda.eu-central-1.amazonaws.com.
func (a *AWS) EndpointOf(service string) string {
	if a.Endpoint != "" {
		return strings.TrimSuffix(a.Endpoint, "/")
	}
	domain := ".amazonaws.com"
	if strings.HasPrefix(a.Region, "cn-") {
		domain = ".amazonaws.com.cn"
	}
	return "https://" + service + "." + a.Region + domain
}

// checkLogin refuses a way to log in that is none, and IAM without a role.
func checkLogin(name, way string, role *AWS) error {
	switch {
	case way == "":
		return nil
	case way != IAM:
		return fmt.Errorf("%s is malformed: %q is not %s", name, way, IAM)
	case !role.Known():
		return errors.New(name + " is " + IAM + ", but AWS_REGION, AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is missing: Lambda sets them")
	}
	return nil
}
