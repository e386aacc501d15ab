package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"flashsale/localstack/sales"
	"flashsale/shared/config"
	"flashsale/shared/sale"
)

// paymentSecret is no secret here; it is fixed so that webhooks can be made by hand.
const paymentSecret = "whsec_ZGV2ZWxvcG1lbnQtb25seS1wYXltZW50cw=="

// The admission secrets are none here either; they are fixed so that passes outlive a restart.
const (
	admissionKeys    = "dev:development-only-admission"
	admissionLottery = "development-only-lottery"
)

// settings is what the command line and the environment say.
type settings struct {
	port     int
	saleFile []byte // checked

	redisURL    string // "" is embedded, as for the others
	brokers     []string
	databaseURL string

	ordersTopic, deadLetterTopic, eventsTopic, group string

	webhook   config.Webhook
	admission config.Admission
	limits    config.Limits

	tick    time.Duration
	origins []string
	log     *slog.Logger
}

func readSettings(args []string) (settings, error) {
	s := settings{
		redisURL:        os.Getenv("REDIS_URL"),
		brokers:         list(os.Getenv("KAFKA_BROKERS")),
		databaseURL:     os.Getenv("DATABASE_URL"),
		ordersTopic:     cmp.Or(os.Getenv("KAFKA_ORDERS_TOPIC"), "flash-sale-orders"),
		deadLetterTopic: cmp.Or(os.Getenv("KAFKA_DEAD_LETTER_TOPIC"), "flash-sale-orders-dlq"),
		eventsTopic:     cmp.Or(os.Getenv("KAFKA_EVENTS_TOPIC"), "flash-sale-order-events"),
		group:           cmp.Or(os.Getenv("KAFKA_GROUP"), "flash-sale-orderwriter"),
		origins:         list(os.Getenv("ALLOWED_ORIGINS")),
	}
	s.webhook = config.Webhook{Signature: cmp.Or(os.Getenv("PAYMENT_SIGNATURE"), config.StandardWebhooks), Tolerance: 5 * time.Minute}
	for _, secret := range list(cmp.Or(os.Getenv("PAYMENT_SECRETS"), paymentSecret)) {
		s.webhook.Secrets = append(s.webhook.Secrets, config.Secret(secret))
	}
	for _, key := range list(cmp.Or(os.Getenv("ADMISSION_KEYS"), admissionKeys)) {
		s.admission.PassKeys = append(s.admission.PassKeys, config.Secret(key))
	}
	s.admission.Lottery = config.Secret(cmp.Or(os.Getenv("ADMISSION_LOTTERY"), admissionLottery))
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&s.port, "port", 3000, "the `port` on loopback; 0 is any free one")
	path := flags.String("sale", "", "the `file` of the sale to start with; without it a demo sale with fresh ids")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return s, err
	case err != nil:
		return s, err
	case flags.NArg() > 0:
		return s, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case s.port < 0 || s.port > 65535:
		return s, fmt.Errorf("-port %d is no port", s.port)
	}
	if s.tick, err = time.ParseDuration(cmp.Or(os.Getenv("DEV_TICK"), "1s")); err != nil || s.tick < 10*time.Millisecond {
		return s, fmt.Errorf("DEV_TICK=%q is not a duration of 10ms or more", os.Getenv("DEV_TICK"))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(os.Getenv("DEV_LOG"), "warn"))); err != nil {
		return s, fmt.Errorf("DEV_LOG=%q is not debug, info, warn or error", os.Getenv("DEV_LOG"))
	}
	if err := errors.Join(s.webhook.Check(), s.admission.AdmissionKeys.Check(), s.admission.Check()); err != nil {
		return s, err
	}
	if err := s.limits.Purchases.UnmarshalText([]byte(cmp.Or(os.Getenv("PURCHASE_LIMIT"), "20/10s"))); err != nil {
		return s, fmt.Errorf("PURCHASE_LIMIT is malformed: %w", err)
	}
	s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	s.saleFile, err = readSale(*path)
	return s, err
}

// readSale refuses a broken file here, before any server is started.
func readSale(path string) ([]byte, error) {
	if path == "" {
		return sales.FreshDemo()
	}
	text, err := os.ReadFile(path) //nolint:gosec // the file that the developer named
	if err != nil {
		return nil, fmt.Errorf("sale file: %w", err)
	}
	if _, err := sale.ParseFile(text, time.Now()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
